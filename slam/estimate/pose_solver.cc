#include "slam/estimate/pose_solver.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/common/stages.h"
#include "slam/estimate/reprojection_kernels.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

constexpr int kRounds = 4;
constexpr int kRobustRounds = 2;
constexpr int kIterations = 10;
constexpr double kMinRotation = 1e-6;     // radians: far below a thousandth of a pixel's noise
constexpr double kMinTranslation = 1e-5;  // metres
constexpr int kHypotheses = 300, kMostHypotheses = 3000;
constexpr int kIterationsOfHypothesis = 3;
constexpr int kRoundsOfAgreeing = 4;
constexpr double kLogOfMissing = -4.6;  // natural logarithm of the chance, 1 %, that no hypothesis is of inliers alone
constexpr double kLoose = 9;            // for a hypothesis, whose three points have errors, too

// The normal equations of observations that are used.
void Accumulate(const ReprojectionKernels& kernels, const ObservationArrays& correspondences, const PosedCamera& camera,
                bool robust, Matrix6* h, Vector6* g) {
  PoseSums sums;
  kernels.add(correspondences, camera, robust, &sums);
  size_t at = 0;
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column <= row; ++column) (*h)(row, column) = (*h)(column, row) = sums[at++];
  }
  for (int row = 0; row < 6; ++row) (*g)[row] = sums[at++];
}

// A prior's information, and what it adds to the normal equations at a pose. The Jacobian of the difference is taken to
// be 1: a prior counts where it is near.
class PriorTerms {
 public:
  explicit PriorTerms(const PosePrior* prior) : prior_(prior) {
    if (prior != nullptr) information_ = Eigen::LDLT<Matrix6>(prior->covariance).solve(Matrix6::Identity());
  }
  void Add(const Pose& camera_from_world, Matrix6* h, Vector6* g) const {
    if (prior_ == nullptr) return;
    const Pose from_prior = camera_from_world * prior_->camera_from_world.Inverse();
    Vector6 difference;
    difference << RotationVectorOf(from_prior.rotation), from_prior.translation;
    *h += information_;
    *g += information_ * difference;
  }

 private:
  const PosePrior* const prior_;
  Matrix6 information_;
};

}  // namespace

PoseSolver::PoseSolver() : kernels_(ReprojectionKernelsFor(cpu::BestSimdTarget())) {}

void PoseSolver::Refine(const StereoCamera& camera, const std::vector<Correspondence>& correspondences,
                        Pose* camera_from_world, PoseFit* fit, const PosePrior* prior) {
  observations_.Assign(correspondences);
  RefineAssigned(camera, correspondences.size(), camera_from_world, fit, prior);
}

void PoseSolver::RefineFound(const StereoCamera& camera, const std::vector<Correspondence>& correspondences,
                             Pose* camera_from_world, PoseFit* fit, const PosePrior* prior) {
  observations_.Assign(correspondences);
  kernels_.count(observations_, PosedCamera(camera, *camera_from_world), kLoose, observations_.is_used());
  RefineAssigned(camera, correspondences.size(), camera_from_world, fit, prior);
}

void PoseSolver::RefineAssigned(const StereoCamera& camera, size_t count, Pose* camera_from_world, PoseFit* fit,
                                const PosePrior* prior) {
  const PriorTerms prior_terms(prior);
  Matrix6 h;
  Vector6 g;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kIterations; ++i) {
      Accumulate(kernels_, observations_, PosedCamera(camera, *camera_from_world), round < kRobustRounds, &h, &g);
      prior_terms.Add(*camera_from_world, &h, &g);
      const Eigen::LDLT<Matrix6> solver(h);
      if (solver.info() != Eigen::Success || !solver.isPositive()) break;
      const Vector6 step = -solver.solve(g);
      if (!step.allFinite()) break;
      *camera_from_world = Pose{RotationOf(step.head<3>()), step.tail<3>()} * *camera_from_world;
      if (step.head<3>().norm() < kMinRotation && step.tail<3>().norm() < kMinTranslation) break;
    }
    fit->inliers = kernels_.count(observations_, PosedCamera(camera, *camera_from_world), 1, observations_.is_used());
  }
  fit->is_inlier.resize(count);
  const double* const is_used = observations_.column(ObservationArrays::kIsUsed);
  for (size_t i = 0; i < count; ++i) fit->is_inlier[i] = is_used[i] != 0 ? 1 : 0;
  Accumulate(kernels_, observations_, PosedCamera(camera, *camera_from_world), false, &h, &g);
  const Eigen::LDLT<Matrix6> solver(h);
  fit->covariance.setZero();
  if (fit->inliers >= 3 && solver.info() == Eigen::Success) fit->covariance = solver.solve(Matrix6::Identity());
  fit->measured = *camera_from_world;
  fit->measured_covariance = fit->covariance;
  if (prior == nullptr || fit->inliers < 3 || solver.info() != Eigen::Success) return;
  const Vector6 step = -solver.solve(g);
  if (!step.allFinite()) return;
  fit->measured = Pose{RotationOf(step.head<3>()), step.tail<3>()} * fit->measured;
  prior_terms.Add(*camera_from_world, &h, &g);
  const Eigen::LDLT<Matrix6> both(h);
  if (both.info() == Eigen::Success) fit->covariance = both.solve(Matrix6::Identity());
}

bool PoseSolver::Descend(const StereoCamera& camera, const ObservationArrays& observations, bool robust,
                         Pose* camera_from_world) {
  Matrix6 h;
  Vector6 g;
  for (int i = 0; i < kIterationsOfHypothesis; ++i) {
    Accumulate(kernels_, observations, PosedCamera(camera, *camera_from_world), robust, &h, &g);
    const Vector6 step = -Eigen::LDLT<Matrix6>(h).solve(g);
    if (!step.allFinite()) return false;
    *camera_from_world = Pose{RotationOf(step.head<3>()), step.tail<3>()} * *camera_from_world;
  }
  return true;
}

int PoseSolver::FitToAgreeing(const StereoCamera& camera, int agreeing, Pose* camera_from_world) {
  Pose pose = *camera_from_world;
  for (int round = 0; round < kRoundsOfAgreeing; ++round) {
    kernels_.count(observations_, PosedCamera(camera, pose), kLoose, observations_.is_used());
    if (!Descend(camera, observations_, /*robust=*/true, &pose)) break;
    const int count = kernels_.count(observations_, PosedCamera(camera, pose), kLoose, nullptr);
    if (count <= agreeing) break;
    agreeing = count;
    *camera_from_world = pose;
  }
  return agreeing;
}

bool PoseSolver::Find(const StereoCamera& camera, const std::vector<Correspondence>& correspondences, int min_inliers,
                      Pose* camera_from_world) {
  usable_.clear();
  seen_.resize(correspondences.size());
  for (size_t i = 0; i < correspondences.size(); ++i) {
    const StereoPixel& pixel = correspondences[i].observation.pixel;
    if (correspondences[i].observation.is_stereo &&
        Triangulate(camera, pixel.left.x(), pixel.left.y(), pixel.disparity, &seen_[i])) {
      usable_.push_back(i);
    }
  }
  if (usable_.size() < 3) return false;
  observations_.Assign(correspondences);
  uint64_t state = 1;  // Knuth's MMIX generator; the same choices for every call with as many points
  const auto draw = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return usable_[static_cast<size_t>((state >> 33) % usable_.size())];
  };
  int most = min_inliers - 1, most_of_three = min_inliers / 2;
  const auto wanted = [&] {
    const double share = std::min(0.99, static_cast<double>(most) / static_cast<double>(correspondences.size()));
    return std::clamp(kLogOfMissing / std::log1p(-share * share * share), 1.0 * kHypotheses, 1.0 * kMostHypotheses);
  };
  for (int hypothesis = 0; hypothesis < wanted(); ++hypothesis) {
    Eigen::Matrix3d from;
    Eigen::Matrix3d to;
    size_t drawn[3];
    for (int k = 0; k < 3; ++k) {
      drawn[k] = draw();
      from.col(k) = correspondences[drawn[k]].point;
      to.col(k) = seen_[drawn[k]];
    }
    if (drawn[0] == drawn[1] || drawn[0] == drawn[2] || drawn[1] == drawn[2]) continue;
    const Eigen::Matrix4d motion = Eigen::umeyama(from, to, false);
    if (!motion.allFinite()) continue;
    Pose pose{Eigen::Quaterniond(Eigen::Matrix3d(motion.topLeftCorner<3, 3>())).normalized(),
              motion.topRightCorner<3, 1>()};
    three_.clear();
    for (const size_t i : drawn) three_.push_back(correspondences[i]);
    // Depths are far less certain than directions, so the pixels of the three points decide.
    hypothesis_.Assign(three_);
    Descend(camera, hypothesis_, /*robust=*/false, &pose);
    const int agreeing = kernels_.count(observations_, PosedCamera(camera, pose), kLoose, nullptr);
    if (agreeing <= most_of_three) continue;
    most_of_three = agreeing;
    const int inliers = FitToAgreeing(camera, agreeing, &pose);
    if (inliers <= most) continue;
    most = inliers;
    *camera_from_world = pose;
  }
  return most >= min_inliers;
}

}  // namespace glint::slam
