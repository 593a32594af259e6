// --imu: recorded readings of an inertial sensor, and which of them go with which pair.
#ifndef GLINT_CLIENT_CLI_SOURCE_IMU_FILE_H_
#define GLINT_CLIENT_CLI_SOURCE_IMU_FILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/localization.h"

namespace glint::cli {

inline constexpr double kLargestReading = 1e6;  // that a server takes, rad/s and m/s^2

struct ImuRow {
  int64_t time_ns = 0;  // of the file's clock
  std::array<double, 3> value = {};
};

// By time. At least two readings of each.
struct ImuRecording {
  std::string name;                   // of the files
  std::vector<ImuRow> gyroscope;      // rad/s
  std::vector<ImuRow> accelerometer;  // m/s^2

  double rate() const;  // readings a second, of the gyroscope
  // "imu0/data.csv: 36382 readings of 1403636579.759 to 1403636761.664 s, 200.0 Hz".
  std::string Text() const;
};

// A file of lines "time,w_x,w_y,w_z,a_x,a_y,a_z" (EuRoC, TUM-VI and other ASL data sets), or its folder, or the one
// that has imu0/; or two files of four columns, the gyroscope's and the accelerometer's. Columns are separated by
// commas, blanks or tabs; '#' begins a comment, and the first line may be a header, which must not say another order.
// Lines may be in any order. Times are seconds, or counts of milli-, micro- or nanoseconds, whichever makes the usual
// step that of a sensor of 10 to 10000 Hz. NOT_FOUND; INVALID_ARGUMENT begins with file and line.
absl::StatusOr<ImuRecording> ReadImu(const std::string& paths);

// Times of pairs: the first number of each line, nanoseconds; comments, a header and units as ReadImu() has them, of 1
// to 1000 pairs a second. Errors as there; also times that do not ascend.
absl::StatusOr<std::vector<int64_t>> ReadTimes(const std::string& path);

// Hands out a recording's readings in their order. Thread-compatible.
class ImuFeed {
 public:
  static constexpr size_t kMost = 4096;                     // of each sensor in a message
  static constexpr int64_t kLongestBefore = 1'000'000'000;  // of the first image's time, ns: earlier ones are left out

  ImuFeed() = default;
  // `offset_ns`: time of the recording = time of the images + this.
  ImuFeed(ImuRecording recording, int64_t offset_ns) : recording_(std::move(recording)), offset_ns_(offset_ns) {}

  // Those that are due with an image of this time: what came since the last call, and of each sensor one reading at the
  // image's time or later. One message or more, the last of which may be empty; valid until the next call.
  const std::vector<client::ImuReadings>& Until(int64_t image_time_ns);

 private:
  ImuRecording recording_;
  int64_t offset_ns_ = 0;
  bool begun_ = false;
  size_t next_gyroscope_ = 0, next_accelerometer_ = 0;
  std::vector<client::ImuReadings> due_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_IMU_FILE_H_
