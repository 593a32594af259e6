// Pose graphs of a known truth.
#ifndef GLINT_TESTS_SLAM_NOISY_GRAPH_H_
#define GLINT_TESTS_SLAM_NOISY_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slam/adjust/pose_graph.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

struct NoisyGraph {
  std::vector<Pose> truth;  // camera from world
  PoseGraph graph;          // poses are what the edges between neighbours add up to
};

// A camera that goes round a square of 30 m a side on hilly ground, `keyframes` of 1 m. Edges join neighbours, and from
// the second round on a keyframe and the one before it in the same place; all have noise of their standard deviations.
// Every `bad`th loop is off by 3 m and 0.1 rad, which is hundreds of deviations (0: none).
NoisyGraph MakeNoisyGraph(size_t keyframes, size_t bad, uint32_t seed);

// The root mean square of the cameras' distances from the truth, metres.
double PositionError(const NoisyGraph& noisy);

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_NOISY_GRAPH_H_
