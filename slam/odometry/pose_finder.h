// The pose of a frame in the local map: points are matched with keypoints, the pose is fitted to the matches.
#ifndef GLINT_SLAM_ODOMETRY_POSE_FINDER_H_
#define GLINT_SLAM_ODOMETRY_POSE_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/point_query.h"
#include "slam/estimate/pose_solver.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/odometry/motion_model.h"

namespace glint::slam {

// 2D-3D correspondences of a frame with the local map.
struct FrameMatches {
  void Clear() {
    correspondences.clear();
    for (auto* v : {&keypoint, &landmark}) v->clear();
    fit.inliers = 0;
    fit.is_inlier.clear();
  }
  std::vector<Correspondence> correspondences;
  std::vector<size_t> keypoint;  // of the frame, of each correspondence
  std::vector<size_t> landmark;  // likewise: index in LocalMap::points
  PoseFit fit;                   // to the correspondences
};

// What a pose is found by; borrowed.
struct FrameContext {
  const StereoCamera& camera;
  const LocalMap& map;         // with keyframes
  int64_t reference_keyframe;  // whose image is the front end's reference frame; -1: none of the map's
  const StereoFrame& frame;
};

// Keeps its memory from frame to frame. Not thread-safe.
class PoseFinder {
 public:
  // `front_end` must outlive it.
  PoseFinder(int min_inliers, const NoiseModel& noise, FrontEnd* front_end)
      : min_inliers_(min_inliers), noise_(noise), front_end_(front_end) {}

  // Searches near the prediction, then in a wider radius, then without a prior. False, with the pose as it was, if
  // fewer than `min_inliers` points agree with the pose.
  bool Find(const FrameContext& context, const PosePrediction& prediction, Pose* camera_from_world,
            FrameMatches* matches);

 private:
  // Correspondences whose patches are followed; see FrontEnd::Follow().
  struct Following {
    void Clear() {
      correspondence.clear();
      for (auto* v : {&x, &y, &to_x, &to_y}) v->clear();
    }
    std::vector<size_t> correspondence;
    std::vector<float> x, y, to_x, to_y;
    std::vector<uint8_t> is_followed;
  };

  // A first pose, which at least `min_inliers` points agree with unless the last search found fewer. False: none.
  bool FindCoarsely(const FrameContext& context, const PosePrediction& prediction, Pose* pose, FrameMatches* matches);
  void Refine(const FrameContext& context, Pose* pose, FrameMatches* matches);
  // These replace the matches. `radius`: pixels of a point's level. With `all` false, only points that the last
  // keyframes see.
  void MatchNear(const FrameContext& context, const Pose& pose, float radius, bool all, FrameMatches* matches);
  void MatchEverywhere(const FrameContext& context, FrameMatches* matches);
  void MatchQueries(const FrameContext& context, float ratio, FrameMatches* matches);
  // Corrects the observations of points that the reference keyframe sees by following their patches from there.
  void FollowPatches(const FrameContext& context, FrameMatches* matches);

  const int min_inliers_;
  const NoiseModel noise_;
  FrontEnd* const front_end_;
  PointQuery query_;
  MatchResult result_;
  Following following_;
  PoseSolver solver_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_POSE_FINDER_H_
