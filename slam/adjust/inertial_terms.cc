#include "slam/adjust/inertial_terms.h"

#include <algorithm>
#include <cmath>

namespace glint::slam {
namespace {

using Vector9 = LocalProblem::Inertial::Vector9;

// Uncertainty that poses have that are held: radians, metres.
constexpr InertialFactor::PoseSigmas kFixedPoses{0.0005, 0.003};
constexpr double kMotionHuber = 5;  // standard deviations of the 9 rows of a measurement together

Vector9 VectorOf(const ImuMotion& motion) {
  Vector9 v;
  v << motion.velocity, motion.bias.gyroscope, motion.bias.accelerometer;
  return v;
}

InertialState StateOf(const Keyframe& keyframe) { return {keyframe.camera_from_world, keyframe.inertial->motion}; }

// Half the squared norm of a factor's residual; Huber's loss of what was measured.
double LossOf(const InertialResidual::Vector15& error) {
  const double norm = error.head<9>().norm();
  const double measured = norm > kMotionHuber ? kMotionHuber * (norm - kMotionHuber / 2) : norm * norm / 2;
  return measured + error.tail<6>().squaredNorm() / 2;
}

}  // namespace

InertialTerms::InertialTerms(const AdjustmentOptions& options, const LocalProblem& problem)
    : options_(options),
      links_(problem.keyframes.size()),
      priors_(problem.keyframes.size()),
      blocks_(problem.keyframes.size()) {
  const LocalProblem::Inertial& inertial = *problem.inertial;
  priors_[0] = {VectorOf(inertial.prior), inertial.prior_sigma.cwiseInverse()};
  for (size_t k = 1; k < links_.size(); ++k) {
    const Keyframe::Inertial& of = *problem.keyframes[k].inertial;
    if (of.since_last.seconds() > 0) {
      const bool is_fixed = PoseColumn(options, k) == kNoColumn;  // and so the pose before
      links_[k].emplace(inertial.model, &of.since_last, is_fixed ? kFixedPoses : InertialFactor::PoseSigmas{});
    } else {
      priors_[k] = {VectorOf(of.prior), of.prior_sigma.cwiseInverse()};
    }
  }
}

Vector9 InertialTerms::PriorError(const LocalProblem& problem, size_t keyframe) const {
  const Prior& prior = *priors_[keyframe];
  return prior.weight.cwiseProduct(VectorOf(problem.keyframes[keyframe].inertial->motion) - prior.mean);
}

double InertialTerms::CostOf(const LocalProblem& problem) const {
  double cost = 0;
  for (size_t k = 0; k < links_.size(); ++k) {
    if (priors_[k].has_value()) cost += PriorError(problem, k).squaredNorm() / 2;
    if (!links_[k].has_value()) continue;
    const InertialState from = StateOf(problem.keyframes[k - 1]), to = StateOf(problem.keyframes[k]);
    cost += LossOf(links_[k]->Error(from, to, problem.inertial->gravity));
  }
  return cost;
}

void InertialTerms::Linearize(const LocalProblem& problem, Eigen::MatrixXd* hessian, Eigen::VectorXd* gradient) {
  for (Block& block : blocks_) {
    block.hessian.setZero();
    block.by_next.setZero();
    block.gradient.setZero();
  }
  by_pose_.setZero(hessian->rows(), static_cast<Eigen::Index>(9 * blocks_.size()));
  for (size_t k = 0; k < blocks_.size(); ++k) {
    if (priors_[k].has_value()) {
      blocks_[k].hessian.diagonal() += priors_[k]->weight.cwiseAbs2();
      blocks_[k].gradient += priors_[k]->weight.cwiseProduct(PriorError(problem, k));
    }
    if (links_[k].has_value()) AddLink(k, problem, hessian, gradient);
  }
}

void InertialTerms::AddLink(size_t to, const LocalProblem& problem, Eigen::MatrixXd* hessian,
                            Eigen::VectorXd* gradient) {
  InertialResidual r;
  links_[to]->Linearize(StateOf(problem.keyframes[to - 1]), StateOf(problem.keyframes[to]), problem.inertial->gravity,
                        &r);
  const double norm = r.error.head<9>().norm();
  if (norm > kMotionHuber) {
    const double weight = std::sqrt(kMotionHuber / norm);
    r.error.head<9>() *= weight;
    r.by_from.topRows<9>() *= weight;
    r.by_to.topRows<9>() *= weight;
  }
  const InertialResidual::Matrix15* const by[2] = {&r.by_from, &r.by_to};
  for (size_t i = 0; i < 2; ++i) {
    const size_t row = to - 1 + i;
    const InertialResidual::Vector15 pull = by[i]->transpose() * r.error;
    const Eigen::Index pose_row = PoseColumn(options_, row);
    blocks_[row].gradient += pull.tail<9>();
    if (pose_row != kNoColumn) gradient->segment<6>(pose_row) += pull.head<6>();
    for (size_t j = 0; j < 2; ++j) {
      const size_t column = to - 1 + j;
      const InertialResidual::Matrix15 both = by[i]->transpose() * *by[j];
      const Eigen::Index pose_column = PoseColumn(options_, column);
      if (i == j) blocks_[row].hessian += both.bottomRightCorner<9, 9>();
      if (i < j) blocks_[row].by_next += both.bottomRightCorner<9, 9>();
      if (pose_row == kNoColumn) continue;
      by_pose_.block<6, 9>(pose_row, static_cast<Eigen::Index>(9 * column)) += both.topRightCorner<6, 9>();
      if (i <= j) hessian->block<6, 6>(pose_row, pose_column) += both.topLeftCorner<6, 6>();
    }
  }
}

Eigen::Index InertialTerms::ColumnsOf(size_t keyframe) const {
  const Eigen::Index last = PoseColumn(options_, std::min(keyframe + 1, blocks_.size() - 1));
  return last == kNoColumn ? 0 : last + 6;
}

bool InertialTerms::Eliminate(double damping, Eigen::MatrixXd* reduced, Eigen::VectorXd* gradient) {
  by_lower_ = by_pose_;
  for (size_t k = 0; k < blocks_.size(); ++k) {
    Block& block = blocks_[k];
    const Eigen::Index columns = ColumnsOf(k);
    auto by_lower = by_lower_.middleCols<9>(static_cast<Eigen::Index>(9 * k)).topRows(columns);
    Matrix9 hessian = block.hessian;
    hessian.diagonal() *= 1 + damping;
    block.solved = block.gradient;
    if (k > 0) {
      const Block& last = blocks_[k - 1];
      hessian.noalias() -= last.next_lower * last.next_lower.transpose();
      block.solved.noalias() -= last.next_lower * last.solved;
      const Eigen::Index before = ColumnsOf(k - 1);
      by_lower.topRows(before).noalias() -=
          by_lower_.middleCols<9>(static_cast<Eigen::Index>(9 * (k - 1))).topRows(before) * last.next_lower.transpose();
    }
    const Eigen::LLT<Matrix9> solver(hessian);
    if (solver.info() != Eigen::Success) return false;
    block.lower = solver.matrixL();
    block.lower.triangularView<Eigen::Lower>().solveInPlace(block.solved);
    const Matrix9 upper = block.lower.transpose();
    if (columns > 0) upper.triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(by_lower);
    block.next_lower = block.by_next.transpose();
    upper.triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(block.next_lower);
    if (columns == 0) continue;
    reduced->topLeftCorner(columns, columns).selfadjointView<Eigen::Upper>().rankUpdate(by_lower, -1);
    gradient->head(columns).noalias() -= by_lower * block.solved;
  }
  return true;
}

void InertialTerms::Apply(const Eigen::VectorXd& pose_step, LocalProblem* problem) {
  Vector9 step;
  for (size_t k = blocks_.size(); k-- > 0;) {
    const Block& block = blocks_[k];
    const Eigen::Index columns = ColumnsOf(k);
    Vector9 right = block.solved;
    right.noalias() += by_lower_.middleCols<9>(static_cast<Eigen::Index>(9 * k)).topRows(columns).transpose() *
                       pose_step.head(columns);
    if (k + 1 < blocks_.size()) right.noalias() += block.next_lower.transpose() * step;
    step = -right;
    block.lower.transpose().triangularView<Eigen::Upper>().solveInPlace(step);
    ImuMotion& motion = problem->keyframes[k].inertial->motion;
    motion.velocity += step.head<3>();
    motion.bias.gyroscope += step.segment<3>(3);
    motion.bias.accelerometer += step.tail<3>();
  }
}

Vector9 InertialTerms::Sigma(size_t keyframe, const Solver& solver) const {
  Matrix9 part = Matrix9::Identity();
  Vector9 variance = Vector9::Zero();
  Eigen::MatrixXd by_pose = Eigen::MatrixXd::Zero(by_lower_.rows(), 9);
  for (size_t k = keyframe; k < blocks_.size(); ++k) {
    if (k > keyframe) part = -blocks_[k - 1].next_lower * part;
    blocks_[k].lower.triangularView<Eigen::Lower>().solveInPlace(part);
    variance += part.cwiseAbs2().colwise().sum().transpose();
    by_pose.noalias() += by_lower_.middleCols<9>(static_cast<Eigen::Index>(9 * k)) * part;
  }
  const Eigen::MatrixXd inverse = solver.solve(by_pose);
  variance += by_pose.cwiseProduct(inverse).colwise().sum().transpose();
  return variance.cwiseSqrt();
}

}  // namespace glint::slam
