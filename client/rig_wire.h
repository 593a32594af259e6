// Rigs as protobuf messages. Internal to the library.
#ifndef GLINT_CLIENT_RIG_WIRE_H_
#define GLINT_CLIENT_RIG_WIRE_H_

#include "absl/status/statusor.h"
#include "features/camera/camera.h"
#include "features/camera/rgbd_camera.h"
#include "features/camera/rig.h"
#include "features/camera/stereo_rig.h"
#include "glint/v1/calibration.pb.h"

namespace glint::client {

void ToWire(const Camera& camera, v1::Camera* wire);
void ToWire(const RigidTransform& transform, v1::RigidTransform* wire);
void ToWire(const StereoRig& rig, v1::StereoRig* wire);
void ToWire(const RgbdCamera& camera, v1::RgbdCamera* wire);
// INTERNAL: a rotation that is not 9 numbers.
absl::StatusOr<RectifiedPair> FromWire(const v1::RectifiedCamera& wire);

}  // namespace glint::client

#endif  // GLINT_CLIENT_RIG_WIRE_H_
