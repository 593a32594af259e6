#include "slam/inertial/initializer.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "slam/inertial/inertial_factor.h"

#ifndef EIGEN_MPL2_ONLY
#error "Compile with EIGEN_MPL2_ONLY: Eigen's parts under other licenses stay out."
#endif

namespace glint::slam {
namespace {

constexpr size_t kFewestPoses = 4;
constexpr double kGyroscopePrior = 0.1;      // rad/s, 1 standard deviation
constexpr double kAccelerometerPrior = 0.1;  // m/s^2
constexpr int kBiasIterations = 5;
constexpr int kIterations = 20;
constexpr double kTolerance = 1e-8;                 // of the squared length of a step in standard deviations
constexpr double kLeastGravity = 1e-3;              // m/s^2: below, it has no direction
constexpr double kLevelSine = 0.08715574274765817;  // of 5 degrees
constexpr double kLeastHorizontal = 0.1;  // sine of the angle to the vertical; below, a camera looks up or down

// Two directions across `gravity` and each other, of length 1.
Eigen::Matrix<double, 3, 2> AcrossOf(const Eigen::Vector3d& gravity) {
  Eigen::Matrix<double, 3, 2> across;
  Eigen::Index smallest = 0;
  gravity.cwiseAbs().minCoeff(&smallest);
  across.col(0) = gravity.cross(Eigen::Vector3d::Unit(smallest)).normalized();
  across.col(1) = gravity.cross(across.col(0)).normalized();
  return across;
}

// Poses that are held, and what is estimated beside them. Unknowns: the biases, gyroscope's first; gravity; velocities.
class Problem {
 public:
  static constexpr Eigen::Index kGravity = 6;

  Problem(const ImuModel& model, const InitializerOptions& options, absl::Span<const PosedMeasurement> poses)
      : model_(model), sigmas_{options.rotation_sigma, options.position_sigma}, states_(poses.size()) {
    for (size_t i = 0; i < poses.size(); ++i) states_[i].camera_from_world = poses[i].camera_from_world;
    for (const PosedMeasurement& pose : poses.subspan(1)) measured_.push_back(pose.since_last);
  }

  // The gyroscope's bias by rotations alone.
  bool FindGyroscopeBias() {
    for (int i = 0; i < kBiasIterations; ++i) {
      Eigen::Matrix3d hessian = Eigen::Matrix3d::Identity() / (kGyroscopePrior * kGyroscopePrior);
      Eigen::Vector3d gradient = hessian * bias_.gyroscope;
      for (size_t k = 0; k < measured_.size(); ++k) {
        LinearizeFactor(k);
        // The root is lower triangular: the first rows are of the rotation, whatever else is known.
        const Eigen::Matrix3d by_bias = residual_.by_from.block<3, 3>(0, 9);
        hessian += by_bias.transpose() * by_bias;
        gradient += by_bias.transpose() * residual_.error.head<3>();
      }
      const Eigen::Vector3d step = hessian.ldlt().solve(-gradient);
      if (!step.allFinite()) return false;
      SetBias({bias_.gyroscope + step, bias_.accelerometer});
    }
    return true;
  }

  // One step for all, with gravity of any length, which then gets its own.
  bool FindGravity() {
    if (!Step<3>(Eigen::Matrix3d::Identity()) || !(gravity_.norm() >= kLeastGravity)) return false;
    gravity_ = model_.gravity * gravity_.normalized();
    return true;
  }

  bool Refine() {
    for (int i = 0; i < kIterations; ++i) {
      if (!Step<2>(model_.gravity * AcrossOf(gravity_))) return false;
      gravity_ = model_.gravity * gravity_.normalized();
      if (squared_step_ <= kTolerance * static_cast<double>(gradient_.size())) return true;
    }
    return false;
  }

  // After Refine().
  bool Describe(InertialEstimate* estimate) {
    Linearize<2>(model_.gravity * AcrossOf(gravity_));
    if (!Factorize()) return false;
    const Eigen::Index size = gradient_.size();
    Eigen::MatrixXd covariance = scale_.asDiagonal() * solver_.solve(Eigen::MatrixXd::Identity(size, size));
    covariance = (covariance * scale_.asDiagonal()).eval();
    if (!covariance.allFinite()) return false;
    const auto sigma = [&covariance](Eigen::Index first, Eigen::Index count) {
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(covariance.block(first, first, count, count),
                                                                 Eigen::EigenvaluesOnly);
      return std::sqrt(std::max(0., eigen.eigenvalues()[count - 1]));
    };
    estimate->gravity = gravity_;
    estimate->bias = bias_;
    estimate->velocity.clear();
    for (const InertialState& state : states_) estimate->velocity.push_back(state.motion.velocity);
    estimate->gyroscope_sigma = sigma(0, 3);
    estimate->accelerometer_sigma = sigma(3, 3);
    estimate->gravity_sigma = sigma(kGravity, 2);
    estimate->velocity_sigma = sigma(size - 3, 3);
    // Degrees of freedom that the priors leave to the measurements: unknowns that a prior determines take none.
    const double by_priors = covariance.diagonal().head<3>().sum() / (kGyroscopePrior * kGyroscopePrior) +
                             covariance.diagonal().segment<3>(3).sum() / (kAccelerometerPrior * kAccelerometerPrior);
    const double freedom = 9 * static_cast<double>(measured_.size()) - static_cast<double>(size) + by_priors;
    estimate->normalized_error = squared_error_ / freedom;
    return true;
  }

 private:
  void SetBias(const ImuBias& bias) {
    bias_ = bias;
    for (InertialState& state : states_) state.motion.bias = bias;
    for (Preintegration& measured : measured_) measured.Relinearize(bias);
  }

  void LinearizeFactor(size_t k) {
    InertialFactor(model_, &measured_[k], sigmas_).Linearize(states_[k], states_[k + 1], gravity_, &residual_);
  }

  // Normal equations; columns of `gravity_by_step`: of gravity's unknowns.
  template <int kColumns>
  void Linearize(const Eigen::Matrix<double, 3, kColumns>& gravity_by_step) {
    constexpr Eigen::Index kVelocities = kGravity + kColumns;
    constexpr Eigen::Index kSize = kVelocities + 6;
    const Eigen::Index size = kVelocities + 3 * static_cast<Eigen::Index>(states_.size());
    hessian_.setZero(size, size);
    gradient_.setZero(size);
    squared_error_ = 0;
    hessian_.diagonal().head<3>().setConstant(1 / (kGyroscopePrior * kGyroscopePrior));
    hessian_.diagonal().segment<3>(3).setConstant(1 / (kAccelerometerPrior * kAccelerometerPrior));
    gradient_.head<3>() = bias_.gyroscope / (kGyroscopePrior * kGyroscopePrior);
    gradient_.segment<3>(3) = bias_.accelerometer / (kAccelerometerPrior * kAccelerometerPrior);
    for (size_t k = 0; k < measured_.size(); ++k) {
      LinearizeFactor(k);
      // One bias for all poses: it does not change, and rows of its change say nothing.
      Eigen::Matrix<double, 9, kSize> jacobian;
      jacobian << residual_.by_from.block<9, 6>(0, 9), residual_.by_gravity.topRows<9>() * gravity_by_step,
          residual_.by_from.block<9, 3>(0, 6), residual_.by_to.block<9, 3>(0, 6);
      const auto error = residual_.error.head<9>();
      const Eigen::Matrix<double, kSize, kSize> product = jacobian.transpose() * jacobian;
      const Eigen::Matrix<double, kSize, 1> gradient = jacobian.transpose() * error;
      const Eigen::Index row = kVelocities + 3 * static_cast<Eigen::Index>(k);
      hessian_.topLeftCorner<kVelocities, kVelocities>() += product.template topLeftCorner<kVelocities, kVelocities>();
      hessian_.block<6, kVelocities>(row, 0) += product.template bottomLeftCorner<6, kVelocities>();
      hessian_.block<6, 6>(row, row) += product.template bottomRightCorner<6, 6>();
      gradient_.head<kVelocities>() += gradient.template head<kVelocities>();
      gradient_.segment<6>(row) += gradient.template tail<6>();
      squared_error_ += error.squaredNorm();
    }
  }

  // The lower triangle, its diagonal made 1.
  bool Factorize() {
    scale_ = hessian_.diagonal().cwiseSqrt().cwiseInverse();
    solver_.compute(scale_.asDiagonal() * hessian_ * scale_.asDiagonal());
    return scale_.allFinite() && solver_.info() == Eigen::Success && solver_.isPositive();
  }

  template <int kColumns>
  bool Step(const Eigen::Matrix<double, 3, kColumns>& gravity_by_step) {
    Linearize(gravity_by_step);
    if (!Factorize()) return false;
    const Eigen::VectorXd step = scale_.cwiseProduct(solver_.solve(-scale_.cwiseProduct(gradient_)));
    if (!step.allFinite()) return false;
    squared_step_ = -gradient_.dot(step);
    SetBias({bias_.gyroscope + step.head<3>(), bias_.accelerometer + step.segment<3>(3)});
    gravity_ += gravity_by_step * step.segment<kColumns>(kGravity);
    for (size_t i = 0; i < states_.size(); ++i)
      states_[i].motion.velocity += step.segment<3>(kGravity + kColumns + 3 * static_cast<Eigen::Index>(i));
    return true;
  }

  const ImuModel model_;
  const InertialFactor::PoseSigmas sigmas_;
  std::vector<InertialState> states_;
  std::vector<Preintegration> measured_;  // from each pose to the next
  Eigen::Vector3d gravity_ = Eigen::Vector3d::Zero();
  ImuBias bias_;
  InertialResidual residual_;
  Eigen::MatrixXd hessian_;
  Eigen::VectorXd gradient_, scale_;
  Eigen::LDLT<Eigen::MatrixXd> solver_;
  double squared_error_ = 0;  // of the measurements
  double squared_step_ = 0;   // in standard deviations
};

}  // namespace

bool EstimateInertial(const ImuModel& model, const InitializerOptions& options,
                      absl::Span<const PosedMeasurement> poses, InertialEstimate* estimate) {
  if (poses.size() < kFewestPoses) return false;
  for (const PosedMeasurement& pose : poses.subspan(1)) {
    if (!(pose.since_last.seconds() > 0)) return false;
  }
  Problem problem(model, options, poses);
  return problem.FindGyroscopeBias() && problem.FindGravity() && problem.Refine() && problem.Describe(estimate);
}

Pose LevelWorld(const Eigen::Vector3d& gravity, const Pose& camera_from_world) {
  const Eigen::Vector3d up = -gravity.normalized();
  if (up.z() > 0 && up.head<2>().norm() < kLevelSine) {
    // The half-way quaternion: (1 + cosine, sine times axis).
    return {Eigen::Quaterniond(1 + up.z(), up.y(), -up.x(), 0).normalized(), Eigen::Vector3d::Zero()};
  }
  const Pose world_from_camera = camera_from_world.Inverse();
  Eigen::Vector3d ahead = world_from_camera.rotation * Eigen::Vector3d::UnitZ();
  if (ahead.cross(up).norm() < kLeastHorizontal) ahead = world_from_camera.rotation * -Eigen::Vector3d::UnitY();
  const Eigen::Vector3d left = up.cross(ahead).normalized();
  Eigen::Matrix3d axes;  // rows: the level world's axes in the other one
  axes << left.cross(up).transpose(), left.transpose(), up.transpose();
  const Eigen::Quaterniond rotation = Eigen::Quaterniond(axes).normalized();
  return {rotation, world_from_camera.translation - rotation * world_from_camera.translation};
}

}  // namespace glint::slam
