// Fixed transforms between frames, as /tf_static has them.
#ifndef GLINT_ROS_TRANSFORMS_H_
#define GLINT_ROS_TRANSFORMS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/camera/rig.h"
#include "ros/geometry_messages.h"

namespace glint::ros {

// Without the slash that ROS 1 also has in front.
absl::string_view FrameName(absl::string_view name);

// Thread-compatible. Frames are known by FrameName().
class Transforms {
 public:
  static constexpr size_t kMost = 10'000;       // transforms
  static constexpr size_t kLongestName = 1000;  // bytes

  // Adds those of a message; one of the same two frames takes the place of that before. INVALID_ARGUMENT: the first
  // one that was left out: its rotation is not of length 1 (by 1 %), a number is not finite, a name is empty or longer
  // than kLongestName, both are the same. RESOURCE_EXHAUSTED: it is beyond kMost.
  absl::Status Add(const TFMessage& message);

  bool empty() const { return transforms_.empty(); }
  // `to` from `from`: takes coordinates in `from` to those in `to`, over the shortest chain that there is. Nothing:
  // none, or a name is empty.
  std::optional<RigidTransform> Find(absl::string_view to, absl::string_view from) const;

 private:
  absl::Status Add(const TransformStamped& stamped);

  std::map<std::pair<std::string, std::string>, RigidTransform> transforms_;  // first from second, both ways
};

}  // namespace glint::ros

#endif  // GLINT_ROS_TRANSFORMS_H_
