// What Foxglove shows of a node: pictures, with what operations found in them.
#ifndef GLINT_ROS2_OPERATIONS_LIVE_H_
#define GLINT_ROS2_OPERATIONS_LIVE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/image.h"
#include "client/result.h"
#include "client/view/view.h"
#include "ros2/config/config.h"
#include "ros2/input/frame.h"

namespace glint::ros2 {

// Scenes of localization, with the keypoints of the same images where they are detected, too; or keypoints alone. Of
// frames of which one of both is late only the newest waits for it. Thread-safe.
class Live {
 public:
  // `view` must outlive it.
  Live(view::View* view, const Config& config)
      : view_(*view), has_poses_(config.localize.enabled), has_keypoints_(config.detect.enabled) {}

  // Else Show...() need not be called.
  bool wanted() const { return view_.wanted(); }
  bool wants_map() const { return view_.wants_map(); }

  // Of the image with this stamp.
  void ShowPose(int64_t stamp_ns, view::Scene scene) ABSL_LOCKS_EXCLUDED(mutex_);
  void ShowKeypoints(const client::Detection& found, const Frame& frame) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  view::View& view_;
  const bool has_poses_, has_keypoints_;

  absl::Mutex mutex_;
  // Of the last images that have one of both: their stamps, 0: none.
  int64_t scene_ns_ ABSL_GUARDED_BY(mutex_) = 0, marks_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  view::Scene scene_ ABSL_GUARDED_BY(mutex_);
  std::vector<view::Mark> marks_ ABSL_GUARDED_BY(mutex_);
};

// For Scene::picture: the file that `image` is, or its grey pixels, which are copied now (their memory is scarce) and
// become a JPEG when it is called. An empty file: there is no picture, or it cannot be written.
std::function<view::EncodedPicture()> PictureOf(const client::ImageInput& image);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LIVE_H_
