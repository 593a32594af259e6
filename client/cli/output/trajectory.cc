#include "client/cli/output/trajectory.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/kitti_errors.h"
#include "client/cli/source/picture.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

using Matrix = std::array<double, 9>;  // row by row

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

}  // namespace

std::string TrajectoryLine(const TimedPose& at, TrajectoryFormat format) {
  const std::array<double, 3>& t = at.pose.position;
  if (format == TrajectoryFormat::kTum) {
    const std::array<double, 4>& q = at.pose.rotation;
    return absl::StrFormat("%.9f %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", at.seconds, t[0], t[1], t[2], q[0], q[1], q[2],
                           q[3]);
  }
  const Matrix r = MatrixOf(at.pose.rotation);
  std::string line;
  for (size_t row = 0; row < 3; ++row) {
    absl::StrAppendFormat(&line, "%.9e %.9e %.9e %.9e%s", r[3 * row], r[3 * row + 1], r[3 * row + 2], t[row],
                          row == 2 ? "\n" : " ");
  }
  return line;
}

absl::StatusOr<std::vector<TimedPose>> ReadTrajectory(const std::string& path, double period) {
  std::string text;
  GLINT_RETURN_IF_ERROR(ReadBytes(path, &text));
  std::vector<TimedPose> poses;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::pair<absl::string_view, absl::string_view> split = absl::StrSplit(line, absl::MaxSplits('#', 1));
    std::vector<double> v;
    bool good = true;
    for (const absl::string_view word : absl::StrSplit(split.first, absl::ByAnyChar(" ,\t\r"), absl::SkipEmpty())) {
      v.push_back(0);
      good = good && absl::SimpleAtod(word, &v.back()) && std::isfinite(v.back());
    }
    if (v.empty()) continue;
    TimedPose pose;
    if (good && v.size() == 12) {
      pose.seconds = period * static_cast<double>(poses.size());
      pose.pose.position = {v[3], v[7], v[11]};
      pose.pose.rotation = QuaternionOf({v[0], v[1], v[2], v[4], v[5], v[6], v[8], v[9], v[10]});
    } else if (good && v.size() == 8) {
      pose.seconds = v[0];
      pose.pose.position = {v[1], v[2], v[3]};
      pose.pose.rotation = {v[4], v[5], v[6], v[7]};
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": neither 12 numbers (KITTI) nor 8, seconds x y z qx qy qz qw (TUM)"));
    }
    double norm = 0;
    for (const double q : pose.pose.rotation) norm += q * q;
    if (!(std::abs(norm - 1) < 1e-2)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": not a rotation"));
    }
    poses.push_back(pose);
  }
  return poses;
}

absl::StatusOr<std::string> CompareWithTruth(const std::vector<TimedPose>& path, const std::vector<TimedPose>& truth,
                                             double period) {
  std::vector<client::CameraPose> found, expected;
  size_t at = 0;
  for (const TimedPose& pose : path) {
    while (at + 1 < truth.size() &&
           std::abs(truth[at + 1].seconds - pose.seconds) <= std::abs(truth[at].seconds - pose.seconds)) {
      ++at;
    }
    if (at >= truth.size() || std::abs(truth[at].seconds - pose.seconds) > period / 2) continue;
    found.push_back(pose.pose);
    expected.push_back(truth[at].pose);
  }
  if (found.size() < 2) {
    return absl::FailedPreconditionError(
        absl::StrCat(found.size(), " poses have the time of a true one; two are needed"));
  }
  return ReportErrors(found, expected);
}

}  // namespace glint::cli
