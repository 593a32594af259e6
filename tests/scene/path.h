// A camera's path through time: read from a file, asked for in between.
#ifndef GLINT_TESTS_SCENE_PATH_H_
#define GLINT_TESTS_SCENE_PATH_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/scene/geometry.h"

namespace glint::scene {

struct TimedPose {
  double seconds = 0;
  Pose pose;
  std::string text;  // the line that it was read from
};

// Times ascend.
using Path = std::vector<TimedPose>;

// A text file of lines "t x y z qx qy qz qw" (seconds, metres, a quaternion of any length but 0): the camera (x right,
// y down, z ahead) in the world. Lines that begin with # are skipped, and so are poses
// less than 1 ms after the last one, as recorders write them now and then. INVALID_ARGUMENT names file, line and
// reason.
absl::StatusOr<Path> ReadPath(const std::string& file);

// Quaternions are x, y, z, w. Of any length but 0.
Mat3 RotationOf(const std::array<double, 4>& quaternion);
// Of length 1.
std::array<double, 4> QuaternionOf(const Mat3& rotation);

// Between two poses positions are linear, and so are quaternions before they are normalised; outside the path: its
// ends. `path` has one pose or more.
Pose PoseAtTime(const Path& path, double seconds);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_PATH_H_
