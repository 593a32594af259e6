#include "client/cli/localize/inertial_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace glint::cli {
namespace {

std::string Components(const std::array<double, 3>& v) { return absl::StrFormat("%.5g %.5g %.5g", v[0], v[1], v[2]); }

}  // namespace

std::string InertialColumns(const client::Location& location) {
  if (!location.inertial.has_value()) return ",,,,,,,,,,,";
  const client::Inertial& imu = *location.inertial;
  std::string columns = absl::StrCat(",", NameOf(imu.status));
  for (const auto* vector : {&imu.velocity, &imu.gyroscope_bias, &imu.accelerometer_bias}) {
    for (const double v : *vector) {
      if (imu.status == client::InertialStatus::kReady) {
        absl::StrAppendFormat(&columns, ",%.17g", v);
      } else {
        columns += ',';
      }
    }
  }
  return columns + absl::StrFormat(",%.6g", imu.blind_seconds);
}

void InertialSummary::Add(const client::Location& location) {
  if (!location.inertial.has_value()) return;
  ++pairs_;
  last_ = location.inertial;
  const bool is_ready = last_->status == client::InertialStatus::kReady;
  if (is_ready) last_ready_ = last_;
  ready_ += is_ready ? 1 : 0;
  left_out_ += last_->status == client::InertialStatus::kLeftOut ? 1 : 0;
  if (location.status != client::LocationStatus::kCoasting || !location.has_covariance) return;
  ++coasted_;
  longest_ = std::max(longest_, last_->blind_seconds);
}

std::string InertialSummary::Text() const {
  if (!last_.has_value()) return "";
  std::string text = absl::StrFormat("imu: %s; %d of %d pairs with it ready", NameOf(last_->status), ready_, pairs_);
  if (left_out_ > 0)
    absl::StrAppend(&text, ", ", left_out_, " without it, since it contradicts the images or is silent");
  if (coasted_ > 0) absl::StrAppendFormat(&text, "; %d coasted on it, up to %.2f s", coasted_, longest_);
  if (last_ready_.has_value()) {
    absl::StrAppendFormat(&text, "; bias: gyroscope %s rad/s, +-%.2g, accelerometer %s m/s^2, +-%.2g",
                          Components(last_ready_->gyroscope_bias), last_ready_->gyroscope_bias_sigma,
                          Components(last_ready_->accelerometer_bias), last_ready_->accelerometer_bias_sigma);
  }
  const client::ImuReceived& r = last_->readings;
  absl::StrAppend(&text, "; ", r.received, " readings");
  for (const auto& [name, count] :
       {std::pair("late", r.late), std::pair("duplicate", r.duplicate), std::pair("unsorted", r.unsorted),
        std::pair("missing", r.missing), std::pair("saturated", r.saturated), std::pair("frozen", r.frozen),
        std::pair("dropped", r.dropped)}) {
    if (count > 0) absl::StrAppend(&text, ", ", count, " ", name);
  }
  return text;
}

}  // namespace glint::cli
