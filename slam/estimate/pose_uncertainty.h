// How uncertain poses are that were fitted to points of a map, which have errors of their own, and that follow from one
// another. Covariances are those of PoseFit: of a left increment (rotation, translation), radians and metres.
#ifndef GLINT_SLAM_ESTIMATE_POSE_UNCERTAINTY_H_
#define GLINT_SLAM_ESTIMATE_POSE_UNCERTAINTY_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>

#include "slam/estimate/local_map.h"
#include "slam/estimate/reprojection_model.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// Of one camera's pose relative to another. Plain values: thread-safe.
struct PoseUncertainty {
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();
  // Its increment by an error of the rig's rotation, which all poses share: along a path these add up.
  Eigen::Matrix<double, 6, 3> by_rig = Eigen::Matrix<double, 6, 3>::Zero();

  // Of the pose `b_from_a` times this one, where `step` is that of b_from_a.
  PoseUncertainty Then(const Pose& b_from_a, const PoseUncertainty& step) const;
  // Of a_from_b, where this is of b_from_a.
  PoseUncertainty Inverse(const Pose& b_from_a) const;
  // `rig_sigma`: standard deviations of the rig's rotation, radians.
  Eigen::Matrix<double, 6, 6> Total(const Eigen::Vector3d& rig_sigma) const;
};

// The same in fewer bytes, for keyframes of a map; all zero: not known.
struct PackedUncertainty {
  PackedUncertainty() = default;
  explicit PackedUncertainty(const PoseUncertainty& of);
  PoseUncertainty Unpacked() const;
  bool is_known() const { return covariance[0] > 0; }

  std::array<float, 21> covariance{};  // the upper triangle, row by row
  std::array<float, 18> by_rig{};      // row by row
};

// A keyframe that poses are measured from, and how uncertain it is relative to the first one of its map.
struct PoseAnchor {
  int64_t keyframe = -1;  // -1: none
  Pose camera_from_world;
  PoseUncertainty uncertainty;
};

// Times the variance of a fit: errors of neighbouring points, and of one point in pairs that follow each other, are
// partly the same, so that there are fewer than there are observations. Found beside the truth of KITTI 06 and EuRoC
// V1_01, and of rendered drives, whose normalised squared errors then have medians of 0.1 to 1.5 by degree of freedom.
inline constexpr double kCommonErrors = 6;

// Standard deviations of the rig's rotation as poses are answered with, of those of an adjustment and of its prior.
Eigen::Vector3d RigSigma(const Eigen::Vector3d& adjusted, double prior, double focal_length);

// Standard deviation of a point's depth as a share of it, by `times` observations of both cameras from near.
double DepthSigma(const StereoCamera& camera, double disparity_sigma, double depth, size_t times);

// The errors of a pose that was fitted to points of a map. Of PoseFit::covariance C, which takes the points as exact,
// with the information H of the observations in it: an error of depth s of a point moves the pose by C v s, with v =
// M^T J^T J r, the Jacobian J of the whitened residual by the point, M of the point by the pose, and the point's ray r
// from the keyframe that saw it last. Hence C + C ((k - 1) H + k sum v s^2 v^T) C: a sandwich (White 1982), where k, of
// the residuals' variance and the share of matches that agree, widens the noise model to what is seen.
class FitErrors {
 public:
  FitErrors(const StereoCamera& camera, const Pose& camera_from_world);

  // A correspondence that the pose was fitted to; `depth_sigma`: DepthSigma() of its point at that keyframe.
  void Add(const Correspondence& correspondence, const Pose& keyframe_from_world, double depth_sigma);
  // Relative to the keyframes, for a fit of covariance C to what was added, of so many `matches`.
  PoseUncertainty Of(const Eigen::Matrix<double, 6, 6>& covariance, size_t matches) const;

 private:
  const ReprojectionModel model_;
  const double disparity_at_1m_;
  const Pose camera_from_world_;
  // The information of the observations: blocks of rotation, rotation and translation, translation.
  Eigen::Matrix3d of_turning_ = Eigen::Matrix3d::Zero(), of_both_ = of_turning_, of_moving_ = of_turning_;
  Eigen::Matrix<double, 6, 6> of_depths_ = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, 3> of_rig_ = Eigen::Matrix<double, 6, 3>::Zero();
  double squares_ = 0, freedom_ = -6;  // of whitened residuals
  size_t count_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_POSE_UNCERTAINTY_H_
