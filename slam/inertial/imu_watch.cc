#include "slam/inertial/imu_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "slam/front_end/frame_stamp.h"

namespace glint::slam {
namespace {

constexpr double kMemory = 5;  // seconds
constexpr size_t kMostIntervals = 1024;
constexpr int64_t kLineStepNs = 2'000'000;
constexpr double kJudgeEvery = 0.2;      // seconds
constexpr double kHold = 1;              // seconds, until a fault is one, and until it is none
constexpr double kHoldOfUnknown = 3.5;   // likewise of one without a name: longer than what is looked at
constexpr double kLargestReading = 1e6;  // of readings: beyond, they are not looked at
constexpr double kSampleSpan = 2;        // seconds, in which frames without readings are counted
constexpr double kFewSamples = 0.5;      // share of frames
constexpr double kFrozenSpan = 1;        // seconds
constexpr double kLengthSpan = 3;        // seconds, in which lengths are averaged
constexpr double kLeastSpan = 1;         // seconds of these that there are
constexpr double kLeastLength = 0.25;    // of gravity
constexpr double kMostLength = 5;        // likewise

}  // namespace

void ImuWatch::Add(int64_t time_ns, const Pose& camera_from_world, absl::Span<const ImuSample> since_last) {
  if (has_last_ && time_ns > last_ns_) {
    Interval interval;
    interval.from_ns = last_ns_;
    interval.to_ns = time_ns;
    interval.seconds = SecondsBetween(last_ns_, time_ns);
    interval.camera = last_.rotation * camera_from_world.rotation.conjugate();
    interval.moved = camera_from_world.Inverse().translation - last_.Inverse().translation;
    Measure(since_last, &interval);
    intervals_.push_back(interval);
    size_t old = intervals_.size() - std::min(intervals_.size(), kMostIntervals);
    while (SecondsBetween(intervals_[old].from_ns, time_ns) > kMemory && old + 1 < intervals_.size()) ++old;
    intervals_.erase(intervals_.begin(), intervals_.begin() + static_cast<ptrdiff_t>(old));
    seconds_since_judged_ += std::min(interval.seconds, kHold / 2);
    if (seconds_since_judged_ >= kJudgeEvery) {
      Judge(seconds_since_judged_);
      seconds_since_judged_ = 0;
    }
  }
  has_last_ = true;
  last_ns_ = time_ns;
  last_ = camera_from_world;
}

void ImuWatch::Measure(absl::Span<const ImuSample> samples, Interval* interval) {
  interval->sensor = interval->in_degrees = Eigen::Quaterniond::Identity();
  const auto is_usable = [](const ImuSample& s) {
    return s.angular_velocity.cwiseAbs().maxCoeff() < kLargestReading &&
           s.acceleration.cwiseAbs().maxCoeff() < kLargestReading;
  };
  interval->has_samples = samples.size() >= 2 && std::all_of(samples.begin(), samples.end(), is_usable);
  if (!interval->has_samples) {
    line_.clear();
    has_last_sample_ = false;
    return;
  }
  const auto is_at_range = [](const Eigen::Vector3d& value, double range) {
    return range > 0 && value.cwiseAbs().maxCoeff() >= range;
  };
  const ImuSample& same_as = has_last_sample_ ? last_sample_ : samples[0];
  interval->is_gyroscope_frozen = interval->is_accelerometer_frozen = true;
  for (const ImuSample& s : samples) {
    if (s.angular_velocity != same_as.angular_velocity) interval->is_gyroscope_frozen = false;
    if (s.acceleration != same_as.acceleration) interval->is_accelerometer_frozen = false;
    if (is_at_range(s.angular_velocity, model_.gyroscope_range) ||
        is_at_range(s.acceleration, model_.accelerometer_range)) {
      interval->is_saturated = true;
    }
  }
  if (line_.empty() || line_.back().time_ns > samples[0].time_ns)
    line_.assign(1, {samples[0].time_ns, Eigen::Vector3d::Zero()});
  Eigen::Vector3d angle = line_.back().angle;
  double length = 0, seconds = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    const ImuSample &a = samples[i - 1], &b = samples[i];
    if (b.time_ns <= a.time_ns) continue;
    const double step = SecondsBetween(a.time_ns, b.time_ns);
    const Eigen::Vector3d turn = step / 2 * (a.angular_velocity + b.angular_velocity);
    interval->sensor = interval->sensor * RotationOf(turn);
    interval->in_degrees = interval->in_degrees * RotationOf(turn / kDegreesInRadian);
    length += step / 2 * (a.acceleration.norm() + b.acceleration.norm());
    seconds += step;
    angle += turn;
    if (b.time_ns - line_.back().time_ns >= kLineStepNs || i + 1 == samples.size()) line_.push_back({b.time_ns, angle});
  }
  interval->sensor.normalize();
  interval->in_degrees.normalize();
  interval->acceleration = seconds > 0 ? length / seconds : 0;
  last_sample_ = samples.back();
  has_last_sample_ = true;
  const auto old = std::find_if(line_.begin(), line_.end(), [&](const TurnPoint& point) {
    return line_.back().time_ns - point.time_ns <= static_cast<int64_t>(kMemory * 1e9);
  });
  line_.erase(line_.begin(), old);
}

void ImuWatch::Judge(double seconds) {
  verdicts_.fill(Verdict::kUnknown);
  JudgeSamples();
  JudgeLength();
  JudgeTurns(seconds);
  fault_ = ImuFault::kNone;
  warnings_.clear();
  for (size_t i = 1; i < kFaults; ++i) {
    const auto fault = static_cast<ImuFault>(i);
    State& state = states_[i];
    if (verdicts_[i] == Verdict::kHolds) {
      state.seconds_for += seconds;
      state.seconds_against = 0;
    } else if (verdicts_[i] == Verdict::kDoesNot) {
      state.seconds_against += seconds;
      state.seconds_for = std::max(0.0, state.seconds_for - seconds);
    }
    if (state.seconds_for > (fault == ImuFault::kContradiction ? kHoldOfUnknown : kHold)) state.is_fault = true;
    if (state.seconds_against > kHold) state.is_fault = false;
    if (!state.is_fault) continue;
    if (fault_ == ImuFault::kNone) fault_ = fault;
    warnings_.push_back(state.warning);
  }
}

void ImuWatch::SayHolds(ImuFault fault, const Warning& warning) {
  Say(fault, Verdict::kHolds);
  states_[static_cast<size_t>(fault)].warning = warning;
}

void ImuWatch::JudgeSamples() {
  double frames = 0, missing = 0, saturated = 0, frozen_frames = 0, gyroscope_frozen = 0, accelerometer_frozen = 0;
  double seconds = 0, frozen_seconds = 0;
  const int64_t now = intervals_.back().to_ns;
  for (const Interval& interval : intervals_) {
    const double age = SecondsBetween(interval.to_ns, now);
    if (age >= kSampleSpan) continue;
    ++frames;
    seconds += interval.seconds;
    missing += interval.has_samples ? 0 : 1;
    saturated += interval.is_saturated ? 1 : 0;
    if (age >= kFrozenSpan) continue;
    ++frozen_frames;
    frozen_seconds += interval.seconds;
    gyroscope_frozen += interval.is_gyroscope_frozen ? 1 : 0;
    accelerometer_frozen += interval.is_accelerometer_frozen ? 1 : 0;
  }
  if (seconds < kLeastSpan) return;
  const double has_samples = frames - missing;
  if (missing >= kFewSamples * frames) {
    SayHolds(
        ImuFault::kNoSamples,
        {WarningKind::kImuSamples, missing / frames, "1",
         absl::StrFormat("imu: %.0f %% of the pairs of the last %.0f s have no readings since the pair before: send "
                         "those up to a pair's time before it or with it",
                         100 * missing / frames, kSampleSpan)});
  } else {
    Say(ImuFault::kNoSamples, Verdict::kDoesNot);
  }
  if (has_samples == 0) return;
  if (saturated >= kFewSamples * has_samples) {
    SayHolds(
        ImuFault::kSaturated,
        {WarningKind::kImuSamples, saturated / frames, "1",
         absl::StrFormat("imu: readings are at the sensor's range in %.0f %% of the pairs of the last %.0f s: set the "
                         "sensor to a larger one, or correct imu.gyroscope_range and imu.accelerometer_range",
                         100 * saturated / frames, kSampleSpan)});
  } else {
    Say(ImuFault::kSaturated, Verdict::kDoesNot);
  }
  if (frozen_seconds < kFrozenSpan / 2) return;
  const bool is_gyroscope = gyroscope_frozen == frozen_frames, is_accelerometer = accelerometer_frozen == frozen_frames;
  if (!is_gyroscope && !is_accelerometer) return Say(ImuFault::kFrozen, Verdict::kDoesNot);
  if (!HasMoved(is_accelerometer)) return;
  SayHolds(
      ImuFault::kFrozen,
      {WarningKind::kImuSamples, std::max(gyroscope_frozen, accelerometer_frozen) / frozen_frames, "1",
       absl::StrFormat("imu: the %s the same values all the time, while the camera moves: its driver repeats an old "
                       "reading, or the sensor is to be started again",
                       is_gyroscope && is_accelerometer ? "gyroscope and the accelerometer have"
                       : is_gyroscope                   ? "gyroscope has"
                                                        : "accelerometer has")});
}

void ImuWatch::JudgeLength() {
  double seconds = 0, sum = 0;
  for (const Interval& interval : intervals_) {
    if (!interval.has_samples || SecondsBetween(interval.to_ns, intervals_.back().to_ns) >= kLengthSpan) continue;
    seconds += interval.seconds;
    sum += interval.seconds * interval.acceleration;
  }
  if (seconds < kLeastSpan) return;
  const double length = sum / seconds, ratio = length / model_.gravity;
  if (ratio >= kLeastLength && ratio <= kMostLength) return Say(ImuFault::kGravityUnits, Verdict::kDoesNot);
  const auto is_near = [](double value, double to) { return value > 0.8 * to && value < 1.25 * to; };
  const char* const advice = is_near(length, 1)                       ? "the readings look like units of g: send m/s^2"
                             : is_near(length, 1000 * model_.gravity) ? "the readings look like mm/s^2: send m/s^2"
                             : is_near(length, 100 * model_.gravity) ? "the readings look like cm/s^2 or mg: send m/s^2"
                             : ratio < 1                             ? "send m/s^2, and do not take gravity off"
                                                                     : "send m/s^2";
  SayHolds(ImuFault::kGravityUnits,
           {WarningKind::kImuContradicts, ratio, "1",
            absl::StrFormat("imu: accelerations are %.3g long on average, where gravity is %.2f m/s^2: %s", length,
                            model_.gravity, advice)});
}

}  // namespace glint::slam
