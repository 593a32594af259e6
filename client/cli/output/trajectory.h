// Trajectories: as files, and beside the truth.
#ifndef GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_
#define GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/localization.h"

namespace glint::cli {

// A pose at a time, seconds.
struct TimedPose {
  double seconds = 0;
  client::CameraPose pose;
};

enum class TrajectoryFormat { kTum, kKitti };

// A line of a file, with its end: "seconds x y z qx qy qz qw", or the 12 numbers of [R t], row by row.
std::string TrajectoryLine(const TimedPose& pose, TrajectoryFormat format);

// Such a file, of either format. Those of KITTI have no times: they are `period` apart, from 0 on. '#' begins a
// comment. NOT_FOUND; INVALID_ARGUMENT names file and line.
absl::StatusOr<std::vector<TimedPose>> ReadTrajectory(const std::string& path, double period);

// A report for people: length, end error, ATE after the best rigid alignment, RPE of neighbours, and KITTI's errors
// over lengths of 100 to 800 m. Poses of the same moment, within half of `period`, are compared. FAILED_PRECONDITION:
// fewer than two of them.
absl::StatusOr<std::string> CompareWithTruth(const std::vector<TimedPose>& path, const std::vector<TimedPose>& truth,
                                             double period);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_
