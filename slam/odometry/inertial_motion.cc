#include "slam/odometry/inertial_motion.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/types/span.h"
#include "features/trigonometry.h"
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
constexpr double kShortest = 1.5;         // seconds that they cover, at least; or
constexpr double kShortestLevel = 0.4;    // in a world that is level
constexpr int kTryEvery = 3;              // poses
constexpr double kRefineAfter = 3;        // seconds that it is ready, until
constexpr double kRefineUntil = 10;       // a better estimate is taken, whose gravity is less uncertain by
constexpr double kRefineShare = 0.7;      // this factor
constexpr double kGravitySigma = 0.0175;  // radians; of an estimate that is taken, as the next ones
constexpr double kGyroscopeSigma = 0.005;
constexpr double kVelocitySigma = 0.1;
constexpr double kNormalizedError = 4;
constexpr double kMapTilt = 0.009;           // radians: a map is not everywhere as level as on the whole
constexpr double kContradiction = 3;         // standard deviations between directions of gravity
constexpr double kPriorError = 16;           // of an estimate that begins with them; 1 in 150 is above by chance
constexpr double kLeastGravitySigma = 1e-4;  // radians
// What biases may have changed by, standard deviations in rad/s and m/s^2: since a moment ago, and since the sensor was
// switched on.
constexpr double kGyroscopeDrift = 0.003, kGyroscopeChange = 0.02;
constexpr double kAccelerometerDrift = 0.03, kAccelerometerChange = 0.1;
constexpr double kLeastBiasSigma = 1e-5;
constexpr double kKnownGyroscope = 0.01;    // rad/s: standard deviation of a bias that is integrated about
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

bool IsPlausible(const ImuBias& bias) {
  return bias.gyroscope.norm() <= kGyroscopeBias && bias.accelerometer.norm() <= kAccelerometerBias;
}

bool IsPlausible(const InertialEstimate& estimate) {
  return estimate.gravity_sigma <= kGravitySigma && estimate.gyroscope_sigma <= kGyroscopeSigma &&
         estimate.velocity_sigma <= kVelocitySigma && estimate.normalized_error <= kNormalizedError &&
         IsPlausible(estimate.bias);
}

// Radians between `gravity` and that of a world that is level.
double TiltOf(const Eigen::Vector3d& gravity) { return AngleOfPoint(gravity.head<2>().norm(), -gravity.z()); }

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

void InertialMotion::PredictEach(
    absl::Span<const int64_t> times_ns,
    const std::function<void(int64_t time_ns, const InertialFilter& filter)>& found) const {
  if (!is_ready()) return;
  InertialFilter filter = filter_;
  std::vector<ImuSample> samples;
  int64_t last_ns = time_ns_;
  for (const int64_t time_ns : times_ns) {
    if (time_ns <= last_ns) continue;
    if (!buffer_.Between(last_ns, time_ns, &samples)) return;
    Preintegration measured(model_, filter.state().motion.bias);
    measured.Add(samples);
    filter.Propagate(measured);
    found(time_ns, filter);
    last_ns = time_ns;
  }
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
  if (!is_ready()) return FollowTilt();
  if (!has_samples_) {
    Reset();
    tilt_.reset();
    return;
  }
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
    if (status_ != InertialStatus::kLeftOut) Distrust();
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
  const bool by_level = is_level_ && !is_doubted_ && !is_ready();
  if (history_.size() < kFewestPoses || (is_dense && poses_since_try_ < kTryEvery) ||
      SecondsOf(history_) < (by_level ? kShortestLevel : kShortest) || (is_ready() && ready_seconds_ < kRefineAfter)) {
    return;
  }
  poses_since_try_ = 0;
  is_refined_ = is_ready() && ready_seconds_ >= kRefineUntil;
  if (is_refined_) is_pose_linked_ = false;  // no further pose is waited for
  InitializerOptions options;
  options.biases = PriorOfBiases();
  const double level_sigma = RootOfSquares(gravity_sigma_, kMapTilt);
  if (by_level) options.gravity = {-Eigen::Vector3d::UnitZ(), level_sigma};
  InertialEstimate estimate;
  if (!EstimateInertial(model_, options, history_, &estimate)) return;
  const bool agrees = by_level ? estimate.prior_error <= kPriorError
                               : is_level_ && TiltOf(estimate.gravity) <=
                                                  kContradiction * RootOfSquares(level_sigma, estimate.gravity_sigma);
  is_doubted_ = is_doubted_ || (by_level && !agrees);
  if (!IsPlausible(estimate) || (by_level && !agrees)) {
    if (is_ready() || estimate.gyroscope_sigma > kKnownGyroscope) return;
    // What is integrated about it now need not be again with the next poses.
    bias_.gyroscope = estimate.bias.gyroscope;
    for (PosedMeasurement& pose : history_) {
      pose.since_last.Relinearize({bias_.gyroscope, pose.since_last.bias().accelerometer});
    }
    return;
  }
  const bool is_kept = is_held_ && agrees;
  if (is_ready() && (is_kept || (!is_held_ && estimate.gravity_sigma > kRefineShare * gravity_sigma_))) return;
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
  if (is_kept) return;
  is_held_ = false;
  gravity_sigma_ = std::max(kLeastGravitySigma, estimate.gravity_sigma);
  level_ = LevelOf(estimate.gravity);
}

Pose InertialMotion::LevelOf(const Eigen::Vector3d& gravity) const {
  if (!is_level_) return LevelWorld(gravity, Pose());  // the world is that of its first camera
  return {Eigen::Quaterniond::FromTwoVectors(-gravity, Eigen::Vector3d::UnitZ()), Eigen::Vector3d::Zero()};
}

BiasEstimate InertialMotion::biases() const {
  if (!is_ready()) return known_biases_;
  BiasEstimate unknown;
  if (!IsPlausible(bias_)) return unknown;
  return {bias_, std::clamp(filter_.gyroscope_sigma(), kLeastBiasSigma, unknown.gyroscope_sigma),
          std::clamp(filter_.accelerometer_sigma(), kLeastBiasSigma, unknown.accelerometer_sigma)};
}

BiasEstimate InertialMotion::PriorOfBiases() const {
  BiasEstimate prior = known_biases_;
  const auto widen = [](double* sigma, double by, double most) { *sigma = std::min(RootOfSquares(*sigma, by), most); };
  const BiasEstimate unknown;
  widen(&prior.gyroscope_sigma, are_biases_own_ ? kGyroscopeDrift : kGyroscopeChange, unknown.gyroscope_sigma);
  widen(&prior.accelerometer_sigma, are_biases_own_ ? kAccelerometerDrift : kAccelerometerChange,
        unknown.accelerometer_sigma);
  return prior;
}

void InertialMotion::FollowTilt() {
  if (!tilt_.has_value()) return;
  if (!has_samples_) return tilt_.reset();
  Preintegration turned(model_, known_biases_.bias);
  turned.Add(samples_);
  tilt_->gravity = turned.DeltaRotation(known_biases_.bias).conjugate() * tilt_->gravity;
  tilt_->seconds += turned.seconds();
}

double InertialMotion::Tilt::sigma(const ImuModel& model) const {
  return RootOfSquares(sigma_at_first, model.gyroscope_noise() * std::sqrt(seconds), rate_sigma * seconds);
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

void InertialMotion::EnterWorld(const std::optional<WorldLevel>& level) {
  if (!is_ready()) return LeaveWorld(level);
  is_level_ = is_held_ = level.has_value();
  level_.reset();
  const double sigma = std::max(kLeastGravitySigma, filter_.gravity_sigma() / model_.gravity);
  if (is_level_) {
    gravity_sigma_ = level->gravity_sigma;
    if (TiltOf(filter_.gravity()) <= kContradiction * RootOfSquares(gravity_sigma_, kMapTilt, sigma)) return;
  }
  is_held_ = false;
  gravity_sigma_ = sigma;
  level_ = LevelOf(filter_.gravity());
}

void InertialMotion::Distrust() {
  Reset();
  tilt_.reset();
  known_biases_ = {};
  are_biases_own_ = false;
}

void InertialMotion::Reset() {
  if (is_ready()) {
    known_biases_ = biases();
    are_biases_own_ = true;
    const InertialFilter& f = filter_;
    tilt_ = {f.state().world_from_imu.rotation.conjugate() * f.gravity(),
             RootOfSquares(std::sqrt(f.PoseCovariance().diagonal().head<3>().maxCoeff()),
                           f.gravity_sigma() / model_.gravity),
             0, f.gyroscope_sigma()};
  }
  status_ = InertialStatus::kInitializing;
  history_.clear();
  since_pose_.clear();
  is_pose_linked_ = is_keyframe_linked_ = false;
  poses_since_try_ = 0;
  is_refined_ = false;
  level_.reset();
  is_held_ = is_level_;
  is_doubted_ = false;
  blind_seconds_ = 0;
  watch_.Break();
}

void InertialMotion::LeaveWorld(const std::optional<WorldLevel>& level) {
  Reset();
  is_level_ = is_held_ = level.has_value();
  if (!is_level_) return;
  gravity_sigma_ = level->gravity_sigma;
  if (!are_biases_own_) known_biases_ = level->biases;
}

void InertialMotion::BeginWorld() {
  LeaveWorld();
  if (!tilt_.has_value() || tilt_->sigma(model_) > kGravitySigma) return;
  gravity_sigma_ = tilt_->sigma(model_);
  level_ = LevelOf(model_.camera_from_imu.rotation * tilt_->gravity);
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
