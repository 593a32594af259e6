#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ros2/convert/messages.h"

namespace glint::ros2 {
namespace {

using ros::DiagnosticStatus;

// Of a pair's status: a sentence, a level.
struct Verdict {
  const char* sentence;
  std::byte level;
};

Verdict VerdictOf(client::LocationStatus status) {
  switch (status) {
    case client::LocationStatus::kInitializing:
      return {"no map yet: too little that both cameras see", DiagnosticStatus::kWarn};
    case client::LocationStatus::kTracking:
      return {"located", DiagnosticStatus::kOk};
    case client::LocationStatus::kCoasting:
      return {"not located: the last motion goes on", DiagnosticStatus::kWarn};
    case client::LocationStatus::kLost:
      return {"not located: lost", DiagnosticStatus::kError};
    case client::LocationStatus::kRelocalized:
      return {"located again", DiagnosticStatus::kOk};
    case client::LocationStatus::kNewMap:
      return {"located in a map that begins here: the one before is not in view", DiagnosticStatus::kWarn};
  }
  return {"not located: a status that is not known", DiagnosticStatus::kError};
}

class Figures {
 public:
  explicit Figures(std::vector<ros::KeyValue>* values) : values_(*values) {}

  void Add(absl::string_view key, std::string value) { values_.push_back({std::string(key), std::move(value)}); }
  void Add(absl::string_view key, int64_t value) { Add(key, absl::StrCat(value)); }
  void Add(absl::string_view key, double value) { Add(key, absl::StrFormat("%.6g", value)); }
  void Add(absl::string_view key, bool value) { Add(key, std::string(value ? "yes" : "no")); }
  void AddMilliseconds(absl::string_view stage, int64_t ns) {
    Add(absl::StrCat(stage, " (ms)"), absl::StrFormat("%.3f", 1e-6 * static_cast<double>(ns)));
  }

 private:
  std::vector<ros::KeyValue>& values_;
};

void AddInertial(const client::Inertial& inertial, Figures* figures) {
  figures->Add("imu", std::string(NameOf(inertial.status)));
  figures->Add("level", inertial.level);
  if (inertial.status == client::InertialStatus::kReady) {
    for (const auto& [key, v] : {std::pair("imu velocity (m/s)", &inertial.velocity),
                                 std::pair("gyroscope bias (rad/s)", &inertial.gyroscope_bias),
                                 std::pair("accelerometer bias (m/s^2)", &inertial.accelerometer_bias)}) {
      figures->Add(key, absl::StrFormat("%.6g %.6g %.6g", (*v)[0], (*v)[1], (*v)[2]));
    }
    figures->Add("velocity sigma (m/s)", inertial.velocity_sigma);
  }
  figures->Add("rotation innovation", inertial.rotation_innovation);
  figures->Add("position innovation", inertial.position_innovation);
  figures->Add("without images (s)", inertial.blind_seconds);
  figures->Add("ahead of readings", inertial.ahead_of_readings);
  const client::ImuReceived& r = inertial.readings;
  for (const auto& [key, count] :
       {std::pair("imu readings", r.received), std::pair("imu readings late", r.late),
        std::pair("imu readings duplicate", r.duplicate), std::pair("imu readings unsorted", r.unsorted),
        std::pair("imu readings missing", r.missing), std::pair("imu readings saturated", r.saturated),
        std::pair("imu readings frozen", r.frozen), std::pair("imu readings dropped", r.dropped)}) {
    figures->Add(key, count);
  }
}

void AddTimings(const client::LocalizeAnswer& answer, Figures* figures) {
  const client::Timings& t = answer.timings;
  for (const auto& [stage, ns] :
       {std::pair("receive", t.receive_ns), std::pair("queue", t.queue_ns), std::pair("decode", t.decode_ns),
        std::pair("upload", t.upload_ns), std::pair("detect", t.detect_ns), std::pair("match", t.match_ns),
        std::pair("locate", t.locate_ns), std::pair("adjust", t.adjust_ns), std::pair("download", t.download_ns),
        std::pair("serialize", t.serialize_ns), std::pair("order", t.order_ns), std::pair("server", t.total_ns)}) {
    figures->AddMilliseconds(stage, ns);
  }
  figures->AddMilliseconds("round trip", absl::ToInt64Nanoseconds(answer.round_trip));
  figures->Add("device", t.device);
}

}  // namespace

ros::DiagnosticStatus DiagnosticOf(const std::string& name, const client::LocalizeAnswer& answer) {
  DiagnosticStatus status;
  status.name = name;
  Figures figures(&status.values);
  if (!answer.status.ok()) {
    const bool is_dropped = answer.drop_reason != client::DropReason::kNone;
    status.level = is_dropped ? DiagnosticStatus::kWarn : DiagnosticStatus::kError;
    status.message = absl::StrCat(is_dropped ? "dropped: " : "failed: ", answer.status.message());
    figures.Add("status", std::string(is_dropped ? "DROPPED" : "FAILED"));
    return status;
  }
  const client::Location& l = answer.location;
  const Verdict verdict = VerdictOf(l.status);
  status.level = verdict.level;
  status.message = verdict.sentence;
  figures.Add("status", std::string(NameOf(l.status)));
  const bool is_left_out = l.inertial.has_value() && l.inertial->status == client::InertialStatus::kLeftOut;
  if (status.level == DiagnosticStatus::kOk && (!l.warnings.empty() || l.map_full || is_left_out)) {
    status.level = DiagnosticStatus::kWarn;
  }
  for (size_t i = 0; i < l.warnings.size(); ++i) {
    absl::StrAppend(&status.message, "; ", l.warnings[i].text);
    figures.Add(absl::StrCat("warning ", i + 1), l.warnings[i].text);
  }
  if (l.map_full) absl::StrAppend(&status.message, "; the map is full");
  if (is_left_out) absl::StrAppend(&status.message, "; the inertial sensor is left out");
  figures.Add("keypoints", int64_t{l.keypoints});
  figures.Add("matches", int64_t{l.matches});
  figures.Add("inliers", int64_t{l.inliers});
  figures.Add("reprojection error (px)", l.reprojection_error);
  figures.Add("stereo keypoints", int64_t{l.calibration.stereo_keypoints});
  figures.Add("speed (m/s)", l.calibration.speed);
  figures.Add("loop closed", l.loop_closed);
  figures.Add("map", int64_t{l.map_id});
  figures.Add("map keyframes", int64_t{answer.map_keyframes});
  figures.Add("map points", int64_t{answer.map_points});
  figures.Add("map full", l.map_full);
  if (l.inertial.has_value()) AddInertial(*l.inertial, &figures);
  AddTimings(answer, &figures);
  return status;
}

}  // namespace glint::ros2
