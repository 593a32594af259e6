#include "client/cli/output/trajectory.h"

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/kitti_errors.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

using Matrix = std::array<double, 9>;  // row by row

constexpr double kSamePlace = 0.05;  // metres

Matrix MatrixOf(const std::array<double, 4>& q) {
  const double x = q[0], y = q[1], z = q[2], w = q[3];
  return {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
          2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
          2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
}

// By its largest element, which loses no digits (Shepperd, 1978).
std::array<double, 4> QuaternionOf(const Matrix& m) {
  const double diagonal[] = {m[0], m[4], m[8]};
  const double trace = m[0] + m[4] + m[8];
  size_t i = 0;
  for (size_t k = 1; k < 3; ++k) {
    if (diagonal[k] > diagonal[i]) i = k;
  }
  std::array<double, 4> q{};
  if (trace > diagonal[i]) {
    q = {m[7] - m[5], m[2] - m[6], m[3] - m[1], 1 + trace};
  } else {
    const size_t j = (i + 1) % 3, k = (i + 2) % 3;
    q[i] = 1 + diagonal[i] - diagonal[j] - diagonal[k];
    q[j] = m[3 * i + j] + m[3 * j + i];
    q[k] = m[3 * i + k] + m[3 * k + i];
    q[3] = m[3 * k + j] - m[3 * j + k];
  }
  double norm = 0;
  for (const double v : q) norm += v * v;
  norm = std::sqrt(norm) * (q[3] < 0 ? -1 : 1);
  for (double& v : q) v /= norm;
  return q;
}

std::string TumLine(const TimedPose& at) {
  const std::array<double, 3>& t = at.pose.position;
  const std::array<double, 4>& q = at.pose.rotation;
  return absl::StrFormat("%.9f %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", at.seconds, t[0], t[1], t[2], q[0], q[1], q[2],
                         q[3]);
}

constexpr size_t kAslColumns = 17;  // of EuRoC's state_groundtruth_estimate0

constexpr char kKittiLineWithoutPose[] = "nan nan nan nan nan nan nan nan nan nan nan nan\n";

std::string KittiLine(const client::CameraPose& pose) {
  const Matrix r = MatrixOf(pose.rotation);
  const std::array<double, 3>& t = pose.position;
  std::string line;
  for (size_t row = 0; row < 3; ++row) {
    absl::StrAppendFormat(&line, "%.9e %.9e %.9e %.9e%s", r[3 * row], r[3 * row + 1], r[3 * row + 2], t[row],
                          row == 2 ? "\n" : " ");
  }
  return line;
}

bool IsRotation(const std::array<double, 4>& q) {
  double norm = 0;
  for (const double v : q) norm += v * v;
  return std::abs(norm - 1) < 1e-2;
}

bool IsRotation(const Matrix& m) {
  const Matrix nearest = MatrixOf(QuaternionOf(m));
  for (size_t i = 0; i < m.size(); ++i) {
    if (!(std::abs(m[i] - nearest[i]) < 1e-2)) return false;
  }
  return true;
}

// What a pose of `path` and one of a truth in `format` have in common if they belong together.
double KeyOf(const TimedPose& at, TrajectoryFormat format) {
  return format == TrajectoryFormat::kTum ? at.seconds : static_cast<double>(at.number);
}

// How far the keys of a path and of the truth may differ.
double ToleranceOf(const std::vector<TimedPose>& path, TrajectoryFormat format) {
  if (format == TrajectoryFormat::kKitti || path.size() < 2) return 0;
  std::vector<double> steps;
  for (size_t i = 1; i < path.size(); ++i) steps.push_back(std::abs(path[i].seconds - path[i - 1].seconds));
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle / 2;
}

// Of at least one pose, which ascend by their keys.
const TimedPose& NearestPose(const Trajectory& truth, double key) {
  const auto after =
      std::lower_bound(truth.poses.begin(), truth.poses.end(), key,
                       [&](const TimedPose& at, double value) { return KeyOf(at, truth.format) < value; });
  if (after == truth.poses.end()) return truth.poses.back();
  if (after == truth.poses.begin()) return *after;
  const TimedPose& before = *(after - 1);
  return key - KeyOf(before, truth.format) <= KeyOf(*after, truth.format) - key ? before : *after;
}

// "path 0.000 to 2.900 s, truth 0.500 to 9.000 s"; with KITTI's lines in place of seconds.
std::string RangesOf(const std::vector<TimedPose>& path, const Trajectory& truth) {
  const TrajectoryFormat format = truth.format;
  const auto before = [format](const TimedPose& a, const TimedPose& b) { return KeyOf(a, format) < KeyOf(b, format); };
  const auto [first, last] = std::minmax_element(path.begin(), path.end(), before);
  const TimedPose &true_first = truth.poses.front(), &true_last = truth.poses.back();
  if (format == TrajectoryFormat::kTum) {
    return absl::StrFormat("path %.3f to %.3f s, truth %.3f to %.3f s", first->seconds, last->seconds,
                           true_first.seconds, true_last.seconds);
  }
  return absl::StrFormat("path of pairs %d to %d, truth of lines %d to %d, both from 0 on", first->number, last->number,
                         true_first.number, true_last.number);
}

}  // namespace

World MainWorld(const std::vector<TimedPose>& path) {
  std::map<std::pair<int, bool>, int64_t> counts{{{0, false}, 0}};
  for (const TimedPose& at : path) {
    if (at.located) ++counts[{at.map_id, at.level}];
  }
  const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto& [map_id, level] = std::max_element(counts.begin(), counts.end(), is_less)->first;
  return {map_id, level};
}

std::string TrajectoryLines::Add(const TimedPose& at) {
  if (format_ == TrajectoryFormat::kTum) return at.located ? TumLine(at) : "";
  std::string lines;
  for (; next_ < at.number; ++next_) lines += kKittiLineWithoutPose;
  ++next_;
  return lines + (at.located ? KittiLine(at.pose) : kKittiLineWithoutPose);
}

absl::StatusOr<Trajectory> ReadTrajectory(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto text, ReadText(path));
  Trajectory trajectory;
  trajectory.name = path;
  size_t columns = 0;  // of all lines; 0: none was read yet
  int line_number = 0;
  int64_t pairs = 0;
  const auto wrong = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": ", what));
  };
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (columns == 0 && absl::StrContains(line, "q_RS_w")) {
      trajectory.of_imu = true;
      continue;
    }
    std::vector<double> v;
    bool numbers = true;
    for (const absl::string_view word :
         absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" ,\t"), absl::SkipEmpty())) {
      v.push_back(0);
      numbers = numbers && absl::SimpleAtod(word, &v.back());
    }
    if (v.empty()) continue;
    if (columns == 0 && numbers && v.size() == kAslColumns) trajectory.of_imu = true;
    if (!numbers || (trajectory.of_imu ? v.size() < 8 : v.size() != 12 && v.size() != 8)) {
      return wrong(trajectory.of_imu ? "not nanoseconds x y z qw qx qy qz and what follows (EuRoC)"
                                     : "neither 12 numbers (KITTI) nor 8, seconds x y z qx qy qz qw (TUM)");
    }
    if (columns != 0 && v.size() != columns) {
      return wrong(absl::StrCat("has ", v.size(), " numbers, and the lines before it have ", columns));
    }
    columns = v.size();
    TimedPose at;
    at.number = pairs++;
    const bool is_kitti = columns == 12 && !trajectory.of_imu;
    const auto is_nan = [](double value) { return std::isnan(value); };
    if (is_kitti && std::all_of(v.begin(), v.end(), is_nan)) continue;
    if (!std::all_of(v.begin(), v.end(), [](double value) { return std::isfinite(value); })) {
      return wrong("has a number that is not finite");
    }
    if (is_kitti) {
      const Matrix matrix = {v[0], v[1], v[2], v[4], v[5], v[6], v[8], v[9], v[10]};
      if (!IsRotation(matrix)) return wrong("not a rotation");
      at.pose.position = {v[3], v[7], v[11]};
      at.pose.rotation = QuaternionOf(matrix);
    } else {
      at.seconds = trajectory.of_imu ? v[0] * 1e-9 : v[0];
      at.pose.position = {v[1], v[2], v[3]};
      at.pose.rotation = {v[4], v[5], v[6], v[7]};
      if (trajectory.of_imu) at.pose.rotation = {v[5], v[6], v[7], v[4]};
      if (!IsRotation(at.pose.rotation)) return wrong("not a rotation");
    }
    trajectory.poses.push_back(at);
  }
  if (trajectory.poses.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": has no pose"));
  trajectory.format = columns == 12 && !trajectory.of_imu ? TrajectoryFormat::kKitti : TrajectoryFormat::kTum;
  if (trajectory.format == TrajectoryFormat::kTum) {
    std::stable_sort(trajectory.poses.begin(), trajectory.poses.end(),
                     [](const TimedPose& a, const TimedPose& b) { return a.seconds < b.seconds; });
    // Times that are rounded may come twice, a bit farther on.
    const auto is_elsewhere = [](const TimedPose& a, const TimedPose& b) {
      const auto &p = a.pose.position, &q = b.pose.position;
      return a.seconds == b.seconds && std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) > kSamePlace;
    };
    const auto again = std::adjacent_find(trajectory.poses.begin(), trajectory.poses.end(), is_elsewhere);
    if (again != trajectory.poses.end()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: two poses over %g m apart have one time, %.9f: they are of two paths", path, kSamePlace,
                          again->seconds));
    }
  }
  return trajectory;
}

void MoveTo(const RigidTransform& body_from_camera, Trajectory* trajectory) {
  const Eigen::Quaterniond turn(body_from_camera.rotation);
  for (TimedPose& at : trajectory->poses) {
    auto& [rotation, position] = at.pose;
    const Eigen::Quaterniond world_from_body =
        Eigen::Quaterniond(rotation[3], rotation[0], rotation[1], rotation[2]).normalized();
    const Eigen::Vector3d lever = world_from_body * body_from_camera.translation;
    const Eigen::Quaterniond q = (world_from_body * turn).normalized();
    rotation = {q.x(), q.y(), q.z(), q.w()};
    for (size_t i = 0; i < 3; ++i) position[i] += lever[static_cast<Eigen::Index>(i)];
  }
}

absl::StatusOr<std::string> CompareWithTruth(const std::vector<TimedPose>& path, const Trajectory& truth) {
  const double tolerance = ToleranceOf(path, truth.format);
  std::vector<client::CameraPose> found, expected;
  size_t located = 0;
  for (const TimedPose& at : path) {
    if (!at.located) continue;
    ++located;
    const double key = KeyOf(at, truth.format);
    const TimedPose& true_pose = NearestPose(truth, key);
    if (std::abs(KeyOf(true_pose, truth.format) - key) > tolerance) continue;
    found.push_back(at.pose);
    expected.push_back(true_pose.pose);
  }
  if (located == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("none of ", path.size(), " pairs was located; nothing is compared with ", truth.name));
  }
  const std::string ranges = RangesOf(path, truth);
  const bool has_few = !truth.has_gaps && 2 * found.size() < located;
  if (found.size() < 2 || has_few) {
    const std::string within =
        truth.format == TrajectoryFormat::kTum ? absl::StrFormat("within %.3f s", tolerance) : "of their number";
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: %d of %d located pairs have a true pose %s; %s; %s", truth.name, found.size(), located,
                        within, truth.has_gaps ? "two are needed" : "half of them, and two, are needed", ranges));
  }
  const bool leaps = truth.has_gaps && found.size() < located;
  return ReportErrors(found, expected,
                      absl::StrFormat("%d of %d located pairs, %d of %d pairs not located; %s%s", found.size(), located,
                                      path.size() - located, path.size(), ranges,
                                      leaps ? "; where the truth has gaps, length and RPE leap over them" : ""));
}

}  // namespace glint::cli
