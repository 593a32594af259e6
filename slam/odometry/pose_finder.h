// The pose of a frame in the local map: points are matched with keypoints, the pose is fitted to the matches.
#ifndef GLINT_SLAM_ODOMETRY_POSE_FINDER_H_
#define GLINT_SLAM_ODOMETRY_POSE_FINDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/estimate/point_query.h"
#include "slam/estimate/pose_solver.h"
#include "slam/estimate/pose_uncertainty.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/odometry/motion_model.h"
#include "slam/odometry/moving_things.h"

namespace glint::slam {

// 2D-3D correspondences of a frame with the local map.
struct FrameMatches {
  void Clear() {
    correspondences.clear();
    for (auto* v : {&keypoint, &landmark, &moving}) v->clear();
    fit.inliers = 0;
    telling = 0;
    fit.is_inlier.clear();
    is_unclear = false;
  }
  std::vector<Correspondence> correspondences;
  std::vector<size_t> keypoint;  // of the frame, of each correspondence
  std::vector<size_t> landmark;  // likewise: index in LocalMap::points
  PoseFit fit;                   // to the correspondences
  // Of the inliers, as many as would disagree if each were anywhere in the window that it was looked for in; not set by
  // a fit near a prediction.
  double telling = 0;
  PoseUncertainty uncertainty;  // of the pose relative to the map around, with the errors of its points
  std::vector<size_t> moving;   // keypoints of things that move by themselves, whose points are no correspondences
  bool is_unclear = false;      // two motions fit: which one is the camera's is not known
};

// Mean distance of the inliers' projections, pixels of the left image. There must be one.
double MeanError(const StereoCamera& camera, const Pose& camera_from_world, const FrameMatches& matches);

// Inliers that several keyframes have seen.
int ProvenInliers(const LocalMap& map, const FrameMatches& matches);

// What a pose is found by; borrowed.
struct FrameContext {
  const StereoCamera& camera;
  const LocalMap& map;         // with keyframes
  int64_t reference_keyframe;  // whose image is the front end's reference frame; -1: none of the map's
  const StereoFrame& frame;
  const PosePrior* prior = nullptr;  // what is known of the pose beside the images, or null
  bool knows_moving = false;         // where something moves in the frame is known
};

// Keeps its memory from frame to frame. Not thread-safe.
class PoseFinder {
 public:
  // `front_end` must outlive it.
  PoseFinder(int min_inliers, const NoiseModel& noise, FrontEnd* front_end)
      : min_inliers_(min_inliers), noise_(noise), front_end_(front_end) {}

  // A ladder of searches, each of which costs more than the one before. It is climbed until `min_inliers` and most of
  // the matches agree with a pose that was expected, or twice `min_inliers` and 0.6 of the matches with another; at its
  // end the pose with the most inliers is taken. From 2. on inliers are counted that could disagree
  // (FrameMatches::telling), and from 3. on only poses count that most of the matches agree with.
  // 1. points of the last two keyframes near the prediction: nearly all frames end here;
  // 2. all points in wide windows around the prediction, with RANSAC;
  // 3. the same around the last pose, `camera_from_world`: what a camera that has stopped, or was dark, needs;
  // 4. the points of the newest keyframe with all keypoints: steps that no window holds;
  // 5. all points in windows as wide as that;
  // 6. all points with all keypoints: twice to five times that.
  // A pose that contradicts the points that were found in several keyframes is that of a thing that moves: it is not
  // taken (MovingThings).
  // False, with the pose as it was, if fewer than `min_inliers` points agree with any pose; near the prediction half of
  // that do while is_alert().
  bool Find(const FrameContext& context, const PosePrediction& prediction, Pose* camera_from_world,
            FrameMatches* matches);
  // To be called before each frame, with the seconds since the one before.
  void CountFrame(double seconds) { things_.CountFrame(seconds); }
  // Whether something that moves by itself was found a short time ago: it may still be in view.
  bool is_alert() const { return things_.is_alert(); }
  // Something that moves is in view.
  void SuspectMoving() { things_.Suspect(); }
  // The map is another one, of new points.
  void ForgetMoving() { things_.Forget(); }
  // Whether points of the map, most of those that are matched near it, agree with a pose, which is refined. At least as
  // many must be `telling` as any pose needs.
  bool Confirm(const FrameContext& context, int min_inliers, Pose* camera_from_world, FrameMatches* matches);

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

  // From the matches alone, by RANSAC; `pose` is the start of what follows it. False: fewer than half of min_inliers.
  bool FindCoarsely(const FrameContext& context, Pose* pose, FrameMatches* matches);
  // Matches again near a coarse pose, and fits the pose to that. `prediction`: the step was expected, so that
  // errors of depths do not show; or null.
  bool FindFinely(const FrameContext& context, const Pose* prediction, Pose* pose, FrameMatches* matches);
  // Replaces a pose that is not the camera's, with its matches. `is_fine`: those are of patches.
  void LeaveOutMoving(const FrameContext& context, const Pose& prediction, bool is_fine, Pose* pose,
                      FrameMatches* matches);
  // Whether a pose is that of points which no second keyframe has seen. `is_expected`: they were looked for near the
  // prediction.
  bool IsOfNewPoints(const FrameContext& context, const FrameMatches& matches, bool is_expected);
  // Whether a pose by the last matches near it leaves out the proven points that the last keyframes see, of those that
  // are in view there.
  bool LeavesOutProven(const FrameContext& context, const FrameMatches& matches) const;
  // Whether most inliers are farther from where they were expected than a wide window reaches: while something moves,
  // few points are evidence enough, but not of that.
  static bool IsSurprising(const FrameContext& context, const PosePrediction& prediction, const Pose& pose,
                           const FrameMatches& matches);
  // Keeps the matches that agree with a pose, about.
  void KeepAgreeing(const FrameContext& context, const Pose& pose, FrameMatches* matches);
  // Inliers of a pose near the prediction. A thing that moves leaves few keypoints to the world.
  int LeastNearPrediction() const { return things_.is_alert() ? min_inliers_ / 2 : min_inliers_; }
  // Sets is_proven_.
  void FindProven(const FrameContext& context, const FrameMatches& matches);
  void Refine(const FrameContext& context, Pose* pose, FrameMatches* matches);
  // Sets `uncertainty`, of a fit to the matches.
  void FindUncertainty(const FrameContext& context, const Pose& pose, FrameMatches* matches);
  // Makes observations as uncertain as the depths of their points do, seen from near `pose`, until they are restored.
  void WidenByDepths(const FrameContext& context, const Pose& pose, FrameMatches* matches);
  void RestoreObservations(FrameMatches* matches);
  // Refine() and FindUncertainty() with such observations. `radius`: of the windows that they were looked for in,
  // pixels of the level. Sets `telling`.
  void RefineFromAfar(const FrameContext& context, double radius, Pose* pose, FrameMatches* matches);
  // These replace the matches. `radius`: pixels of a point's level. With `all` false, only points that the last
  // keyframes see, or the newest one.
  void MatchNear(const FrameContext& context, const Pose& pose, float radius, bool all, FrameMatches* matches);
  void MatchEverywhere(const FrameContext& context, bool all, FrameMatches* matches);
  void MatchQueries(const FrameContext& context, float ratio, FrameMatches* matches);
  // Corrects the observations of points that the reference keyframe sees by following their patches from there.
  void FollowPatches(const FrameContext& context, FrameMatches* matches);

  const int min_inliers_;
  const NoiseModel noise_;
  FrontEnd* const front_end_;
  PointQuery query_;
  MatchResult result_;
  Following following_;
  FrameMatches best_;
  std::vector<Observation> exact_;  // observations of correspondences, while those are widened; else empty
  PoseSolver solver_;
  MovingThings things_;
  std::vector<uint8_t> is_proven_, is_kept_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_POSE_FINDER_H_
