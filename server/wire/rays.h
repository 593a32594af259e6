// What keypoints see: unit rays of a calibrated camera, and the cameras of unary calls. Functions are thread-safe.
#ifndef GLINT_SERVER_WIRE_RAYS_H_
#define GLINT_SERVER_WIRE_RAYS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "features/camera/camera.h"
#include "features/types.h"

namespace glint {

// Element i is the ray of position i: a unit vector in camera coordinates, or (0, 0, 0) outside the camera's model.
struct Rays {
  std::vector<float> x, y, z;
};

// Rays of the positions, in pixels of the camera's image: Unproject(), rounded to float. `x` and `y` have the same
// length, which `*rays` has afterwards; its memory is kept.
void RaysOf(const Camera& camera, absl::Span<const float> x, absl::Span<const float> y, Rays* rays);

// INVALID_ARGUMENT, of `field`: the image has another size than its camera.
absl::Status CheckSize(absl::string_view field, Shape image, const Camera& camera);

// The camera of a unary call from the serialized form of a glint.v1.Camera. INVALID_ARGUMENT as FromProto() of
// camera.h, and beyond kMaxCameraBytes (frame_parser.h).
absl::StatusOr<Camera> CameraFromWire(absl::string_view field, absl::string_view serialized);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_RAYS_H_
