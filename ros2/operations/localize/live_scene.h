// What Foxglove shows of localization: the left picture, poses, the path, the map and times. Coordinates are the
// server's, as in `glint localize --foxglove`.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_

#include <memory>
#include <utility>

#include "client/localization.h"
#include "client/scenes/path_trace.h"
#include "client/view/base/scene.h"
#include "ros2/input/frame.h"
#include "ros2/operations/live.h"

namespace glint::ros2 {

// Of one stream after the other. Thread-compatible.
class LiveScene {
 public:
  // Null: nobody looks, and nothing is kept.
  explicit LiveScene(Live* live) : live_(live) {}

  bool wants_map() const { return live_ != nullptr && live_->wants_map(); }
  // The path begins anew.
  void BeginStream() { path_ = {}; }
  void Show(const client::LocalizeAnswer& answer, const Frame& frame);
  void SetMap(std::shared_ptr<const view::MapPoints> points) {
    if (wants_map()) map_ = std::move(points);
  }

 private:
  Live* const live_;
  client::PathTrace path_;
  std::shared_ptr<const view::MapPoints> map_;  // that was not shown yet
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_
