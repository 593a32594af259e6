// Folders of public data sets as sources of pairs: which pictures belong together and when they were taken, and where
// calibration, inertial readings and truth are. docs/datasets.md lists the layouts.
#ifndef GLINT_CLIENT_CLI_SOURCE_DATASET_H_
#define GLINT_CLIENT_CLI_SOURCE_DATASET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/source/pairs.h"
#include "client/cli/source/picture.h"

namespace glint::cli {

struct DataSetPair {
  std::string left, right;             // files; of a set with depths `right` has them
  std::optional<absl::Duration> time;  // of the set's clock, of all pairs or of none
  int64_t number = 0;                  // the frame's in the set, as lines of KITTI's truth count; else the pair's
};

// What is beside the pictures. An empty path: the set has none.
struct DataSetPart {
  std::string path;  // as the option of glint localize takes it
  std::string name;  // for people
};

struct DataSet {
  std::string layout;              // "EuRoC"
  std::string left, right;         // what the set calls its cameras: "cam0"
  std::vector<DataSetPair> pairs;  // at least one, ascending in time
  bool depth = false;
  double depth_unit = 0;    // metres, of a set with depths
  DataSetPart calibration;  // of the cameras, in their order, that are called `cameras` (empty: no names)
  std::string cameras;
  std::string no_calibration;  // without: why, and what would be one
  DataSetPart imu, truth;
  bool truth_of_first = false;     // KITTI: the truth is camera 0's, and `left` is another one
  bool truth_has_gaps = false;     // it may be of parts of the drive alone
  std::vector<std::string> notes;  // for people: what was left out or assumed
};

// The data set in a folder. Nothing: it is no folder of a layout that Glint knows. NOT_FOUND and INVALID_ARGUMENT begin
// with a path: what belongs to the layout and is not there, files that cannot be read, no picture with a partner,
// several layouts in one folder.
absl::StatusOr<std::optional<DataSet>> FindDataSet(const std::string& folder);

// "EuRoC: 100 pairs of cam0 and cam1, 200 Hz IMU of imu0, truth of state_groundtruth_estimate0". `imu_hz`: of the
// readings, if they were read.
std::string TextOf(const DataSet& set, std::optional<double> imu_hz);

// Its pairs.
PairSource OpenDataSet(const DataSet& set, SendFormat format);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_DATASET_H_
