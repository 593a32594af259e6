// Place verification: whether two keyframes show the same place, and the relative pose between them.
#ifndef GLINT_SLAM_LOOPS_PLACE_FIT_H_
#define GLINT_SLAM_LOOPS_PLACE_FIT_H_

#include <Eigen/Core>
#include <vector>

#include "cpu/match/matcher.h"
#include "slam/estimate/point_query.h"
#include "slam/estimate/pose_solver.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/map/global_map.h"

namespace glint::slam {

struct PlaceFit {
  Pose query_from_match;
  int matches = 0;
  int inliers = 0;
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();  // see PoseFit
};

// Not thread-safe: one for each thread.
class PlaceFitter {
 public:
  explicit PlaceFitter(const NoiseModel& noise) : noise_(noise) {}

  // Registers the points that both cameras of `match` see with `query`: matching without a prior, RANSAC with a fixed
  // seed, then matching near the projections. False with fewer than `min_inliers`.
  bool Fit(const StereoCamera& camera, const LevelScales& scales, const KeyframeFeatures& match,
           const KeyframeFeatures& query, int min_inliers, PlaceFit* fit);

 private:
  void Match(const KeyframeFeatures& query, float ratio);

  const NoiseModel noise_;
  cpu::Matcher matcher_;
  PointQuery query_;
  MatchResult matches_;
  std::vector<Eigen::Vector3d> points_;  // of the keypoints of `match`, in its camera coordinates
  std::vector<float> x_, y_;
  std::vector<int32_t> octave_;
  std::vector<Correspondence> correspondences_;
  PoseSolver solver_;
  PoseFit refined_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOOPS_PLACE_FIT_H_
