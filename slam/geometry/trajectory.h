// Errors of a trajectory beside the true one; files of KITTI.
#ifndef GLINT_SLAM_GEOMETRY_TRAJECTORY_H_
#define GLINT_SLAM_GEOMETRY_TRAJECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

struct PathErrors {
  double length = 0;          // of the true path, metres
  double end = 0;             // distance of the last positions, first poses put upon each other, metres
  double absolute = 0;        // ATE: root mean square of distances after the best rigid alignment, metres
  double relative = 0;        // RPE of neighbours: root mean square, metres
  double relative_angle = 0;  // likewise, radians
};

// Two paths of the same moments, world from camera. Both must have the same number of poses, at least 2.
PathErrors ComparePaths(const std::vector<Pose>& path, const std::vector<Pose>& truth);

// KITTI's format: a line of 12 numbers for each pose, rows of the 3x4 matrix (rotation, translation), world from
// camera. NOT_FOUND: no such file. INVALID_ARGUMENT: names the line.
absl::StatusOr<std::vector<Pose>> ReadKittiPoses(const std::string& path);
std::string KittiLine(const Pose& pose);

}  // namespace glint::slam

#endif  // GLINT_SLAM_GEOMETRY_TRAJECTORY_H_
