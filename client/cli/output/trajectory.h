// Trajectories: as files, and beside the truth.
#ifndef GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_
#define GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/localization.h"

namespace glint::cli {

// Where the camera was at a pair.
struct TimedPose {
  double seconds = 0;
  client::CameraPose pose;
  int64_t number = 0;   // of the pair in its drive, from 0 on
  bool located = true;  // else `pose` is none: what the pair shows was not found, or it has no answer
  int map_id = 0;       // that `pose` is in
  bool level = false;   // Inertial::level: of another world than the poses of the same map before
};

// What poses must have in common to be compared.
struct World {
  int map_id = 0;
  bool level = false;
};
// The world that most of the located pairs are in; of several the lowest map's, not level.
World MainWorld(const std::vector<TimedPose>& path);

enum class TrajectoryFormat { kTum, kKitti };

// The lines of a trajectory's file. Thread-compatible.
//   TUM    "seconds x y z qx qy qz qw" of each pair that was located.
//   KITTI  The 12 numbers of [R t], row by row. The line is the time: line n, from 0 on, is pair n. A pair that was not
//          located, or has no answer, has a line of twelve "nan".
class TrajectoryLines {
 public:
  explicit TrajectoryLines(TrajectoryFormat format) : format_(format) {}
  // What the file goes on with, none, one or several lines with their ends. Pairs come in ascending order of `number`.
  std::string Add(const TimedPose& at);

 private:
  const TrajectoryFormat format_;
  int64_t next_ = 0;  // KITTI: the pair of the next line
};

struct Trajectory {
  std::string name;  // of its file
  TrajectoryFormat format = TrajectoryFormat::kTum;
  std::vector<TimedPose> poses;  // TUM: ascending in time; KITTI: in `number` (the line), without `seconds`
  bool of_imu = false;           // poses are the inertial sensor's: EuRoC's and TUM-VI's body
  bool of_raw_camera = false;    // the left camera's as it is, before rectification turns it
  bool has_gaps = false;         // it may be of parts of the drive alone
};

// A file of either format, in UTF-8 with or without a byte order mark, with line ends of any system. '#' begins a
// comment; lines of TUM may be in any order; those of twelve "nan" have no pose, and count. Also the data.csv of ASL
// data sets, in the form of TUM: nanoseconds, p_RS_R x y z, q_RS w x y z, and what follows, by its header or its 17
// columns; it is `of_imu`. NOT_FOUND; INVALID_ARGUMENT names file and line, or says that there is no pose.
absl::StatusOr<Trajectory> ReadTrajectory(const std::string& path);

// Makes poses of a body those of a camera that is fixed to it.
void MoveTo(const RigidTransform& body_from_camera, Trajectory* trajectory);

// A report for people: how many poses were compared, of how many, and over which ranges of both; length, end error, ATE
// after the best rigid alignment, RPE of neighbours, and KITTI's errors over lengths of 100 to 800 m. Pairs that were
// located are compared: with the pose of TUM that is nearest in time, at most half the path's median step away, and
// with the line of KITTI that has their number. FAILED_PRECONDITION names both ranges: under half of the located pairs
// (unless the truth has gaps), or fewer than two, have a true pose.
absl::StatusOr<std::string> CompareWithTruth(const std::vector<TimedPose>& path, const Trajectory& truth);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_TRAJECTORY_H_
