// The operations "detect", "stereo" and "track": features of the images that come, by streams of the same names.
#ifndef GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_H_
#define GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ros2/operations/context.h"
#include "ros2/operations/operation.h"

namespace glint::ros2 {

// Topics are relative to the node's namespace; their messages are those of ros2/convert/messages.h, with the stamps
// of the left images. What nobody subscribes to is not made. INVALID_ARGUMENT names the key of the configuration;
// other errors are Participant::Advertise()'s, or RESOURCE_EXHAUSTED for want of a thread. What `context` names must
// outlive the operation.
//
// Keypoints of the left images, on "keypoints".
absl::StatusOr<std::unique_ptr<Operation>> MakeDetect(const Context& context);
// Points of pairs on "stereo_points", and their disparities, as an image, on "disparity". Needs camera.right.
absl::StatusOr<std::unique_ptr<Operation>> MakeStereo(const Context& context);
// Points that are followed through the left images, on "tracks".
absl::StatusOr<std::unique_ptr<Operation>> MakeTrack(const Context& context);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_H_
