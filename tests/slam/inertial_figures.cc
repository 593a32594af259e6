#include "tests/slam/inertial_figures.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace glint::slam {
namespace {

constexpr double kDegrees = 57.29577951308232;
constexpr double kNear = 0.2;         // metres
constexpr double kRestSpeed = 0.005;  // m/s
constexpr size_t kRest = 10;          // frames

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Counts values, and those within 3 of 0.
struct Share {
  void Add(double value) {
    ++all;
    within += std::fabs(value) <= 3 ? 1 : 0;
  }
  std::optional<double> value() const {
    return all > 0 ? std::optional<double>(static_cast<double>(within) / all) : std::nullopt;
  }
  int all = 0, within = 0;
};

void AddPaths(const DriveRecord& record, InertialFigures* figures) {
  std::map<int32_t, int> located;
  for (const LocalizerResult& r : record.results) located[r.map_id] += IsLocated(r) ? 1 : 0;
  figures->maps = static_cast<int>(located.size());
  int32_t main = 0;
  for (const auto& [map, count] : located) {
    if (count > figures->located) main = map, figures->located = count;
  }
  std::vector<Pose> path, truth;
  for (size_t i = 0; i < record.results.size(); ++i) {
    if (!IsLocated(record.results[i]) || record.results[i].map_id != main) continue;
    path.push_back(record.path[i]);
    truth.push_back(record.truth[i]);
  }
  if (path.size() < 2) return;
  const PathErrors errors = ComparePaths(path, truth);
  figures->length = errors.length;
  figures->absolute = errors.absolute;
  figures->end = errors.end;
  Eigen::Matrix3Xd from(3, static_cast<Eigen::Index>(path.size())), to = from;
  for (size_t i = 0; i < path.size(); ++i) {
    from.col(static_cast<Eigen::Index>(i)) = path[i].translation;
    to.col(static_cast<Eigen::Index>(i)) = truth[i].translation;
  }
  const Eigen::Matrix4d true_from_found = Eigen::umeyama(from, to, false);
  for (size_t i = 0; i < path.size(); ++i) {
    const Eigen::Vector3d at = (true_from_found * path[i].translation.homogeneous()).head<3>();
    figures->near += (at - truth[i].translation).norm() < kNear ? 1 : 0;
  }
}

// The frames from `first` on that are not located; the one before is.
BlindSpan SpanFrom(const DriveRecord& record, size_t first) {
  BlindSpan span;
  const Pose found_from_true = record.path[first - 1] * record.truth[first - 1].Inverse();
  size_t i = first;
  for (; i < record.results.size() && !IsLocated(record.results[i]); ++i) {
    // Of a left increment of camera_from_world: axes of the camera.
    const Pose difference = (found_from_true * record.truth[i]).Inverse() * record.path[i];
    const Eigen::Matrix3d covariance = record.results[i].covariance.bottomRightCorner<3, 3>();
    span.error = difference.translation.norm();
    span.turned = AngleOf(difference.rotation);
    span.sigmas = 0;
    span.is_dark = span.is_dark || record.is_dark[i];
    if (covariance.trace() <= 0) continue;
    span.sigmas = std::sqrt(difference.translation.dot(covariance.inverse() * difference.translation) / 3);
    for (int axis = 0; axis < 3; ++axis) {
      span.normalized.push_back(difference.translation[axis] / std::sqrt(covariance(axis, axis)));
    }
  }
  span.from = record.seconds[first];
  span.seconds = record.seconds[i - 1] - record.seconds[first - 1];
  for (size_t k = i; k < record.results.size() && span.until_tracking < 0; ++k) {
    if (record.results[k].status == TrackingStatus::kTracking) span.until_tracking = static_cast<int>(k - i);
  }
  return span;
}

void AddMotions(const DriveRecord& record, const Eigen::Vector3d& up, InertialFigures* figures) {
  std::vector<double> rotation, position;
  Share velocities;
  double squares = 0;
  for (size_t i = 0; i < record.results.size(); ++i) {
    const LocalizerResult& r = record.results[i];
    const Eigen::Quaterniond found_from_true = record.path[i].rotation * record.truth[i].rotation.conjugate();
    if (r.inertial.is_level && r.status != TrackingStatus::kLost) {
      const Eigen::Vector3d found_up = found_from_true * up;
      figures->largest_tilt = std::max(figures->largest_tilt, std::atan2(found_up.head<2>().norm(), found_up.z()));
    }
    figures->left_out += r.inertial.status == InertialStatus::kLeftOut ? 1 : 0;
    if (r.inertial.status != InertialStatus::kReady) continue;
    if (!figures->first_ready.has_value()) figures->first_ready = record.seconds[i] - record.seconds[0];
    ++figures->ready;
    if (r.inertial.rotation_innovation > 0) rotation.push_back(r.inertial.rotation_innovation);
    if (r.inertial.position_innovation > 0) position.push_back(r.inertial.position_innovation);
    const ImuMotion &found = r.inertial.motion, &truth = record.motion[i];
    // In the camera's axes, so that the world's drift is no part of it.
    const Eigen::Vector3d error =
        record.path[i].rotation.conjugate() * found.velocity - record.truth[i].rotation.conjugate() * truth.velocity;
    squares += error.squaredNorm();
    for (int axis = 0; axis < 3 && r.inertial.velocity_sigma > 0; ++axis) {
      velocities.Add(error[axis] / r.inertial.velocity_sigma);
    }
    figures->gyroscope_error = (found.bias.gyroscope - truth.bias.gyroscope).norm();
    figures->accelerometer_error = (found.bias.accelerometer - truth.bias.accelerometer).norm();
    figures->gyroscope_sigma = r.inertial.gyroscope_bias_sigma;
    figures->accelerometer_sigma = r.inertial.accelerometer_bias_sigma;
  }
  figures->rotation_innovation = Median(rotation);
  figures->position_innovation = Median(position);
  figures->velocities_within = velocities.value();
  if (figures->ready > 0) figures->velocity_error = std::sqrt(squares / figures->ready);
}

void AddRest(const DriveRecord& record, InertialFigures* figures) {
  size_t begin = 0;
  double farthest = 0;
  for (size_t i = 1; i < record.path.size(); ++i) {
    const double step = (record.truth[i].translation - record.truth[i - 1].translation).norm();
    if (step > kRestSpeed * (record.seconds[i] - record.seconds[i - 1])) {
      begin = i;
      farthest = 0;
      continue;
    }
    farthest = std::max(farthest, (record.path[i].translation - record.path[begin].translation).norm());
    if (i - begin >= kRest) figures->rest_drift = std::max(figures->rest_drift, farthest);
  }
}

double PercentileOf(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A run, as a column of the table.
struct Column {
  const char* name;
  const DriveRecord* record;
  InertialFigures figures;
};
using Columns = std::vector<Column>;

template <typename Text>
void Row(const char* name, const Columns& columns, Text text) {
  std::printf("%-44s", name);
  for (const Column& column : columns) std::printf(" %18s", std::string(text(column)).c_str());
  std::printf("\n");
}

std::string Percent(const std::optional<double>& share) {
  return share.has_value() ? absl::StrFormat("%.1f %%", 100 * *share) : "-";
}

void PrintPaths(const Columns& columns) {
  std::set<TrackingStatus> statuses;
  for (const Column& c : columns) {
    for (const auto& [status, count] : c.record->statuses) statuses.insert(status);
  }
  for (const TrackingStatus status : statuses) {
    Row(NameOf(status), columns, [&](const Column& c) {
      const auto found = c.record->statuses.find(status);
      return absl::StrCat(found == c.record->statuses.end() ? 0 : found->second);
    });
  }
  Row("maps", columns, [](const Column& c) { return absl::StrCat(c.figures.maps); });
  Row("loops", columns, [](const Column& c) { return absl::StrCat(c.record->loops); });
  Row("located in the largest map", columns, [](const Column& c) { return absl::StrCat(c.figures.located); });
  Row("of them within 0.2 m", columns, [](const Column& c) { return absl::StrCat(c.figures.near); });
  Row("length of that path, m", columns, [](const Column& c) { return absl::StrFormat("%.2f", c.figures.length); });
  Row("ATE of it, m", columns, [](const Column& c) { return absl::StrFormat("%.4f", c.figures.absolute); });
  Row("its end against its first frame, m", columns,
      [](const Column& c) { return absl::StrFormat("%.4f", c.figures.end); });
  Row("TRACKING, off by 3 sigma and 1 % of the way", columns, [](const Column& c) {
    const DriveRecord::Claims claims = c.record->TrackingClaims();
    return absl::StrFormat("%d of %d", claims.wrong, claims.all);
  });
  for (const bool is_corrected : {false, true}) {
    Row(is_corrected ? "the same, corrected by what moved the world" : "error of a step, RMS, mm", columns,
        [is_corrected](const Column& c) { return absl::StrFormat("%.2f", 1e3 * c.record->StepError(is_corrected)); });
  }
  Row("farthest while at rest, mm", columns,
      [](const Column& c) { return absl::StrFormat("%.2f", 1e3 * c.figures.rest_drift); });
  Row("blind positions within 3 sigma", columns, [](const Column& c) { return Percent(c.figures.positions_within); });
  for (const auto& [name, share] : {std::pair("time of a pair, median, ms", 0.5), std::pair("99th percentile", 0.99)}) {
    const double of = share;
    Row(name, columns, [of](const Column& c) { return absl::StrFormat("%.2f", PercentileOf(c.record->total_ms, of)); });
  }
}

// `columns` have a sensor.
void PrintMotions(const Columns& columns) {
  using absl::StrFormat;
  Row("sensor ready after, s", columns, [](const Column& c) {
    return c.figures.first_ready.has_value() ? StrFormat("%.2f", *c.figures.first_ready) : "never";
  });
  Row("frames: sensor ready, left out", columns,
      [](const Column& c) { return absl::StrCat(c.figures.ready, ", ", c.figures.left_out); });
  Row("largest tilt, degrees", columns,
      [](const Column& c) { return StrFormat("%.3f", kDegrees * c.figures.largest_tilt); });
  Row("velocity, RMS error, m/s", columns, [](const Column& c) { return StrFormat("%.4f", c.figures.velocity_error); });
  Row("velocities within 3 sigma", columns, [](const Column& c) { return Percent(c.figures.velocities_within); });
  Row("last gyroscope bias: error, sigma, rad/s", columns,
      [](const Column& c) { return StrFormat("%.5f, %.5f", c.figures.gyroscope_error, c.figures.gyroscope_sigma); });
  Row("last accelerometer bias: error, sigma, m/s2", columns, [](const Column& c) {
    return StrFormat("%.4f, %.4f", c.figures.accelerometer_error, c.figures.accelerometer_sigma);
  });
  Row("innovations, median: rotation, position", columns, [](const Column& c) {
    return StrFormat("%.2f, %.2f", c.figures.rotation_innovation, c.figures.position_innovation);
  });
}

void PrintEvents(const Column& column) {
  for (const BlindSpan& span : column.figures.blind) {
    std::printf("%s: %s at %.2f s for %.2f s: end off %.3f m, %.2f degrees, %.2f sigma; tracking after %d frames\n",
                column.name, span.is_dark ? "dark" : "blind", span.from, span.seconds, span.error,
                kDegrees * span.turned, span.sigmas, span.until_tracking);
  }
  std::set<WarningKind> told;
  for (size_t i = 0; i < column.record->results.size(); ++i) {
    for (const Warning& w : column.record->results[i].warnings) {
      if (told.insert(w.kind).second) std::printf("%s: frame %zu: %s\n", column.name, i, w.text.c_str());
    }
  }
}

}  // namespace

InertialFigures FiguresOf(const DriveRecord& record, const Eigen::Vector3d& up) {
  InertialFigures figures;
  AddPaths(record, &figures);
  Share positions;
  for (size_t i = 1; i < record.results.size(); ++i) {
    if (IsLocated(record.results[i]) || !IsLocated(record.results[i - 1])) continue;
    figures.blind.push_back(SpanFrom(record, i));
    for (const double value : figures.blind.back().normalized) positions.Add(value);
  }
  figures.positions_within = positions.value();
  AddMotions(record, up, &figures);
  AddRest(record, &figures);
  return figures;
}

void PrintFigures(const DriveRecord& vision, const DriveRecord* inertial, const Eigen::Vector3d& up) {
  Columns columns = {{"vision alone", &vision, FiguresOf(vision, up)}};
  if (inertial != nullptr) columns.push_back({"with IMU", inertial, FiguresOf(*inertial, up)});
  Row("", columns, [](const Column& c) { return c.name; });
  PrintPaths(columns);
  if (inertial != nullptr) {
    std::printf("with IMU:\n");
    PrintMotions({columns[1]});
  }
  for (const Column& column : columns) PrintEvents(column);
}

}  // namespace glint::slam
