// What an inertial sensor adds to a local adjustment: an InertialFactor between neighbouring keyframes, with Huber's
// loss of its rotation, velocity and position (beyond 5 deviations: an interval with a knock counts little), and
// Gaussian priors of the motions of the oldest keyframe and of those before which nothing was measured.
//
// Unknowns: an increment of each keyframe's motion (velocity, gyroscope's bias, accelerometer's), also where the pose
// is fixed. Their normal equations are block tridiagonal; they are eliminated from the oldest on (Schur complement), so
// that the dense system is no larger than without them. Every sum is in the order of keyframes.
#ifndef GLINT_SLAM_ADJUST_INERTIAL_TERMS_H_
#define GLINT_SLAM_ADJUST_INERTIAL_TERMS_H_

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <vector>

#include "slam/adjust/local_adjustment.h"
#include "slam/inertial/inertial_factor.h"

namespace glint::slam {

// The first column of the unknowns of a keyframe's pose; kNoColumn: it is fixed.
inline constexpr Eigen::Index kNoColumn = -1;
inline Eigen::Index PoseColumn(const AdjustmentOptions& options, size_t keyframe) {
  const auto fixed = static_cast<size_t>(options.fixed_keyframes);
  return keyframe < fixed ? kNoColumn
                          : (options.refine_rig ? 3 : 0) + static_cast<Eigen::Index>(6 * (keyframe - fixed));
}

// Not thread-safe. Call Linearize() first, then Eliminate(), then the others.
class InertialTerms {
 public:
  using Vector9 = LocalProblem::Inertial::Vector9;
  using Solver = Eigen::LLT<Eigen::MatrixXd, Eigen::Upper>;

  // Of a problem with `inertial`. The measurements of its keyframes must outlive this.
  InertialTerms(const AdjustmentOptions& options, const LocalProblem& problem);

  // Half the squared whitened residuals.
  double CostOf(const LocalProblem& problem) const;
  // Computes the normal equations; adds those of the poses to `hessian` (upper triangle) and `gradient`.
  void Linearize(const LocalProblem& problem, Eigen::MatrixXd* hessian, Eigen::VectorXd* gradient);
  // Eliminates the motions, whose diagonal is 1 + `damping` times as large, from the poses' equations. False if they
  // are not positive definite.
  bool Eliminate(double damping, Eigen::MatrixXd* reduced, Eigen::VectorXd* gradient);
  // Applies the step of the motions to the problem, that of the poses given.
  void Apply(const Eigen::VectorXd& pose_step, LocalProblem* problem);
  // Standard deviations of a keyframe's motion. `solver`: of the reduced equations without damping.
  Vector9 Sigma(size_t keyframe, const Solver& solver) const;

 private:
  using Matrix9 = Eigen::Matrix<double, 9, 9>;
  struct Block {
    Matrix9 hessian;
    Matrix9 by_next;  // of this motion (rows) and the next one
    Vector9 gradient;
    // Eliminated: the Cholesky factor's blocks on the diagonal and below, and its solution for the gradient.
    Matrix9 lower;
    Matrix9 next_lower;
    Vector9 solved;
  };
  struct Prior {
    Vector9 mean, weight;
  };
  Vector9 PriorError(const LocalProblem& problem, size_t keyframe) const;  // whitened
  void AddLink(size_t to, const LocalProblem& problem, Eigen::MatrixXd* hessian, Eigen::VectorXd* gradient);
  // Columns of poses that the motion of a keyframe depends on after elimination: the first ones.
  Eigen::Index ColumnsOf(size_t keyframe) const;

  const AdjustmentOptions options_;
  std::vector<std::optional<InertialFactor>> links_;  // to each keyframe from the one before; none: nothing is known
  std::vector<std::optional<Prior>> priors_;
  std::vector<Block> blocks_;  // of each keyframe
  // 9 columns of each keyframe's motion by rows of poses; by_lower_: multiplied by the inverse transposed factor.
  Eigen::MatrixXd by_pose_;
  Eigen::MatrixXd by_lower_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ADJUST_INERTIAL_TERMS_H_
