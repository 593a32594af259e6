// How well an adjusted local map knows the rotation of the rig.
#ifndef GLINT_SLAM_RIG_UNCERTAINTY_H_
#define GLINT_SLAM_RIG_UNCERTAINTY_H_

#include <Eigen/Core>

#include "slam/local_adjustment.h"

namespace glint::slam {

// Standard deviations of rig_rotation, radians, where points and keyframes are unknown, too: the rig's part of the
// inverse of the normal equations, from which points, then keyframes are eliminated (Schur complements). False sights
// do not count. The prior's where the equations cannot be solved.
Eigen::Vector3d RigUncertainty(const AdjustmentOptions& options, const LocalProblem& adjusted);

}  // namespace glint::slam

#endif  // GLINT_SLAM_RIG_UNCERTAINTY_H_
