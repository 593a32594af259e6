#include "slam/odometry/keyframe_selector.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace glint::slam {
namespace {

constexpr double kStandstill = 2;  // pixels: the median keypoint of a camera that moves goes farther
// The first frames are all keyframes: two of them hardly constrain the rig's rotation, and a correction of it, which
// changes all depths, would show as a jump.
constexpr int64_t kFirstKeyframes = 6;

// With fewer inliers the next frame may not be found, whatever the first one after the last keyframe had: a camera that
// is slow, or turns, has lost half of them by then. Where all is near, and leaves the picture within a few frames, the
// frame itself measures many more points than those that it shares with the map.
constexpr double kFewInliers = 100, kManyInliers = 150;
constexpr double kFewOfMeasured = 0.3;

// Whether the picture has moved since the reference keyframe.
bool HasMoved(const LocalMap& map, int64_t reference_keyframe, const FrameMatches& matches) {
  std::vector<double> moved;
  for (size_t i = 0; i < matches.correspondences.size(); ++i) {
    const Landmark::KeyframeObservation& before = map.points[matches.landmark[i]].observations.back();
    if (matches.fit.is_inlier[i] == 0 || before.keyframe != reference_keyframe) continue;
    moved.push_back((matches.correspondences[i].observation.pixel.left - before.observation.pixel.left).norm());
  }
  if (moved.empty()) return true;
  const auto middle = moved.begin() + static_cast<ptrdiff_t>(moved.size() / 2);
  std::nth_element(moved.begin(), middle, moved.end());
  return *middle > kStandstill;
}

}  // namespace

bool KeyframeSelector::IsFew(int inliers, size_t measured) {
  return inliers < std::clamp(kFewOfMeasured * static_cast<double>(measured), kFewInliers, kManyInliers);
}

bool KeyframeSelector::IsDue(const LocalMap& map, int64_t reference_keyframe, int64_t next, size_t measured,
                             const FrameMatches& matches, bool is_late) {
  const int inliers = matches.fit.inliers;
  if (first_inliers_ == 0) first_inliers_ = inliers;
  if (inliers < share_ * first_inliers_) return true;
  const bool is_due = next < kFirstKeyframes || frames_ >= max_gap_ || is_late || IsFew(inliers, measured);
  return is_due && HasMoved(map, reference_keyframe, matches);
}

}  // namespace glint::slam
