// How uncertain the keyframes of a map are relative to its first one: its drift.
#ifndef GLINT_SLAM_MAP_DRIFT_H_
#define GLINT_SLAM_MAP_DRIFT_H_

#include <Eigen/Core>
#include <cstdint>

#include "slam/estimate/pose_uncertainty.h"
#include "slam/map/global_map.h"

namespace glint::slam {

// Along the way from the first keyframe of the map, over parents and loops either way, whose position is the least
// uncertain at its end (Dijkstra): what other ways add is left out, so that it is rather too uncertain. The keyframe is
// in the map. Where no way leads, as if it was measured from the first one by odometry. `rig_sigma`: see RigSigma().
// Takes as long as the map has keyframes, log-linearly. Thread-safe.
PoseUncertainty DriftOf(const GlobalMap& map, int64_t keyframe, const Eigen::Vector3d& rig_sigma);

// The same as an anchor.
PoseAnchor AnchorAt(const GlobalMap& map, int64_t keyframe, const Eigen::Vector3d& rig_sigma);

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_DRIFT_H_
