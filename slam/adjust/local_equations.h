// The normal equations of a local adjustment, whose points are eliminated (Schur complement).
//
// Unknowns: a left increment of the rig's rotation, if it is refined; a left increment (rotation, translation) of each
// keyframe's pose that is not fixed; the position of each point; with an inertial sensor, motions (inertial_terms.h).
// See Triggs et al., "Bundle Adjustment - A Modern Synthesis" (2000), section 6.1. Every sum is in the order of
// keyframes and observations.
#ifndef GLINT_SLAM_ADJUST_LOCAL_EQUATIONS_H_
#define GLINT_SLAM_ADJUST_LOCAL_EQUATIONS_H_

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <vector>

#include "slam/adjust/inertial_terms.h"
#include "slam/adjust/local_adjustment.h"

namespace glint::slam {

// Half the whitened squared residuals of all observations with Huber's loss, of position and of disparity and
// vertical_disparity each, of the rig's prior and of the inertial terms. A point that is not before a camera has a
// large constant cost and no gradient. Where nothing was
// measured before a keyframe, its motion in `problem` is taken for its prior.
double CostOf(const AdjustmentOptions& options, const LocalProblem& problem);

// Not thread-safe. One object serves problems with the same keyframes, points and observations.
class LocalEquations {
 public:
  // A point's observations must be of different keyframes, in their order.
  LocalEquations(const AdjustmentOptions& options, const LocalProblem& problem);

  // As above, with the priors of the problem that this was made of.
  double CostOf(const LocalProblem& problem) const;
  // Computes the normal equations at these poses and positions.
  void Linearize(const LocalProblem& problem);
  // The step of Levenberg and Marquardt: the diagonal is 1 + `damping` times as large. False if there is none.
  bool Solve(double damping);
  // Applies the step to the problem.
  void Apply(LocalProblem* problem);

  // Factors the equations without damping, for what follows. False: they are singular.
  bool Factor() { return Factor(0); }
  // Variance of the rig's rotation, rad^2. The rig must be refined.
  Eigen::Vector3d RigVariance() const;
  // Standard deviations of a keyframe's motion. There must be an inertial sensor.
  LocalProblem::Inertial::Vector9 MotionSigma(size_t keyframe) const { return inertial_->Sigma(keyframe, solver_); }

 private:
  using Block = Eigen::Matrix<double, 6, 3>;  // of a pose increment by a point
  struct PointBlock {
    Eigen::Matrix3d hessian;
    Eigen::Matrix3d inverse;  // damped; zero: the point stays where it is
    Eigen::Matrix3d by_rig;
    Eigen::Vector3d gradient;
  };
  void EliminatePoints(double damping);
  // Eliminates all but rig and poses, and factors what is left.
  bool Factor(double damping);

  const AdjustmentOptions options_;
  const size_t fixed_;
  // The problem's structure: first observation and count of each point, keyframe's column of each observation.
  std::vector<LocalProblem::Point> points_;
  std::vector<Eigen::Index> column_;

  Eigen::MatrixXd hessian_;  // of rig and poses; upper triangle
  Eigen::VectorXd gradient_;
  std::vector<Block> by_observation_;
  std::vector<PointBlock> by_point_;
  std::vector<Eigen::Matrix3d> rotation_;  // scratch: of the keyframes
  Eigen::MatrixXd reduced_;                // of the last Factor(); upper triangle
  Eigen::VectorXd reduced_gradient_;
  Eigen::LLT<Eigen::MatrixXd, Eigen::Upper> solver_;  // of reduced_
  std::optional<InertialTerms> inertial_;
  Eigen::VectorXd step_;
  std::vector<Eigen::Vector3d> point_step_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ADJUST_LOCAL_EQUATIONS_H_
