// Judges rotations: the part of ImuWatch that compares those of the camera with those of the gyroscope.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "slam/front_end/frame_stamp.h"
#include "slam/inertial/imu_watch.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

constexpr std::array<double, 3> kLengths = {0.1, 0.2, 0.4};  // seconds of pieces: the first that tells is used
constexpr double kStride = 0.1;                              // seconds between their ends
constexpr double kSpan = 3;                                  // seconds that are looked at
constexpr double kLeastSpan = 1;                             // likewise, at least
constexpr Eigen::Index kFewestTurns = 6;
constexpr double kLongestInterval = 0.5;  // seconds between frames; rotations over more are not compared
constexpr double kMoves = 0.025;          // radians: pieces whose rotations vary by more tell
constexpr double kFrozenWindow = 1;       // seconds
constexpr double kSpeeds = 0.3;           // m/s, that speeds of its halves differ by if the camera moves
// Normalised errors: beyond the first one rotations contradict each other, and beyond the second, if the sensor
// explains less than half of what the camera turns; beyond the third something else may explain them; below the others
// it does, and an offset is one.
constexpr double kBad = 25, kUseless = 16, kPoor = 2, kGood = 9, kFair = 3;
constexpr double kLeft = 0.1;           // of what the camera turned, that an offset may leave
constexpr double kExplains = 0.2;       // of the error without it
constexpr double kMirrors = 0.25;       // likewise, of a mirrored sensor beside a turned one
constexpr double kLeastAngle = 10;      // degrees
constexpr double kBiasChange = 0.1;     // rad/s, that a bias may be from what it was, and
constexpr double kBiasShare = 0.05;     // of what the camera turns at
constexpr double kBiasMemory = 60;      // seconds
constexpr double kForget = 20;          // seconds, of offsets
constexpr double kScatter = 1.5;        // that the standard deviation of one may be too small by
constexpr double kOther = 4;            // standard deviations, that an offset is another one beyond
constexpr double kMostOffset = 0.01;    // seconds
constexpr double kSure = 2;             // standard deviations
constexpr double kSureOffset = 0.003;   // seconds, standard deviation
constexpr double kKnownOffset = 0.002;  // likewise

// Of the matrix whose rows say so, "-y, +z, -x"; empty unless axes are along axes, to about 25 degrees.
std::string AxesAlong(const Eigen::Matrix3d& camera_from_imu) {
  std::string text;
  for (int row = 0; row < 3; ++row) {
    int column = 0;
    if (camera_from_imu.row(row).cwiseAbs().maxCoeff(&column) < 0.9) return "";
    absl::StrAppend(&text, row == 0 ? "" : ", ", camera_from_imu(row, column) < 0 ? "-" : "+",
                    std::string(1, "xyz"[column]));
  }
  return text;
}

std::string AxesText(const AxesFit& fit, double angle, bool is_mirrored, bool is_inverse) {
  const std::string along = fit.is_unique ? AxesAlong(fit.camera_from_imu) : "";
  const std::string hint = along.empty() ? "" : absl::StrCat(": the camera's x, y, z seem to be the sensor's ", along);
  if (is_mirrored) return absl::StrCat("imu: the sensor's axes seem to be mirrored, as left-handed ones", hint);
  if (is_inverse) return "imu.camera_from_imu seems to be its inverse: give camera from sensor";
  return absl::StrFormat("imu.camera_from_imu seems to be turned by %s%.0f deg%s", fit.is_unique ? "" : "at least ",
                         angle, hint);
}
}  // namespace

void ImuWatch::Collect(double seconds, double stride, double span, Turns* turns) const {
  turns->count = 0;
  turns->camera.resize(3, kMostTurns);
  turns->in_degrees.resize(3, kMostTurns);
  const int64_t now = intervals_.back().to_ns;
  double next_age = 0;  // of the end of the next piece
  for (size_t end = intervals_.size(); end > 0 && turns->count < kMostTurns; --end) {
    const double age = SecondsBetween(intervals_[end - 1].to_ns, now);
    if (age > span) break;
    if (age < 0.98 * next_age) continue;
    Eigen::Quaterniond camera, sensor, in_degrees;
    camera = sensor = in_degrees = Eigen::Quaterniond::Identity();
    double sum = 0;
    size_t i = end;
    while (i > 0 && sum < 0.98 * seconds) {
      const Interval& interval = intervals_[--i];
      const bool is_usable = interval.has_samples && !interval.is_saturated && interval.seconds <= kLongestInterval &&
                             interval.camera.coeffs().allFinite();
      if (!is_usable || (i + 1 < end && interval.to_ns != intervals_[i + 1].from_ns)) break;
      camera = interval.camera * camera;
      sensor = interval.sensor * sensor;
      in_degrees = interval.in_degrees * in_degrees;
      sum += interval.seconds;
    }
    if (sum < 0.98 * seconds) continue;
    if (SecondsBetween(intervals_[i].from_ns, now) > span + 1e-3) break;
    next_age = age + stride;
    const auto k = static_cast<size_t>(turns->count);
    turns->camera.col(turns->count) = RotationVectorOf(camera.normalized());
    turns->in_degrees.col(turns->count) = RotationVectorOf(in_degrees.normalized());
    turns->sensor[k] = sensor.normalized();
    turns->from_ns[k] = intervals_[i].from_ns;
    turns->to_ns[k] = intervals_[end - 1].to_ns;
    turns->seconds[k] = sum;
    ++turns->count;
  }
  turns->camera.conservativeResize(3, turns->count);
  turns->in_degrees.conservativeResize(3, turns->count);
}

bool ImuWatch::HasMoved(bool by_speed) const {
  Turns turns;
  Collect(kFrozenWindow / 4, kStride, kFrozenWindow, &turns);
  if (turns.count >= 3 && Variation(turns) > kMoves) return true;
  Eigen::Vector3d moved[2] = {Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
  double seconds[2] = {0, 0};
  for (const Interval& interval : intervals_) {
    const double age = SecondsBetween(interval.to_ns, intervals_.back().to_ns);
    if (age >= kFrozenWindow) continue;
    const int half = age >= kFrozenWindow / 2 ? 0 : 1;
    moved[half] += interval.moved;
    seconds[half] += interval.seconds;
  }
  return by_speed && seconds[0] > 0 && (moved[1] / seconds[1] - moved[0] / seconds[0]).norm() > kSpeeds;
}

OffsetFit ImuWatch::FindOffset() {
  OffsetFit best;
  const Eigen::Matrix3d given = model_.camera_from_imu.rotation.toRotationMatrix();
  for (const double length : kLengths) {
    Collect(length, kStride, kSpan, &offset_turns_);
    const OffsetFit fit = FitOffset(offset_turns_, given, line_);
    if (fit.is_known && (!best.is_known || fit.sigma < best.sigma)) best = fit;
  }
  best.is_known = best.is_known && best.error < std::min(kFair, kLeft * best.error_at_rest) &&
                  kDegreesInRadian * best.angle < kLeastAngle;
  return best;
}

// Fits of windows that overlap, each by its share of one.
void ImuWatch::AddOffset(const OffsetFit& fit, double seconds) {
  offset_weight_ *= 1 - seconds / kForget;
  if (!fit.is_known) return;
  const double variance = kScatter * kScatter * fit.sigma * fit.sigma;
  const bool is_other = std::abs(fit.seconds - offset_) > kOther * std::sqrt(variance + 1 / offset_weight_);
  if (offset_weight_ > 0 && is_other) offset_weight_ = 0;
  if (variance * offset_weight_ < 1) {
    offset_ = fit.seconds;
    offset_weight_ = 1 / variance;
  } else {
    const double weight = seconds / kSpan / variance;
    offset_ = (offset_ * offset_weight_ + fit.seconds * weight) / (offset_weight_ + weight);
    offset_weight_ += weight;
  }
  if (offset_weight_ * kKnownOffset * kKnownOffset < 1) return;
  knows_offset_ = true;
  offset_ns_ = std::llround(offset_ * 1e9);
}

void ImuWatch::JudgeTurns(double seconds) {
  bool is_moving = false;
  for (size_t i = 0; i < kLengths.size() && !is_moving; ++i) {
    Collect(kLengths[i], kStride, kSpan, &turns_);
    if (turns_.count < kFewestTurns) return;
    const auto last = static_cast<size_t>(turns_.count - 1);
    if (SecondsBetween(turns_.from_ns[last], turns_.to_ns[0]) < kLeastSpan) return;
    is_moving = Variation(turns_) > kMoves;
  }
  const Eigen::Matrix3d given = model_.camera_from_imu.rotation.toRotationMatrix();
  const Rotations sensor = turns_.Sensor();
  BiasLimit limit;
  if (bias_seconds_ > kSpan) {
    limit.centre = given * bias_;
    limit.radius = kBiasChange + kBiasShare * turns_.camera.rowwise().mean().norm() / turns_.seconds[0];
  }
  const TurnFit as_given = CompareTurns(turns_, given * sensor, limit);
  const double at_rest = CompareTurns(turns_, Rotations::Zero(3, turns_.count)).error;
  const bool is_bad = as_given.error > kBad || as_given.error > std::max(kUseless, at_rest / 2);
  const ImuFault named = is_moving ? NameFault(as_given.error, at_rest, seconds) : ImuFault::kNone;
  if (named != ImuFault::kNone) {
    Say(ImuFault::kContradiction, Verdict::kDoesNot);
  } else if (is_bad && verdicts_[static_cast<size_t>(ImuFault::kFrozen)] != Verdict::kHolds) {
    contradicts_at_rest_ = !is_moving;
    SayHolds(
        ImuFault::kContradiction,
        {WarningKind::kImuContradicts, as_given.error, "1",
         absl::StrFormat("imu: the squared difference of its rotations from those of the images is %.0f times what "
                         "their errors explain, and no units, axes or offset of its times would explain it",
                         as_given.error)});
  } else {
    if (is_moving || contradicts_at_rest_) Say(ImuFault::kContradiction, Verdict::kDoesNot);
    if (as_given.error > kPoor) return;
    bias_seconds_ = std::min(bias_seconds_ + seconds, kBiasMemory);
    bias_ += seconds / bias_seconds_ * (given.transpose() * as_given.bias - bias_);
  }
}

ImuFault ImuWatch::NameFault(double error, double at_rest, double seconds) {
  const Eigen::Matrix3d given = model_.camera_from_imu.rotation.toRotationMatrix();
  const Rotations sensor = turns_.Sensor();
  const auto explains = [error, at_rest](double with) {
    return error > kPoor && with < kExplains * std::min(error, at_rest) && with < kGood;
  };
  Say(ImuFault::kDegrees, Verdict::kDoesNot);
  Say(ImuFault::kAxes, Verdict::kDoesNot);
  if (explains(CompareTurns(turns_, given * turns_.in_degrees).error)) {
    const double ratio = kDegreesInRadian * turns_.in_degrees.norm() / turns_.camera.norm();
    SayHolds(ImuFault::kDegrees, {WarningKind::kImuContradicts, ratio, "1",
                                  absl::StrFormat("imu: angular velocities are %.1f times those of the images: the "
                                                  "readings look like degrees a second: send rad/s",
                                                  ratio)});
    return ImuFault::kDegrees;
  }

  const OffsetFit offset = FindOffset();
  AddOffset(offset, seconds);
  AxesFit axes = FitAxes(turns_, given, false);
  const AxesFit mirrored = FitAxes(turns_, given, true);
  const bool is_mirrored = mirrored.error < kMirrors * axes.error;
  if (is_mirrored) axes = mirrored;
  const double angle =
      kDegreesInRadian * AngleOf(Eigen::Quaterniond(Eigen::Matrix3d(axes.camera_from_imu * given.transpose())));
  // A shift of the time looks like a rotation where the axis itself turns.
  const bool is_offset_better = offset.is_known && offset.error * error < axes.error * offset.error_without;
  if (explains(axes.error) && !is_offset_better && (is_mirrored || angle > kLeastAngle)) {
    const bool is_inverse = CompareTurns(turns_, given.transpose() * sensor).error < 2 * axes.error + 1;
    SayHolds(ImuFault::kAxes,
             {WarningKind::kImuContradicts, angle, "deg", AxesText(axes, angle, is_mirrored, is_inverse)});
    return ImuFault::kAxes;
  }
  if (!offset.is_known) return ImuFault::kNone;
  const double deviation = 1 / std::sqrt(offset_weight_);
  if (std::abs(offset_) < kMostOffset + kSure * deviation) {
    const bool is_not_it = std::abs(offset_ - said_offset_) > 2 * kSure * deviation;
    if (deviation < kSureOffset || is_not_it) Say(ImuFault::kTimeOffset, Verdict::kDoesNot);
    return ImuFault::kNone;
  }
  said_offset_ = offset_;
  const double ms = 1e3 * offset_;
  SayHolds(ImuFault::kTimeOffset,
           {WarningKind::kImuContradicts, ms, "ms",
            absl::StrFormat("imu: its times seem to be %.1f ms %s: set imu.imu_time_minus_camera_time_ns to %d",
                            std::abs(ms), ms > 0 ? "ahead" : "behind",
                            model_.imu_time_minus_camera_time_ns + std::llround(1e9 * offset_))});
  return ImuFault::kTimeOffset;
}

}  // namespace glint::slam
