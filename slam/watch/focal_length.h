// Whether the focal length is that of the camera, as far as turns tell.
#ifndef GLINT_SLAM_WATCH_FOCAL_LENGTH_H_
#define GLINT_SLAM_WATCH_FOCAL_LENGTH_H_

#include <Eigen/Core>
#include <vector>

#include "features/warning.h"
#include "slam/estimate/local_map.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// A wrong focal length stretches all that a pair measures along the camera's axis. What is stretched along one axis and
// turned is not rigid: where the camera turns, the landmarks of one keyframe do not lie where the next one sees them.
// Sums over the pairs of keyframes that are added; not thread-safe.
class FocalLengthWatch {
 public:
  // Two keyframes that follow each other. Nothing if they have fewer than fifty points in common, or if the camera has
  // not turned by a degree.
  void Add(const StereoCamera& camera, const KeyframeStep& step);
  // Empty, or a warning with the ratio of the true focal length to the given one, once ten pairs tell that it is off by
  // over 3 % and ten times its standard deviation.
  std::vector<Warning> Warnings() const;

 private:
  double weight_ = 0, weighted_ = 0, square_ = 0;  // of the ratios
  int pairs_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_WATCH_FOCAL_LENGTH_H_
