// What Foxglove shows of localization: the left picture, poses, the path, the map and times. Coordinates are the
// server's, as in `glint localize --foxglove`.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_

#include <memory>
#include <utility>

#include "client/localization.h"
#include "client/scenes/path_trace.h"
#include "client/view/view.h"
#include "ros2/input/frame.h"

namespace glint::ros2 {

// Of one stream after the other. Thread-compatible.
class LiveScene {
 public:
  // Null: nobody looks, and nothing is kept.
  explicit LiveScene(view::View* view) : view_(view) {}

  bool wants_map() const { return view_ != nullptr && view_->wants_map(); }
  // The path begins anew.
  void BeginStream() { path_ = {}; }
  void Show(const client::LocalizeAnswer& answer, const Frame& frame);
  void SetMap(std::shared_ptr<const view::MapPoints> points) {
    if (wants_map()) map_ = std::move(points);
  }

 private:
  view::View* const view_;
  client::PathTrace path_;
  std::shared_ptr<const view::MapPoints> map_;  // that was not shown yet
};

// The left picture as a file: its own, or a grey JPEG. An empty file: it cannot be written.
view::EncodedPicture EncodeForView(const client::ImageInput& image);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_LIVE_SCENE_H_
