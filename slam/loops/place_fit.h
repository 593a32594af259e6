// Whether two views show the same place, and the motion between them.
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
  Pose view_from_known;
  int matches = 0;
  int inliers = 0;
  double mean_error = 0;                                                         // pixels, of the inliers
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();  // as PoseFit has it
};

// Not thread-safe: one for each thread.
class PlaceFitter {
 public:
  explicit PlaceFitter(const SightErrors& errors) : errors_(errors) {}

  // Puts the points that both eyes of `known` see upon `view`: matching without a prior, RANSAC with a fixed seed, then
  // matching near the projections. False with fewer than `min_inliers`.
  bool Fit(const StereoCamera& camera, const LevelScales& scales, const View& known, const View& view, int min_inliers,
           PlaceFit* fit);

 private:
  void Match(const View& view, float ratio);

  const SightErrors errors_;
  cpu::Matcher matcher_;
  PointQuery query_;
  MatchResult matches_;
  std::vector<Eigen::Vector3d> points_;  // of the keypoints of `known`, in its camera coordinates
  std::vector<float> x_, y_;
  std::vector<int32_t> octave_;
  std::vector<PointSight> sights_;
  PoseSolver solver_;
  PoseFit refined_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOOPS_PLACE_FIT_H_
