// What glint localize says of the inertial sensor: columns of its rows, and a line at its end.
#ifndef GLINT_CLIENT_CLI_LOCALIZE_INERTIAL_REPORT_H_
#define GLINT_CLIENT_CLI_LOCALIZE_INERTIAL_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/localization.h"

namespace glint::cli {

// Behind those of every row, with --imu; without READY all but the first and the last are empty.
inline constexpr char kInertialCsvColumns[] =
    ",inertial,vx,vy,vz,gyroscope_bias_x,gyroscope_bias_y,gyroscope_bias_z,accelerometer_bias_x,accelerometer_bias_y,"
    "accelerometer_bias_z,blind_seconds";
std::string InertialColumns(const client::Location& location);

class InertialSummary {
 public:
  void Add(const client::Location& location);
  // One line without its end; empty: no pair has a sensor.
  std::string Text() const;

 private:
  std::optional<client::Inertial> last_, last_ready_;
  int64_t ready_ = 0, left_out_ = 0, pairs_ = 0;
  int64_t coasted_ = 0;  // on the sensor
  double longest_ = 0;   // of these, seconds
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_LOCALIZE_INERTIAL_REPORT_H_
