#include "tests/scene/path.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace glint::scene {
namespace {

constexpr double kLeastStep = 0.001;  // seconds

using Quaternion = std::array<double, 4>;  // x, y, z, w

// Of a rotation, by its largest component (Shepperd 1978).
Quaternion ToQuaternion(const Mat3& rotation) {
  const auto& m = rotation.m;
  const double squares[] = {1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8],
                            1 + m[0] + m[4] + m[8]};
  const auto largest = std::max_element(std::begin(squares), std::end(squares)) - std::begin(squares);
  switch (largest) {
    case 0:
      return {squares[0], m[1] + m[3], m[2] + m[6], m[7] - m[5]};
    case 1:
      return {m[1] + m[3], squares[1], m[5] + m[7], m[2] - m[6]};
    case 2:
      return {m[2] + m[6], m[5] + m[7], squares[2], m[3] - m[1]};
    default:
      return {m[7] - m[5], m[2] - m[6], m[3] - m[1], squares[3]};
  }
}

double Length(const Quaternion& q) { return std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]); }

}  // namespace

Mat3 RotationOf(const Quaternion& quaternion) {
  const auto [qx, qy, qz, qw] = quaternion;
  const double length = std::sqrt(qx * qx + qy * qy + qz * qz + qw * qw);
  const double x = qx / length, y = qy / length, z = qz / length, w = qw / length;
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),  //
           2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),  //
           2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
}

Quaternion QuaternionOf(const Mat3& rotation) {
  Quaternion q = ToQuaternion(rotation);
  const double length = Length(q);
  for (double& value : q) value /= length;
  return q;
}

absl::StatusOr<Path> ReadPath(const std::string& file) {
  std::ifstream in(file);
  if (!in) return absl::InvalidArgumentError(absl::StrCat(file, ": cannot be read"));
  Path path;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    std::array<double, 8> value{};
    bool is_valid = words.size() == value.size();
    for (size_t i = 0; is_valid && i < value.size(); ++i) {
      is_valid = absl::SimpleAtod(words[i], &value[i]) && std::isfinite(value[i]);
    }
    const Quaternion q = {value[4], value[5], value[6], value[7]};
    if (!is_valid || Length(q) < 1e-6) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": not \"t x y z qx qy qz qw\""));
    }
    if (!path.empty() && value[0] < path.back().seconds + kLeastStep) continue;
    path.push_back({value[0], {RotationOf(q), {value[1], value[2], value[3]}}, line});
  }
  if (path.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": has no pose"));
  return path;
}

Pose PoseAtTime(const Path& path, double seconds) {
  const auto after = std::upper_bound(path.begin(), path.end(), seconds,
                                      [](double t, const TimedPose& pose) { return t < pose.seconds; });
  if (after == path.begin()) return path.front().pose;
  const TimedPose& a = *(after - 1);
  if (after == path.end() || a.seconds == seconds) return a.pose;
  const double share = (seconds - a.seconds) / (after->seconds - a.seconds);
  const Quaternion qa = ToQuaternion(a.pose.rotation), qb = ToQuaternion(after->pose.rotation);
  const double dot = qa[0] * qb[0] + qa[1] * qb[1] + qa[2] * qb[2] + qa[3] * qb[3];
  const double weight_a = (1 - share) / Length(qa), weight_b = (dot < 0 ? -share : share) / Length(qb);
  Quaternion q;
  for (size_t i = 0; i < q.size(); ++i) q[i] = weight_a * qa[i] + weight_b * qb[i];
  return {RotationOf(q), (1 - share) * a.pose.position + share * after->pose.position};
}

}  // namespace glint::scene
