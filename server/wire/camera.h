// Cameras and their lenses, and what goes with them, from the wire. Nothing that comes in is trusted: errors are
// INVALID_ARGUMENT and name the field as a part of `field`, "left.radial_tangential.k1".
#ifndef GLINT_SERVER_WIRE_CAMERA_H_
#define GLINT_SERVER_WIRE_CAMERA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/camera/camera.h"
#include "features/camera/rectification.h"
#include "features/camera/rig.h"
#include "glint/v1/calibration.pb.h"

namespace glint {

absl::StatusOr<Camera> FromProto(absl::string_view field, const v1::Camera& proto);

absl::StatusOr<RigidTransform> FromProto(absl::string_view field, const v1::RigidTransform& proto);

// Of images of cameras of this width.
absl::StatusOr<RectifyOptions> FromProto(absl::string_view field, const v1::RectifyOptions& proto, int camera_width);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CAMERA_H_
