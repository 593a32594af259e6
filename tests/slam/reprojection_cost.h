// What an observation costs in bundle adjustment, as Ceres asks for it: whitened errors and their analytic derivatives.
// Every block has two rows, and every parameter three degrees of freedom: Ceres has a Schur complement for these sizes.
#ifndef GLINT_TESTS_SLAM_REPROJECTION_COST_H_
#define GLINT_TESTS_SLAM_REPROJECTION_COST_H_

#include <ceres/sized_cost_function.h>

#include "slam/estimate/local_map.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// Both costs borrow camera and observation. They fail for points that are not before the camera.

// Of the left position. Parameters: rotation (x, y, z, w) and translation of camera from world, point.
class PositionCost : public ceres::SizedCostFunction<2, 4, 3, 3> {
 public:
  PositionCost(const StereoCamera* camera, const Observation* observation)
      : camera_(camera), observation_(observation) {}
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override;

 private:
  const StereoCamera* camera_;
  const Observation* observation_;
};

// Of disparity and vertical_disparity. Parameters: as above, then the rig's rotation; camera->rig_rotation does not
// matter.
class DisparityCost : public ceres::SizedCostFunction<2, 4, 3, 3, 3> {
 public:
  DisparityCost(const StereoCamera* camera, const Observation* observation)
      : camera_(camera), observation_(observation) {}
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override;

 private:
  const StereoCamera* camera_;
  const Observation* observation_;
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_REPROJECTION_COST_H_
