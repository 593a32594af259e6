#include "client/cli/calibration/rig_report.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibration/formats/format.h"
#include "calibration/other_lenses.h"
#include "client/cli/output/output.h"
#include "features/camera/camera.h"
#include "features/camera/rectification.h"

namespace glint::cli {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kDegreesPerRadian = 57.29577951308232;

std::string TitleOf(const std::string& format) {
  for (const calibration::Format& known : calibration::Formats()) {
    if (format == known.name) return known.title;
  }
  return format;
}

RigidTransform FirstFromOther(const Rig& rig, const RigidTransform& rig_from_other) {
  return rig.cameras[0].rig_from_camera.Inverse() * rig_from_other;
}

double TurnOf(const Eigen::Matrix3d& rotation) { return kDegreesPerRadian * Eigen::AngleAxisd(rotation).angle(); }

std::string CameraText(const RigCamera& rig_camera) {
  const Camera& camera = rig_camera.camera;
  const bool has_size = camera.image.width > 0;
  std::string text = absl::StrFormat(
      "%s: %s, %s\n  fx %.6g fy %.6g cx %.6g cy %.6g pixels", rig_camera.name,
      has_size ? absl::StrFormat("%dx%d", camera.image.width, camera.image.height) : "image size not given (--size)",
      calibration::LensText(camera), camera.fx, camera.fy, camera.cx, camera.cy);
  if (has_size) {
    absl::StrAppendFormat(&text, ", field of view %.1f x %.1f degrees", FieldOfView(camera, false),
                          FieldOfView(camera, true));
  }
  return text + "\n";
}

std::string PoseText(const std::string& name, const std::string& first, const RigidTransform& pose) {
  const Vector3d& at = pose.translation;
  return absl::StrFormat("%s: %.6g m from %s, at %.6g right, %.6g down, %.6g ahead, turned by %.2f degrees\n", name,
                         at.norm(), first, at.x(), at.y(), at.z(), TurnOf(pose.rotation));
}

std::string ImuText(const Rig& rig) {
  const RigImu& imu = *rig.imu;
  std::string text = PoseText("imu", rig.cameras[0].name, FirstFromOther(rig, imu.rig_from_imu));
  absl::StrAppendFormat(&text, "  clock %+.6g s to the images'", imu.imu_time_minus_camera_time);
  if (imu.rate_hz > 0) absl::StrAppendFormat(&text, ", %g Hz", imu.rate_hz);
  if (imu.gyroscope_noise_density > 0 || imu.accelerometer_noise_density > 0) {
    absl::StrAppendFormat(&text, ", noise %.3g rad/s/sqrt(Hz) and %.3g m/s^2/sqrt(Hz)", imu.gyroscope_noise_density,
                          imu.accelerometer_noise_density);
  }
  return text + "\n";
}

// The rectified pair that the server would make of raw images, unless a finding says why it cannot.
std::string RectifiedText(const RigReport& report) {
  const Rig& rig = report.calibration.rig;
  const RigCamera &left = rig.cameras[0], &right = rig.cameras[1];
  if (left.camera.image.width <= 0 || !ValidateCamera(left.camera).ok() || !ValidateCamera(right.camera).ok())
    return "";
  const auto pair = RectifyPair(left.camera, right.camera, right.rig_from_camera.Inverse() * left.rig_from_camera, {});
  if (!pair.ok()) {
    const bool is_found = std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
      return absl::StrContains(finding.text, pair.status().message());
    });
    return is_found ? "" : absl::StrCat("rectified: not possible: ", pair.status().message(), "\n");
  }
  return absl::StrFormat("rectified: %dx%d, focal length %.6g pixels, baseline %.6g m, %.1f %% without a source\n",
                         pair->camera.image.width, pair->camera.image.height, pair->camera.fx, pair->baseline,
                         100 * pair->uncovered);
}

// Appends `,"name":value`, or without the comma as the first member.
class Members {
 public:
  explicit Members(std::string* out) : out_(out) { *out_ += '{'; }
  std::string* Key(absl::string_view name) {
    absl::StrAppend(out_, first_ ? "\"" : ",\"", name, "\":");
    first_ = false;
    return out_;
  }
  void Number(absl::string_view name, double value) { absl::StrAppendFormat(Key(name), "%.17g", value); }
  void Text(absl::string_view name, absl::string_view value) { AppendJsonString(value, Key(name)); }
  void Bool(absl::string_view name, bool value) { *Key(name) += value ? "true" : "false"; }
  void End() { *out_ += '}'; }

 private:
  std::string* const out_;
  bool first_ = true;
};

// Appends [element, ...] by append(element, out).
template <typename List, typename Append>
void AppendArray(const List& list, std::string* out, const Append& append) {
  *out += '[';
  bool first = true;
  for (const auto& element : list) {
    if (!std::exchange(first, false)) *out += ',';
    append(element, out);
  }
  *out += ']';
}

template <typename Matrix>
void AppendRows(const Matrix& m, std::string* out) {
  std::vector<double> values;
  for (Eigen::Index r = 0; r < m.rows(); ++r) {
    for (Eigen::Index c = 0; c < m.cols(); ++c) values.push_back(m(r, c));
  }
  AppendArray(values, out, [](double v, std::string* to) { absl::StrAppendFormat(to, "%.17g", v); });
}

// Row by row, 3x4.
void AppendPose(const RigidTransform& pose, std::string* out) {
  Eigen::Matrix<double, 3, 4> m;
  m << pose.rotation, pose.translation;
  AppendRows(m, out);
}

void AppendCamera(const Rig& rig, const RigCamera& rig_camera, std::string* out) {
  const Camera& camera = rig_camera.camera;
  Members m(out);
  m.Text("name", rig_camera.name);
  m.Text("model", NameOf(camera.model));
  m.Number("width", camera.image.width);
  m.Number("height", camera.image.height);
  for (const auto& [name, value] : {std::pair("fx", camera.fx), std::pair("fy", camera.fy), std::pair("cx", camera.cx),
                                    std::pair("cy", camera.cy)}) {
    m.Number(name, value);
  }
  Members lens(m.Key("lens"));
  size_t i = 0;
  for (const absl::string_view name : LensCoefficientsOf(camera.model)) lens.Number(name, camera.lens[i++]);
  lens.End();
  if (camera.image.width > 0) {
    m.Number("field_of_view_horizontal", FieldOfView(camera, false));
    m.Number("field_of_view_vertical", FieldOfView(camera, true));
  }
  AppendPose(FirstFromOther(rig, rig_camera.rig_from_camera), m.Key("first_from_camera"));
  if (rig_camera.rectified_from_camera) AppendRows(*rig_camera.rectified_from_camera, m.Key("rectified_from_camera"));
  if (rig_camera.projection) AppendRows(*rig_camera.projection, m.Key("projection"));
  m.End();
}

void AppendImu(const Rig& rig, std::string* out) {
  const RigImu& imu = *rig.imu;
  Members m(out);
  AppendPose(FirstFromOther(rig, imu.rig_from_imu), m.Key("first_from_imu"));
  m.Number("rate_hz", imu.rate_hz);
  m.Number("gyroscope_noise_density", imu.gyroscope_noise_density);
  m.Number("gyroscope_random_walk", imu.gyroscope_random_walk);
  m.Number("accelerometer_noise_density", imu.accelerometer_noise_density);
  m.Number("accelerometer_random_walk", imu.accelerometer_random_walk);
  m.Number("imu_time_minus_camera_time", imu.imu_time_minus_camera_time);
  m.End();
}

const char* NameOfSeverity(calibration::Finding::Severity severity) {
  return severity == calibration::Finding::Severity::kError ? "error" : "warning";
}

std::vector<std::string> NotesOf(const calibration::Calibration& calibration) {
  std::vector<std::string> notes = calibration.notes;
  if (!calibration.reordered.empty()) notes.push_back(calibration.reordered);
  return notes;
}

// Degrees from the ray of the centre to that of the edge, or of the last pixel on the way there that has one.
double AngleToEdge(const Camera& camera, const Vector2d& centre, const Vector2d& edge) {
  Vector3d axis, ray;
  if (!Unproject(camera, centre, &axis)) return 0;
  double seen = 0, step = 1;  // shares of the way to the edge
  for (int i = 0; i < 24; ++i, step /= 2) {
    if (seen + step <= 1 && Unproject(camera, centre + (seen + step) * (edge - centre), &ray)) seen += step;
  }
  if (seen == 0 || !Unproject(camera, centre + seen * (edge - centre), &ray)) return 0;
  return kDegreesPerRadian * std::atan2(axis.cross(ray).norm(), axis.dot(ray));
}

}  // namespace

double FieldOfView(const Camera& camera, bool vertical) {
  const Vector2d centre(camera.cx, camera.cy);
  const Vector2d first = vertical ? Vector2d(camera.cx, -0.5) : Vector2d(-0.5, camera.cy);
  const Vector2d last =
      vertical ? Vector2d(camera.cx, camera.image.height - 0.5) : Vector2d(camera.image.width - 0.5, camera.cy);
  return AngleToEdge(camera, centre, first) + AngleToEdge(camera, centre, last);
}

std::string RigText(const RigReport& report) {
  const Rig& rig = report.calibration.rig;
  std::string text =
      absl::StrFormat("%s: %d camera%s%s, %s images\n", TitleOf(report.calibration.format), rig.cameras.size(),
                      rig.cameras.size() == 1 ? "" : "s", rig.imu.has_value() ? " and an inertial sensor" : "",
                      report.calibration.rectified ? "rectified" : "raw");
  for (const RigCamera& camera : rig.cameras) absl::StrAppend(&text, CameraText(camera));
  for (size_t i = 1; i < rig.cameras.size(); ++i) {
    absl::StrAppend(
        &text, PoseText(rig.cameras[i].name, rig.cameras[0].name, FirstFromOther(rig, rig.cameras[i].rig_from_camera)));
  }
  if (rig.imu.has_value() && !rig.cameras.empty()) absl::StrAppend(&text, ImuText(rig));
  if (rig.cameras.size() >= 2 && !report.calibration.rectified) absl::StrAppend(&text, RectifiedText(report));
  for (const calibration::Reading& reading : report.readings) {
    absl::StrAppendFormat(&text, "matches: %.2f px from the epipolar lines, %.0f %% in front: %s\n",
                          reading.median_error, 100 * reading.in_front, reading.name);
  }
  for (const std::string& note : NotesOf(report.calibration)) absl::StrAppend(&text, "note: ", note, "\n");
  for (const std::string& warning : report.calibration.warnings) absl::StrAppend(&text, "warning: ", warning, "\n");
  for (const calibration::Finding& finding : report.findings) {
    absl::StrAppend(&text, NameOfSeverity(finding.severity), ": ", finding.text, "\n");
  }
  return text;
}

std::string RigJson(const RigReport& report) {
  const calibration::Calibration& calibration = report.calibration;
  const Rig& rig = calibration.rig;
  std::string out;
  Members m(&out);
  m.Text("format", calibration.format);
  m.Bool("rectified", calibration.rectified);
  m.Bool("unit_is_unknown", calibration.unit_is_unknown);
  AppendArray(rig.cameras, m.Key("cameras"),
              [&rig](const RigCamera& camera, std::string* to) { AppendCamera(rig, camera, to); });
  if (rig.imu.has_value() && !rig.cameras.empty()) AppendImu(rig, m.Key("imu"));
  AppendArray(report.readings, m.Key("readings"), [](const calibration::Reading& reading, std::string* to) {
    Members of(to);
    of.Text("name", reading.name);
    if (std::isfinite(reading.median_error)) of.Number("median_error", reading.median_error);
    of.Number("in_front", reading.in_front);
    of.End();
  });
  const auto append = [](const std::string& sentence, std::string* to) { AppendJsonString(sentence, to); };
  AppendArray(NotesOf(calibration), m.Key("notes"), append);
  AppendArray(calibration.warnings, m.Key("warnings"), append);
  AppendArray(report.findings, m.Key("findings"), [](const calibration::Finding& finding, std::string* to) {
    Members of(to);
    of.Text("severity", NameOfSeverity(finding.severity));
    of.Text("text", finding.text);
    of.End();
  });
  m.End();
  return out + "\n";
}

}  // namespace glint::cli
