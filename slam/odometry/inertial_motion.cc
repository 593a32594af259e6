#include "slam/odometry/inertial_motion.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/types/span.h"
#include "slam/front_end/frame_stamp.h"

namespace glint::slam {
namespace {

constexpr double kSpacing = 0.1;          // seconds between poses, at least, to begin with
constexpr double kWideSpacing = 0.25;     // and once there is an estimate, to find a better one
constexpr double kLongestLink = 8;        // seconds between poses: beyond, the estimate is begun anew
constexpr double kStillPiece = 0.5;       // seconds: parts of a time in which nothing moved, by
constexpr double kStillTurn = 0.02;       // rad/s and
constexpr double kStillPush = 0.15;       // m/s^2, standard deviations of readings, and by both poses within
constexpr double kStillRotation = 0.005;  // radians and
constexpr double kStillPosition = 0.01;   // metres
constexpr size_t kMostSamples = 4096;     // between two poses
constexpr size_t kMostPoses = 40;         // that an estimate is made of
constexpr size_t kFewestPoses = 5;        // likewise
constexpr double kLongest = 10;           // seconds that more poses than these cover, at most
constexpr double kShortest = 1.5;         // seconds that they cover, at least
constexpr int kTryEvery = 3;              // poses
constexpr double kRefineAfter = 3;        // seconds that it is ready, until
constexpr double kRefineUntil = 10;       // a better estimate is taken, whose gravity is less uncertain by
constexpr double kRefineShare = 0.7;      // this factor
constexpr double kGravitySigma = 0.0175;  // radians; of an estimate that is taken, as the next ones
constexpr double kGyroscopeSigma = 0.005;
constexpr double kVelocitySigma = 0.1;
constexpr double kNormalizedError = 4;
constexpr double kLargeCorrection = 0.005;  // radians, of the last pose: the next one's motion is not the camera's
constexpr int kFrozen = 10;                 // samples in a row with the same values, to the bit, are none
constexpr double kGyroscopeBias = 0.5;      // rad/s: more is no bias
constexpr double kAccelerometerBias = 1.5;  // m/s^2

// Of readings: standard deviations about their mean.
bool IsStill(const std::vector<ImuSample>& samples) {
  Eigen::Vector3d turn = Eigen::Vector3d::Zero(), push = Eigen::Vector3d::Zero();
  for (const ImuSample& s : samples) {
    turn += s.angular_velocity;
    push += s.acceleration;
  }
  turn /= static_cast<double>(samples.size());
  push /= static_cast<double>(samples.size());
  double of_turn = 0, of_push = 0;
  for (const ImuSample& s : samples) {
    of_turn += (s.angular_velocity - turn).squaredNorm();
    of_push += (s.acceleration - push).squaredNorm();
  }
  const auto count = static_cast<double>(samples.size());
  return of_turn < kStillTurn * kStillTurn * count && of_push < kStillPush * kStillPush * count;
}

bool IsSame(const Pose& a, const Pose& b) {
  const Pose apart = a * b.Inverse();
  return AngleOf(apart.rotation) < kStillRotation && apart.translation.norm() < kStillPosition;
}

double SecondsOf(const std::vector<PosedMeasurement>& poses) {
  double sum = 0;
  for (size_t i = 1; i < poses.size(); ++i) sum += poses[i].since_last.seconds();
  return sum;
}

bool IsPlausible(const InertialEstimate& estimate) {
  return estimate.gravity_sigma <= kGravitySigma && estimate.gyroscope_sigma <= kGyroscopeSigma &&
         estimate.velocity_sigma <= kVelocitySigma && estimate.normalized_error <= kNormalizedError &&
         estimate.bias.gyroscope.norm() <= kGyroscopeBias && estimate.bias.accelerometer.norm() <= kAccelerometerBias;
}

}  // namespace

InertialMotion::InertialMotion(const ImuModel& model) : model_(model), buffer_(model), watch_(model), filter_(model) {}

std::optional<InertialFilter> InertialMotion::Predict(int64_t time_ns) const {
  std::vector<ImuSample> samples;
  if (!is_ready() || time_ns <= time_ns_ || !buffer_.Between(time_ns_, time_ns, &samples)) return std::nullopt;
  Preintegration measured(model_, filter_.state().motion.bias);
  measured.Add(samples);
  InertialFilter filter = filter_;
  filter.Propagate(measured);
  return filter;
}

void InertialMotion::Advance(int64_t time_ns) {
  const int64_t last_ns = std::exchange(time_ns_, time_ns);
  has_innovation_ = false;
  has_samples_ = std::exchange(has_time_, true) && time_ns > last_ns && buffer_.Between(last_ns, time_ns, &samples_);
  if (!has_samples_) samples_.clear();
  has_samples_ = has_samples_ && !IsFrozen();
  buffer_.DropBefore(time_ns);
  is_pose_linked_ = is_pose_linked_ && has_samples_;
  is_keyframe_linked_ = is_keyframe_linked_ && has_samples_;
  if (is_pose_linked_)
    since_pose_.insert(since_pose_.end(), samples_.begin() + (since_pose_.empty() ? 0 : 1), samples_.end());
  if (since_pose_.size() > kMostSamples) is_pose_linked_ = false;
  if (is_keyframe_linked_) since_keyframe_.Add(samples_);
  if (!is_ready()) return;
  if (!has_samples_) return Reset();
  Preintegration measured(model_, filter_.state().motion.bias);
  measured.Add(samples_);
  filter_.Propagate(measured);
  const double seconds = SecondsBetween(last_ns, time_ns);
  blind_seconds_ += seconds;
  ready_seconds_ += seconds;
}

bool InertialMotion::IsFrozen() {
  for (size_t i = 1; i < samples_.size(); ++i) {
    same_rates_ = samples_[i].angular_velocity == samples_[i - 1].angular_velocity ? same_rates_ + 1 : 0;
    same_accelerations_ = samples_[i].acceleration == samples_[i - 1].acceleration ? same_accelerations_ + 1 : 0;
  }
  return std::max(same_rates_, same_accelerations_) >= kFrozen;
}

std::optional<Innovation> InertialMotion::Compare(const Pose& camera_from_world, const Matrix6& covariance) const {
  if (!is_ready()) return std::nullopt;
  return filter_.Compare(camera_from_world, covariance);
}

void InertialMotion::Located(const Pose& camera_from_world, const Matrix6& covariance) {
  watch_.Add(time_ns_, camera_from_world, samples_);
  if (watch_.fault() != ImuFault::kNone) {
    if (status_ != InertialStatus::kLeftOut) Reset();
    status_ = InertialStatus::kLeftOut;
    return;
  }
  if (status_ == InertialStatus::kLeftOut) status_ = InertialStatus::kInitializing;
  if (is_ready()) {
    innovation_ = filter_.Compare(camera_from_world, covariance);
    has_innovation_ = true;
    filter_.Update(camera_from_world, covariance);
    bias_ = filter_.state().motion.bias;
  }
  blind_seconds_ = 0;
  if (is_refined_) return;
  const double since_last = since_pose_.empty() ? 0 : SecondsBetween(since_pose_.front().time_ns, time_ns_);
  if (is_pose_linked_ && since_last < (is_ready() ? kWideSpacing : kSpacing)) return;
  Remember(camera_from_world);
  Initialize();
}

void InertialMotion::Remember(const Pose& camera_from_world) {
  const auto add = [&](absl::Span<const ImuSample> samples) {
    history_.push_back({camera_from_world, Preintegration(model_, bias_)});
    history_.back().since_last.Add(samples);
    if (history_.size() > kMostPoses) history_.erase(history_.begin());
  };
  const double seconds = since_pose_.empty() ? 0 : SecondsBetween(since_pose_.front().time_ns, time_ns_);
  const bool is_still = is_pose_linked_ && !history_.empty() && seconds > kStillPiece && IsStill(since_pose_) &&
                        IsSame(history_.back().camera_from_world, camera_from_world);
  if (!is_pose_linked_ || (seconds > kLongestLink && !is_still)) history_.clear();
  if (is_still) {
    // It was here all the time.
    const auto pieces = static_cast<size_t>(std::ceil(seconds / kStillPiece));
    for (size_t i = 0; i < pieces; ++i) {
      const size_t first = i * (since_pose_.size() - 1) / pieces, last = (i + 1) * (since_pose_.size() - 1) / pieces;
      if (last > first) add(absl::MakeConstSpan(since_pose_).subspan(first, last - first + 1));
    }
  } else {
    add(since_pose_);
  }
  since_pose_.clear();
  is_pose_linked_ = true;
  ++poses_since_try_;
  // A pose that was wrong is not to be in the way for long.
  while (history_.size() > kFewestPoses && SecondsOf(history_) > kLongest) history_.erase(history_.begin());
}

void InertialMotion::Initialize() {
  const bool is_dense = history_.back().since_last.seconds() < kWideSpacing;
  if (history_.size() < kFewestPoses || (is_dense && poses_since_try_ < kTryEvery) || SecondsOf(history_) < kShortest ||
      (is_ready() && ready_seconds_ < kRefineAfter)) {
    return;
  }
  poses_since_try_ = 0;
  is_refined_ = is_ready() && ready_seconds_ >= kRefineUntil;
  if (is_refined_) is_pose_linked_ = false;  // no further pose is waited for
  InertialEstimate estimate;
  if (!EstimateInertial(model_, {}, history_, &estimate) || !IsPlausible(estimate)) return;
  if (is_ready() && estimate.gravity_sigma > kRefineShare * gravity_sigma_) return;
  gravity_sigma_ = estimate.gravity_sigma;
  bias_ = estimate.bias;
  const Pose world_from_imu = history_.back().camera_from_world.Inverse() * model_.camera_from_imu;
  InertialFilter::Sigmas sigmas;
  sigmas.rotation = std::max(sigmas.rotation, estimate.gravity_sigma);
  sigmas.velocity = std::max(0.02, estimate.velocity_sigma);
  sigmas.gyroscope = std::max(0.0005, estimate.gyroscope_sigma);
  sigmas.accelerometer = std::max(0.01, estimate.accelerometer_sigma);
  sigmas.gravity = std::max(0.02, estimate.gravity_sigma * model_.gravity);
  filter_.Begin({world_from_imu, {estimate.velocity.back(), bias_}}, sigmas, estimate.gravity);
  if (!is_ready()) {
    ready_seconds_ = 0;
    is_keyframe_linked_ = false;
    history_.erase(history_.begin(), std::prev(history_.end()));
  }
  status_ = InertialStatus::kReady;
  level_ = LevelWorld(estimate.gravity, Pose());  // the world is that of its first camera, or level to a degree
}

void InertialMotion::NotLocated() { watch_.Break(); }

void InertialMotion::Anchor() {
  filter_.Anchor({});
  blind_seconds_ = 0;
  watch_.Break();
}

std::optional<Preintegration> InertialMotion::TakeSinceKeyframe() {
  std::optional<Preintegration> taken;
  if (is_ready() && is_keyframe_linked_ && since_keyframe_.seconds() > 0) taken = std::move(since_keyframe_);
  since_keyframe_ = Preintegration(model_, bias_);
  is_keyframe_linked_ = is_ready();
  return taken;
}

void InertialMotion::Correct(const Pose& correction) {
  filter_.Correct(correction);
  const Pose inverse = correction.Inverse();
  for (PosedMeasurement& pose : history_) pose.camera_from_world = pose.camera_from_world * inverse;
  if (AngleOf(correction.rotation) > kLargeCorrection) watch_.Break();
}

void InertialMotion::EnterWorld() {
  if (!is_ready()) return LeaveWorld();
  is_level_ = false;
  level_ = LevelWorld(filter_.gravity(), Pose());
}

void InertialMotion::Reset() {
  status_ = InertialStatus::kInitializing;
  history_.clear();
  since_pose_.clear();
  is_pose_linked_ = is_keyframe_linked_ = false;
  poses_since_try_ = 0;
  is_refined_ = false;
  level_.reset();
  blind_seconds_ = 0;
  watch_.Break();
}

void InertialMotion::LeaveWorld() {
  Reset();
  is_level_ = false;
}

Pose InertialMotion::TakeLevel() {
  is_level_ = true;
  Pose level = *level_;
  level_.reset();
  return level;
}

InertialReport InertialMotion::Report() const {
  InertialReport report;
  report.status = status_;
  report.is_level = is_level_;
  report.counts = buffer_.counts();
  if (!is_ready()) return report;
  report.motion = filter_.state().motion;
  report.velocity_sigma = filter_.velocity_sigma();
  report.gyroscope_bias_sigma = filter_.gyroscope_sigma();
  report.accelerometer_bias_sigma = filter_.accelerometer_sigma();
  report.blind_seconds = blind_seconds_;
  if (has_innovation_) {
    report.rotation_innovation = innovation_.rotation;
    report.position_innovation = innovation_.position;
  }
  return report;
}

}  // namespace glint::slam
