#include "slam/inertial/initializer.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "slam/inertial/inertial_factor.h"
#include "slam/inertial/rotation_vector.h"

#ifndef EIGEN_MPL2_ONLY
#error "Compile with EIGEN_MPL2_ONLY: Eigen's parts under other licenses stay out."
#endif

namespace glint::slam {
namespace {

constexpr size_t kFewestPoses = 4;
constexpr int kBiasIterations = 5;
constexpr int kIterations = 20;
// Of the squared length of a step in standard deviations, per unknown; of the first, which is where the next one
// begins, of its length.
constexpr double kTolerance = 1e-6;
constexpr double kBiasTolerance = 0.01;
constexpr double kLeastRotation = 1e-6;             // radians: of a measurement's deviation
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

double Squared(double x) { return x * x; }

// Poses that are held, and what is estimated beside them. Unknowns: the biases, gyroscope's first; gravity; velocities.
// A measurement ties two velocities, so that each is eliminated once the one after it is there.
class Problem {
 public:
  static constexpr Eigen::Index kGravity = 6;

  Problem(const ImuModel& model, const InitializerOptions& options, absl::Span<const PosedMeasurement> poses)
      : model_(model), options_(options), states_(poses.size()), eliminated_(poses.size() - 1) {
    for (size_t i = 0; i < poses.size(); ++i) states_[i].camera_from_world = poses[i].camera_from_world;
    for (const PosedMeasurement& pose : poses.subspan(1)) measured_.push_back(pose.since_last);
    SetBias({measured_.front().bias().gyroscope, options.biases.bias.accelerometer});
  }

  // The gyroscope's bias by rotations alone.
  bool FindGyroscopeBias() {
    const Eigen::Quaterniond imu_from_camera = model_.camera_from_imu.rotation.conjugate();
    for (int i = 0; i < kBiasIterations; ++i) {
      Eigen::Matrix3d hessian = Eigen::Matrix3d::Identity() / Squared(options_.biases.gyroscope_sigma);
      Eigen::Vector3d gradient = hessian * (bias_.gyroscope - options_.biases.bias.gyroscope);
      for (size_t k = 0; k < measured_.size(); ++k) {
        const Preintegration& measured = measured_[k];
        const Eigen::Quaterniond begin_from_end = imu_from_camera * states_[k].camera_from_world.rotation *
                                                  states_[k + 1].camera_from_world.rotation.conjugate() *
                                                  model_.camera_from_imu.rotation;
        const Eigen::Quaterniond difference = measured.DeltaRotation(bias_).conjugate() * begin_from_end;
        const Eigen::Vector3d error = RotationVectorOf(difference);
        const Eigen::Matrix3d by_bias = -InverseRightJacobian(error) * difference.toRotationMatrix().transpose() *
                                        measured.by_bias().topLeftCorner<3, 3>();
        Eigen::Matrix3d covariance = measured.covariance().topLeftCorner<3, 3>();
        covariance.diagonal().array() += Squared(options_.rotation_sigma) + Squared(kLeastRotation);
        const Eigen::Matrix3d weighted = by_bias.transpose() * covariance.inverse();
        hessian += weighted * by_bias;
        gradient += weighted * error;
      }
      const Eigen::Vector3d step = hessian.ldlt().solve(-gradient);
      if (!step.allFinite()) return false;
      SetBias({bias_.gyroscope + step, bias_.accelerometer});
      if (step.dot(hessian * step) <= Squared(kBiasTolerance)) break;
    }
    for (const Preintegration& measured : measured_) {
      factors_.emplace_back(model_, &measured,
                            InertialFactor::PoseSigmas{options_.rotation_sigma, options_.position_sigma});
    }
    return true;
  }

  // With a prior, gravity is that; else one step for all, with gravity of any length, which then gets its own.
  bool FindGravity() {
    if (options_.gravity.has_value()) {
      gravity_ = options_.gravity->direction;
    } else if (!Step<3>(Eigen::Matrix3d::Identity()) || !(gravity_.norm() >= kLeastGravity)) {
      return false;
    }
    gravity_ = model_.gravity * gravity_.normalized();
    return true;
  }

  bool Refine() {
    for (int i = 0; i < kIterations; ++i) {
      if (!Step<2>(model_.gravity * AcrossOf(gravity_))) return false;
      gravity_ = model_.gravity * gravity_.normalized();
      if (squared_step_ <= kTolerance * static_cast<double>(kGravity + 2 + 3 * states_.size())) return true;
    }
    return false;
  }

  // After Refine(): by the last step's equations.
  bool Describe(InertialEstimate* estimate) const {
    const Eigen::Index size = rest_.rows();
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
    const auto of_prior = [&covariance](Eigen::Index first, Eigen::Index count, double prior) {
      return covariance.diagonal().segment(first, count).sum() / Squared(prior);
    };
    double freedom = 9 * static_cast<double>(measured_.size()) - 8 - 3 * static_cast<double>(states_.size()) +
                     of_prior(0, 3, options_.biases.gyroscope_sigma) +
                     of_prior(3, 3, options_.biases.accelerometer_sigma);
    const BiasEstimate& prior = options_.biases;
    estimate->prior_error =
        (bias_.accelerometer - prior.bias.accelerometer).squaredNorm() / Squared(prior.accelerometer_sigma);
    if (options_.gravity.has_value()) {
      freedom += of_prior(kGravity, 2, options_.gravity->sigma);
      const Eigen::Vector2d across = AcrossOf(gravity_).transpose() * options_.gravity->direction;
      estimate->prior_error += across.squaredNorm() / Squared(options_.gravity->sigma);
    }
    estimate->normalized_error = squared_error_ / freedom;
    return true;
  }

 private:
  // A velocity as it follows from those unknowns that are left and the one after it: -constant - by_rest * them.
  struct Eliminated {
    Eigen::Vector3d constant;
    Eigen::Matrix<double, 3, Eigen::Dynamic, 0, 3, 12> by_rest;
  };

  // What the accelerometer's bias changes is linear: its measurements need not be integrated again.
  void SetBias(const ImuBias& bias) {
    bias_ = bias;
    for (InertialState& state : states_) state.motion.bias = bias;
    for (Preintegration& measured : measured_) {
      measured.Relinearize({bias.gyroscope, measured.bias().accelerometer});
    }
  }

  template <int kSize>
  void AddPriors(Eigen::Matrix<double, kSize, kSize>* hessian, Eigen::Matrix<double, kSize, 1>* gradient) const {
    const auto add = [&](Eigen::Index first, const auto& error, double sigma) {
      hessian->diagonal().segment(first, error.size()).array() += 1 / Squared(sigma);
      gradient->segment(first, error.size()) += error / Squared(sigma);
    };
    const BiasEstimate& prior = options_.biases;
    add(0, Eigen::Vector3d(bias_.gyroscope - prior.bias.gyroscope), prior.gyroscope_sigma);
    add(3, Eigen::Vector3d(bias_.accelerometer - prior.bias.accelerometer), prior.accelerometer_sigma);
    if (!options_.gravity.has_value()) return;
    const Eigen::Vector2d across = -AcrossOf(gravity_).transpose() * options_.gravity->direction;
    add(kGravity, across, options_.gravity->sigma);
  }

  // Normal equations of what is left once all velocities but the last are eliminated; columns of `gravity_by_step`: of
  // gravity's unknowns.
  template <int kColumns>
  bool Linearize(const Eigen::Matrix<double, 3, kColumns>& gravity_by_step) {
    constexpr int kFirst = static_cast<int>(kGravity) + kColumns, kRest = kFirst + 3, kSize = kRest + 3;
    Eigen::Matrix<double, kRest, kRest> hessian = Eigen::Matrix<double, kRest, kRest>::Zero();
    Eigen::Matrix<double, kRest, 1> gradient = Eigen::Matrix<double, kRest, 1>::Zero();
    squared_error_ = squared_step_ = 0;
    AddPriors<kRest>(&hessian, &gradient);
    for (size_t k = 0; k < factors_.size(); ++k) {
      factors_[k].Linearize(states_[k], states_[k + 1], gravity_, &residual_);
      // One bias for all poses: it does not change, and rows of its change say nothing. The velocity to be eliminated
      // comes last.
      Eigen::Matrix<double, 9, kSize> jacobian;
      jacobian << residual_.by_from.block<9, 6>(0, 9), residual_.by_gravity.topRows<9>() * gravity_by_step,
          residual_.by_to.block<9, 3>(0, 6), residual_.by_from.block<9, 3>(0, 6);
      const Eigen::Matrix<double, 9, 1> error = residual_.error.head<9>();
      squared_error_ += error.squaredNorm();
      Eigen::Matrix<double, kSize, kSize> sum = jacobian.transpose() * jacobian;
      Eigen::Matrix<double, kSize, 1> slope = jacobian.transpose() * error;
      // The velocity before, so far the last one.
      sum.template topLeftCorner<kFirst, kFirst>() += hessian.template topLeftCorner<kFirst, kFirst>();
      sum.template bottomLeftCorner<3, kFirst>() += hessian.template bottomLeftCorner<3, kFirst>();
      sum.template bottomRightCorner<3, 3>() += hessian.template bottomRightCorner<3, 3>();
      slope.template head<kFirst>() += gradient.template head<kFirst>();
      slope.template tail<3>() += gradient.template tail<3>();
      const Eigen::LLT<Eigen::Matrix3d> pivot(sum.template bottomRightCorner<3, 3>());
      if (pivot.info() != Eigen::Success) return false;
      const Eigen::Matrix<double, 3, kRest> coupling = sum.template bottomLeftCorner<3, kRest>();
      const Eigen::Matrix<double, 3, kRest> by_rest = pivot.solve(coupling);
      eliminated_[k].by_rest = by_rest;
      eliminated_[k].constant = pivot.solve(slope.template tail<3>());
      squared_step_ += slope.template tail<3>().dot(eliminated_[k].constant);
      hessian = sum.template topLeftCorner<kRest, kRest>() - coupling.transpose() * by_rest;
      gradient = slope.template head<kRest>() - coupling.transpose() * eliminated_[k].constant;
    }
    rest_ = hessian;
    gradient_ = gradient;
    // Its diagonal made 1.
    scale_ = rest_.diagonal().cwiseSqrt().cwiseInverse();
    solver_.compute(scale_.asDiagonal() * rest_ * scale_.asDiagonal());
    return scale_.allFinite() && solver_.info() == Eigen::Success && solver_.isPositive();
  }

  template <int kColumns>
  bool Step(const Eigen::Matrix<double, 3, kColumns>& gravity_by_step) {
    if (!Linearize(gravity_by_step)) return false;
    Eigen::VectorXd step = scale_.cwiseProduct(solver_.solve(-scale_.cwiseProduct(gradient_)));
    squared_step_ -= gradient_.dot(step);
    if (!step.allFinite()) return false;
    SetBias({bias_.gyroscope + step.head<3>(), bias_.accelerometer + step.segment<3>(3)});
    gravity_ += gravity_by_step * step.segment<kColumns>(kGravity);
    states_.back().motion.velocity += step.tail<3>();
    for (size_t k = eliminated_.size(); k-- > 0;) {
      step.tail<3>() = (-eliminated_[k].constant - eliminated_[k].by_rest * step).eval();
      states_[k].motion.velocity += step.tail<3>();
    }
    return step.allFinite();
  }

  const ImuModel model_;
  const InitializerOptions options_;
  std::vector<InertialState> states_;
  std::vector<Preintegration> measured_;  // from each pose to the next
  std::vector<InertialFactor> factors_;   // of these
  Eigen::Vector3d gravity_ = Eigen::Vector3d::Zero();
  ImuBias bias_;
  InertialResidual residual_;
  std::vector<Eliminated> eliminated_;
  Eigen::MatrixXd rest_;
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
