#include "client/cli/localize/imu_flags.h"

#include <Eigen/Core>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/source/text_file.h"
#include "features/camera/rig.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

// Nothing: a word is no finite number.
std::optional<std::vector<double>> NumbersIn(absl::string_view text) {
  std::vector<double> values;
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" ,;[]\t\n"), absl::SkipEmpty())) {
    values.push_back(0);
    if (!absl::SimpleAtod(word, &values.back()) || !std::isfinite(values.back())) return std::nullopt;
  }
  return values;
}

// The `count` numbers of an option's text.
absl::StatusOr<std::vector<double>> NumbersOf(absl::string_view option, const std::string& text, size_t count) {
  const auto values = NumbersIn(text);
  if (values.has_value() && values->size() == count) return *values;
  return absl::InvalidArgumentError(
      absl::StrCat("option '--", option, "': '", Echo(text), "' is not ", count, " numbers with commas between them"));
}

absl::StatusOr<RigidTransform> ReadTransform(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  const auto values = NumbersIn(text);
  const bool is_square = values.has_value() && values->size() == 16;
  if (!is_square && !(values.has_value() && values->size() == 12)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not the 12 or 16 numbers of [R t], row by row"));
  }
  using Rows = Eigen::Matrix<double, 3, 4, Eigen::RowMajor>;
  const Rows matrix = Eigen::Map<const Rows>(values->data());
  const double* const last = values->data() + values->size() - 4;
  if (is_square && !(last[0] == 0 && last[1] == 0 && last[2] == 0 && last[3] == 1)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": the last row is not 0 0 0 1"));
  }
  const auto rotation = NearestRotation(matrix.leftCols<3>());
  if (!rotation.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", rotation.status().message()));
  return RigidTransform{*rotation, matrix.col(3)};
}

}  // namespace

void ImuFlags::AddTo(Flags* flags) {
  flags->Section("Inertial sensor");
  flags->String(
      "imu", "PATH[,PATH]",
      "Readings of a gyroscope and an accelerometer that are fixed to the camera: lines time,w_x,w_y,w_z,a_x,a_y,a_z "
      "(rad/s, m/s^2) as EuRoC and TUM-VI have them, a folder with such a data.csv, or two files "
      "GYROSCOPE,ACCELEROMETER of lines time,x,y,z. Times are of the pairs' clock, in seconds, milli-, micro- or "
      "nanoseconds. With --bag: a topic, or those of both. Its pose and noise are the calibration's, if that has a "
      "sensor.",
      &paths_);
  flags->String("camera-from-imu", "FILE",
                "With --imu, in place of the calibration's: the 12 or 16 numbers of [R t], row by row, which take "
                "coordinates in the sensor's axes to those of the left camera (of a raw pair the raw one), metres.",
                &camera_from_imu_);
  flags->String(
      "imu-noise", "G,GW,A,AW",
      "With --imu, in place of the calibration's, and in Kalibr's units: noise density and random walk of the "
      "gyroscope, and of the accelerometer (default: those of a good MEMS sensor).",
      &noise_);
  flags->Double("imu-time-offset", "SECONDS",
                "With --imu: time of its clock = time of the pairs + this (default: as the calibration says, else 0).",
                &offset_);
  flags->String(
      "imu-poses", "FILE",
      "With --imu: where the camera was at each of its readings, as the sensor says from the last pair on, in "
      "the form of --trajectory-format tum; from the pair on that the sensor is ready at.",
      &poses_);
  flags->String("imu-range", "RAD/S,M/S2", "With --imu: readings as large as these are saturated; 0: not known.",
                &range_);
}

absl::Status ImuFlags::Validate() const {
  if (given()) return absl::OkStatus();
  for (const auto& [name, has] :
       {std::pair("camera-from-imu", !camera_from_imu_.empty()), std::pair("imu-noise", !noise_.empty()),
        std::pair("imu-time-offset", offset_.has_value()), std::pair("imu-range", !range_.empty()),
        std::pair("imu-poses", !poses_.empty())}) {
    if (has) return absl::InvalidArgumentError(absl::StrCat("option '--", name, "': needs --imu"));
  }
  return absl::OkStatus();
}

absl::StatusOr<client::InertialSensor> ImuFlags::Sensor(
    const std::optional<client::InertialSensor>& of_calibration) const {
  if (!of_calibration.has_value() && camera_from_imu_.empty()) {
    return absl::InvalidArgumentError(
        "option '--imu': the calibration has no inertial sensor; --camera-from-imu FILE says where it is");
  }
  client::InertialSensor imu = of_calibration.value_or(client::InertialSensor());
  if (!camera_from_imu_.empty()) {
    GLINT_ASSIGN_OR_RETURN(imu.camera_from_imu, ReadTransform(camera_from_imu_));
  }
  if (!noise_.empty()) {
    GLINT_ASSIGN_OR_RETURN(const std::vector<double> noise, NumbersOf("imu-noise", noise_, 4));
    imu.gyroscope_noise_density = noise[0];
    imu.gyroscope_random_walk = noise[1];
    imu.accelerometer_noise_density = noise[2];
    imu.accelerometer_random_walk = noise[3];
  }
  if (offset_.has_value()) {
    if (!(std::abs(*offset_) <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("option '--imu-time-offset': ", *offset_, " is not in -1..1"));
    }
    imu.imu_time_minus_camera_time_ns = std::llround(*offset_ * 1e9);
  }
  if (!range_.empty()) {
    GLINT_ASSIGN_OR_RETURN(const std::vector<double> range, NumbersOf("imu-range", range_, 2));
    imu.gyroscope_range = range[0];
    imu.accelerometer_range = range[1];
  }
  return imu;
}

absl::Status ImuFlags::CheckTime(std::optional<absl::Duration> first, const ImuRecording& recording) {
  if (!first.has_value()) {
    return absl::InvalidArgumentError(
        "option '--imu': the names of the pictures are no times; --times FILE or --rate HZ says when pairs were taken");
  }
  constexpr absl::Duration kLongestBefore = absl::Minutes(1);  // that pairs may begin before the readings
  const absl::Duration begin = absl::Nanoseconds(recording.gyroscope.front().time_ns);
  const absl::Duration end = absl::Nanoseconds(recording.gyroscope.back().time_ns);
  if (*first >= begin - kLongestBefore && *first <= end) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("option '--imu': the first pair is of %.3f s, and %s: not of one clock (--times FILE has other "
                      "times of the pairs)",
                      absl::ToDoubleSeconds(*first), recording.Text()));
}

}  // namespace glint::cli
