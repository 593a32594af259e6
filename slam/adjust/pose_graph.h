// Pose graph optimization: the poses that agree best with the relative poses measured between them.
#ifndef GLINT_SLAM_ADJUST_POSE_GRAPH_H_
#define GLINT_SLAM_ADJUST_POSE_GRAPH_H_

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "slam/geometry/pose.h"

namespace glint::slam {

struct PoseGraph {
  struct Edge {
    size_t from = 0;  // indices of two different poses of `camera_from_world`
    size_t to = 0;
    Pose to_from;
    double rotation_sigma = 0;  // standard deviations above 0, radians and metres
    double translation_sigma = 0;
    bool is_loop = false;  // may be false: Huber's loss
  };
  std::vector<Pose> camera_from_world;
  std::vector<Edge> edges;
  // Gravity points along -z of the world, and each pose's roll and pitch are right: they stay as they are, and of the
  // rotations of edges, only the part about the vertical counts. Poses have a heading and a position to estimate.
  bool is_level = false;
};

// Residual of an edge and its Jacobians. With (R, t) = to_from_world * from_from_world^-1 of the poses, (Rm, tm) of the
// measurement and the unit quaternion q of Rm^-1 R, w >= 0, the residual is 2 * vec(q) / rotation_sigma, which is the
// angle for small ones, and (t - tm) / translation_sigma: no units. Jacobians are by left increments of the poses in
// coordinates of their cameras, Pose{RotationOf(x.head<3>()), x.tail<3>()} * pose: radians, metres.
struct EdgeResidual {
  EdgeResidual(const PoseGraph::Edge& edge, const Pose& from_from_world, const Pose& to_from_world);
  Eigen::Matrix<double, 6, 1> error;
  Eigen::Matrix<double, 6, 6> by_from;
  Eigen::Matrix<double, 6, 6> by_to;
};

// The sum over edges of half the squared norm of the residual; beyond 3, loops count linearly (Huber's loss). Of a
// level graph, the residual's rotation is its part along the world's z (in coordinates of the camera `from`).
double PoseGraphCost(const PoseGraph& graph);

// Minimizes the cost. The first pose is held, and so fixes the frame of reference; poses that no edge leads to stay.
//
// Levenberg-Marquardt with sparse LDL^T of the normal equations, on the caller's thread; equal graphs give equal poses,
// to the bit. Ends with the step that saves less than 1e-9 of the cost, with a damping that no step needs, or after 50
// factorizations. There are no errors: the cost never rises, and a graph whose cost is not finite stays as it is.
void SolvePoseGraph(PoseGraph* graph);

}  // namespace glint::slam

#endif  // GLINT_SLAM_ADJUST_POSE_GRAPH_H_
