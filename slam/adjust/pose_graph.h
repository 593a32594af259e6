// Poses that agree best with the motions measured between them.
#ifndef GLINT_SLAM_ADJUST_POSE_GRAPH_H_
#define GLINT_SLAM_ADJUST_POSE_GRAPH_H_

#include <cstddef>
#include <vector>

#include "slam/geometry/pose.h"

namespace glint::slam {

struct PoseGraph {
  struct Edge {
    size_t from = 0;  // places in `camera_from_world`
    size_t to = 0;
    Pose to_from;
    double turn_error = 0;  // standard deviations, radians and metres
    double shift_error = 0;
    bool is_loop = false;  // may be false: Huber's loss
  };
  std::vector<Pose> camera_from_world;
  std::vector<Edge> edges;
};

// Moves all poses but the first (Ceres, sparse Cholesky, one thread).
void SolvePoseGraph(PoseGraph* graph);

}  // namespace glint::slam

#endif  // GLINT_SLAM_ADJUST_POSE_GRAPH_H_
