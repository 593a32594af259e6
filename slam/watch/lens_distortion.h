// Distortion of the lens that is left in the images of a pair.
#ifndef GLINT_SLAM_WATCH_LENS_DISTORTION_H_
#define GLINT_SLAM_WATCH_LENS_DISTORTION_H_

#include <Eigen/Core>
#include <vector>

#include "features/warning.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// Both cameras bend the picture of a point by the distance from the centre, which differs by the disparity: the point's
// rows differ by k1 y (x_left^2 - x_right^2) (coordinates of a focal length of 1), as no turned or shifted camera makes
// them. Sums over the pairs that are added; not thread-safe.
class LensWatch {
 public:
  void Add(const StereoCamera& camera, const StereoFrame& frame);
  // Empty, or a warning with k1, once six pairs tell that it is beyond +-0.06 and ten times its standard deviation, and
  // moves the corners by 4 pixels. A wall that all of the pairs look straight at tells nothing.
  std::vector<Warning> Warnings(const StereoCamera& camera) const;

 private:
  static constexpr int kTerms = 6;
  using Vector = Eigen::Matrix<double, kTerms, 1>;

  Eigen::Matrix<double, kTerms, kTerms> squares_ = Eigen::Matrix<double, kTerms, kTerms>::Zero();
  Vector products_ = Vector::Zero();
  double square_ = 0;
  double error_square_ = 0;  // of the last term, by the error of disparities alone
  int keypoints_ = 0, pairs_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_WATCH_LENS_DISTORTION_H_
