#include "slam/adjust/pose_graph.h"

#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <utility>

#include "slam/estimate/reprojection_model.h"

#ifndef EIGEN_MPL2_ONLY
#error "Compile with EIGEN_MPL2_ONLY: Eigen's parts under other licenses stay out."
#endif

namespace glint::slam {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

constexpr double kHuber = 3;
constexpr int kFactorizations = 50;
constexpr double kTolerance = 1e-9;
constexpr double kFirstDamping = 1e-4;  // share of the diagonal that is added to it
constexpr double kDampingStep = 10;
constexpr double kLeastDamping = 1e-9;
constexpr double kLargestDamping = 1e10;
constexpr double kLeastDiagonal = 1e-9;  // for poses without edges

Vector6 ErrorOf(const PoseGraph::Edge& edge, const Eigen::Quaterniond& rotation, const Eigen::Quaterniond& difference,
                const Pose& from, const Pose& to) {
  Vector6 error;
  error.head<3>() = (difference.w() < 0 ? -2 : 2) / edge.rotation_sigma * difference.vec();
  error.tail<3>() = (to.translation - rotation * from.translation - edge.to_from.translation) / edge.translation_sigma;
  return error;
}

// The world's z in the camera: what a level graph's increments turn about.
Eigen::Vector3d UpOf(const Pose& camera_from_world) { return camera_from_world.rotation * Eigen::Vector3d::UnitZ(); }

// The residual of a level graph's edge, or columns of its Jacobian: the part of the rotation about the vertical alone,
// which does not depend on increments.
template <typename Columns>
void KeepYaw(const Pose& from, Columns* rows) {
  const Eigen::Vector3d up = UpOf(from);
  const auto along = (up.transpose() * rows->template topRows<3>()).eval();
  rows->template topRows<3>() = up * along;
}

// Normal equations of all poses but the first.
class Equations {
 public:
  explicit Equations(const PoseGraph& graph)
      : is_level_(graph.is_level),
        unknowns_(graph.is_level ? 4 : 6),
        size_(unknowns_ * static_cast<Eigen::Index>(graph.camera_from_world.size() - 1)) {}

  void Linearize(const PoseGraph& graph) {
    entries_.clear();
    gradient_.setZero(size_);
    for (const PoseGraph::Edge& edge : graph.edges) Add(graph, edge);
    hessian_.resize(size_, size_);
    hessian_.setFromTriplets(entries_.begin(), entries_.end());
    if (!is_analyzed_) solver_.analyzePattern(hessian_);
    is_analyzed_ = true;
  }

  // False: no finite step.
  bool Solve(double damping) {
    solver_.setShift(kLeastDiagonal, 1 + damping);
    solver_.factorize(hessian_);
    if (solver_.info() != Eigen::Success) return false;
    step_ = solver_.solve(-gradient_);
    return step_.allFinite();
  }

  void Apply(PoseGraph* graph) const {
    for (size_t k = 1; k < graph->camera_from_world.size(); ++k) {
      Pose& pose = graph->camera_from_world[k];
      const Vector6 x = Increment(pose, Row(k));
      pose = Pose{RotationOf(x.head<3>()), x.tail<3>()} * pose;
    }
  }

 private:
  // A pose's increment by its unknowns: of a level graph, an angle about the vertical and a translation.
  using Basis = Eigen::Matrix<double, 6, 4>;
  static Basis BasisOf(const Pose& pose) {
    Basis basis = Basis::Zero();
    basis.topLeftCorner<3, 1>() = UpOf(pose);
    basis.bottomRightCorner<3, 3>().setIdentity();
    return basis;
  }
  Vector6 Increment(const Pose& pose, Eigen::Index row) const {
    if (is_level_) return BasisOf(pose) * step_.segment<4>(row);
    return step_.segment<6>(row);
  }

  Eigen::Index Row(size_t pose) const { return unknowns_ * static_cast<Eigen::Index>(pose - 1); }

  // The loss by its weight alone: beyond its bound, that overestimates the second derivative, and so converges from
  // afar.
  void Add(const PoseGraph& graph, const PoseGraph::Edge& edge) {
    const Pose& from = graph.camera_from_world[edge.from];
    const Pose& to = graph.camera_from_world[edge.to];
    EdgeResidual r(edge, from, to);
    if (!is_level_) return AddJacobians(edge, r.error, r.by_from, r.by_to);
    KeepYaw(from, &r.error);
    KeepYaw(from, &r.by_from);
    KeepYaw(from, &r.by_to);
    AddJacobians(edge, r.error, Basis(r.by_from * BasisOf(from)), Basis(r.by_to * BasisOf(to)));
  }

  template <typename Jacobian>
  void AddJacobians(const PoseGraph::Edge& edge, const Vector6& error, const Jacobian& by_from, const Jacobian& by_to) {
    const double norm = error.norm();
    const double weight = edge.is_loop && norm > kHuber ? kHuber / norm : 1;
    AddOf(edge.from, by_from, weight, error);
    AddOf(edge.to, by_to, weight, error);
    if (edge.from == 0 || edge.to == 0) return;
    const auto both = (weight * by_from.transpose() * by_to).eval();
    if (edge.from > edge.to) {
      AddBlock(edge.from, edge.to, both);
    } else {
      AddBlock(edge.to, edge.from, both.transpose());
    }
  }

  template <typename Jacobian>
  void AddOf(size_t pose, const Jacobian& jacobian, double weight, const Vector6& error) {
    if (pose == 0) return;
    gradient_.segment<Jacobian::ColsAtCompileTime>(Row(pose)) += weight * jacobian.transpose() * error;
    AddBlock(pose, pose, weight * jacobian.transpose() * jacobian);
  }

  // The solver reads the lower triangle alone.
  template <typename Block>
  void AddBlock(size_t row, size_t column, const Block& expression) {
    const auto& block = expression.eval();
    for (Eigen::Index c = 0; c < unknowns_; ++c) {
      for (Eigen::Index r = row == column ? c : 0; r < unknowns_; ++r)
        entries_.emplace_back(Row(row) + r, Row(column) + c, block(r, c));
    }
  }

  const bool is_level_;
  const Eigen::Index unknowns_;  // of a pose
  const Eigen::Index size_;
  std::vector<Eigen::Triplet<double>> entries_;
  Eigen::SparseMatrix<double> hessian_;
  Eigen::VectorXd gradient_, step_;
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver_;
  bool is_analyzed_ = false;
};

}  // namespace

EdgeResidual::EdgeResidual(const PoseGraph::Edge& edge, const Pose& from_from_world, const Pose& to_from_world) {
  const Eigen::Quaterniond rotation = to_from_world.rotation * from_from_world.rotation.conjugate();
  const Eigen::Quaterniond difference = edge.to_from.rotation.conjugate() * rotation;
  error = ErrorOf(edge, rotation, difference, from_from_world, to_from_world);
  const Eigen::Matrix3d r = rotation.toRotationMatrix();
  const Eigen::Matrix3d cross = CrossMatrix(difference.vec());
  const double scale = (difference.w() < 0 ? -1 : 1) / edge.rotation_sigma;
  const Eigen::Matrix3d w = difference.w() * Eigen::Matrix3d::Identity();
  by_from.setZero();
  by_from.topLeftCorner<3, 3>() = -scale * (w + cross);
  by_from.bottomRightCorner<3, 3>() = -r / edge.translation_sigma;
  by_to.setZero();
  by_to.topLeftCorner<3, 3>() = scale * (w - cross) * edge.to_from.rotation.toRotationMatrix().transpose();
  by_to.bottomLeftCorner<3, 3>() =
      -CrossMatrix(to_from_world.translation - rotation * from_from_world.translation) / edge.translation_sigma;
  by_to.bottomRightCorner<3, 3>() = Eigen::Matrix3d::Identity() / edge.translation_sigma;
}

double PoseGraphCost(const PoseGraph& graph) {
  double cost = 0;
  for (const PoseGraph::Edge& edge : graph.edges) {
    const Pose& from = graph.camera_from_world[edge.from];
    const Pose& to = graph.camera_from_world[edge.to];
    const Eigen::Quaterniond rotation = to.rotation * from.rotation.conjugate();
    Vector6 error = ErrorOf(edge, rotation, edge.to_from.rotation.conjugate() * rotation, from, to);
    if (graph.is_level) KeepYaw(from, &error);
    const double norm = error.norm();
    cost += edge.is_loop && norm > kHuber ? kHuber * (norm - kHuber / 2) : norm * norm / 2;
  }
  return cost;
}

void SolvePoseGraph(PoseGraph* graph) {
  double cost = PoseGraphCost(*graph);
  if (graph->camera_from_world.size() < 2 || !std::isfinite(cost)) return;
  Equations equations(*graph);
  equations.Linearize(*graph);
  double damping = kFirstDamping;
  PoseGraph moved = *graph;
  for (int i = 0; i < kFactorizations && damping < kLargestDamping; ++i) {
    double moved_cost = cost;
    if (equations.Solve(damping)) {
      moved.camera_from_world = graph->camera_from_world;
      equations.Apply(&moved);
      moved_cost = PoseGraphCost(moved);
    }
    if (!(moved_cost < cost)) {
      damping *= kDampingStep;
      continue;
    }
    const bool is_last = cost - moved_cost < kTolerance * cost;
    std::swap(graph->camera_from_world, moved.camera_from_world);
    cost = moved_cost;
    damping = std::max(damping / kDampingStep, kLeastDamping);
    if (is_last) break;
    equations.Linearize(*graph);
  }
}

}  // namespace glint::slam
