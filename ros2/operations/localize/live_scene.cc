#include "ros2/operations/localize/live_scene.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace glint::ros2 {

void LiveScene::Show(const client::LocalizeAnswer& answer, const Frame& frame) {
  if (live_ == nullptr) return;
  const client::Location& location = answer.location;
  path_.Add(location);
  if (!live_->wanted()) return;
  view::Scene scene;
  scene.name = frame.left.frame_id;
  const auto& p = location.pose.position;
  scene.text =
      absl::StrFormat("%slocated, at %.3f %.3f %.3f m, %d of %d matches agree, %d keyframes, %.1f ms",
                      client::IsLocated(location.status) ? "" : "not ", p[0], p[1], p[2], location.inliers,
                      location.matches, answer.map_keyframes, static_cast<double>(answer.timings.total_ns) * 1e-6);
  scene.path = path_.steps();
  if (client::IsLocated(location.status)) scene.pose = {location.pose.rotation, location.pose.position};
  for (const Warning& warning : location.warnings) scene.warnings.push_back(warning.text);
  scene.stages = client::StagesOf(answer.timings, answer.round_trip, {{"locate", answer.timings.locate_ns}});
  scene.map = std::exchange(map_, nullptr);
  scene.picture = PictureOf(frame.left.image);
  live_->ShowPose(frame.left.stamp_ns, std::move(scene));
}

}  // namespace glint::ros2
