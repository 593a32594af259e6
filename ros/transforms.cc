#include "ros/transforms.h"

#include <Eigen/Geometry>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "features/error.h"

namespace glint::ros {

absl::string_view FrameName(absl::string_view name) { return absl::StripPrefix(name, "/"); }

absl::Status Transforms::Add(const TFMessage& message) {
  absl::Status first;
  for (size_t i = 0; i < message.transforms.size(); ++i) {
    const absl::Status status = Add(message.transforms[i]);
    if (first.ok() && !status.ok()) {
      first = WithField(absl::StrCat(TFMessage::kName, ".transforms[", i, "]"), status);
    }
  }
  return first;
}

absl::Status Transforms::Add(const TransformStamped& stamped) {
  const std::string parent(FrameName(stamped.header.frame_id)), child(FrameName(stamped.child_frame_id));
  for (const std::string* name : {&parent, &child}) {
    const char* const field = name == &child ? "child_frame_id" : "header.frame_id";
    if (name->empty()) return ContradictionError(field, "is empty");
    if (name->size() > kLongestName) return TooLargeError(field, name->size(), kLongestName);
  }
  if (parent == child) return ContradictionError("child_frame_id", absl::StrCat("\"", Echo(child), "\" is its parent"));
  const Quaternion& q = stamped.transform.rotation;
  const Eigen::Quaterniond rotation(q.w, q.x, q.y, q.z);
  const double length = rotation.norm();
  if (!(std::abs(length - 1) < 1e-2)) {
    return ContradictionError("transform.rotation", absl::StrCat("its length ", length, " is not 1"));
  }
  const Vector3& t = stamped.transform.translation;
  const RigidTransform parent_from_child = {rotation.normalized().toRotationMatrix(), {t.x, t.y, t.z}};
  if (!parent_from_child.translation.allFinite()) {
    return ContradictionError("transform.translation", absl::StrCat(t.x, ", ", t.y, ", ", t.z, " is not finite"));
  }
  if (transforms_.size() >= 2 * kMost && transforms_.count({parent, child}) == 0) {
    return ExhaustedError("transforms", absl::StrCat("more than ", kMost), "", "");
  }
  transforms_[{parent, child}] = parent_from_child;
  transforms_[{child, parent}] = parent_from_child.Inverse();
  return absl::OkStatus();
}

std::optional<RigidTransform> Transforms::Find(absl::string_view to, absl::string_view from) const {
  const std::string target(FrameName(to)), origin(FrameName(from));
  if (target.empty() || origin.empty()) return std::nullopt;
  std::map<std::string, RigidTransform> to_from = {{target, {}}};
  std::vector<std::string> reached = {target};
  for (size_t i = 0; i < reached.size() && to_from.count(origin) == 0; ++i) {
    for (auto at = transforms_.lower_bound({reached[i], ""}); at != transforms_.end() && at->first.first == reached[i];
         ++at) {
      const std::string& next = at->first.second;
      if (to_from.emplace(next, to_from.at(reached[i]) * at->second).second) reached.push_back(next);
    }
  }
  const auto found = to_from.find(origin);
  return found == to_from.end() ? std::nullopt : std::make_optional(found->second);
}

}  // namespace glint::ros
