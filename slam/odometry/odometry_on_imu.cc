// What odometry does with an inertial sensor.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "slam/front_end/frame_stamp.h"
#include "slam/odometry/odometry.h"

namespace glint::slam {
namespace {

constexpr int kUnmatched = 2;                 // pairs in a row that show something, but nothing of the map, or
constexpr double kUnmatchedSeconds = 0.3;     // seconds since the last one that was located: the map is not in view
constexpr double kMaxInnovation = 25;         // of a pose, per degree of freedom, and
constexpr double kMaxRotationError = 0.01;    // radians, or
constexpr double kMaxPositionError = 0.05;    // metres: more is not believed, of
constexpr double kAgreedInnovation = 9;       // of a place that was recognised
constexpr int kMaxContradicted = 3;           // pairs in a row
constexpr double kPriorRotationSigma = 3e-3;  // radians and
constexpr double kPriorPositionSigma = 1e-2;  // metres: what the sensor does not know of its own errors
constexpr double kTypicalDepth = 4;           // metres: what an error of position is in pixels
constexpr double kNearRadius = 15;            // pixels: the search radius that PosePrediction::uncertainty multiplies

// Of a keyframe without a sensor that was ready: velocity and biases.
const LocalProblem::Inertial::Vector9 kUnknownMotion =
    (LocalProblem::Inertial::Vector9() << 30, 30, 30, 0.1, 0.1, 0.1, 0.5, 0.5, 0.5).finished();

// Below, errors of poses that are held show: a tilt of 0.002 radians is an acceleration of 0.02 m/s^2.
const LocalProblem::Inertial::Vector9 kLeastMotionSigma =
    (LocalProblem::Inertial::Vector9() << 0.005, 0.005, 0.005, 1e-4, 1e-4, 1e-4, 0.02, 0.02, 0.02).finished();

}  // namespace

absl::Status Odometry::AddImu(const ImuReadings& readings) {
  if (!inertial_.has_value()) return ContradictionError("imu", "there is no inertial sensor in the options");
  for (const auto& [name, of] : {std::pair("imu.angular_velocity", &readings.gyroscope),
                                 std::pair("imu.acceleration", &readings.accelerometer)}) {
    for (size_t i = 0; i < of->size(); ++i) {
      if (!(*of)[i].value.allFinite()) {
        return ContradictionError(absl::StrCat(name, "[", i, "]"), "is not finite");
      }
    }
  }
  inertial_->AddReadings(readings);
  return absl::OkStatus();
}

void Odometry::PredictPoses(absl::Span<const int64_t> sensor_times_ns,
                            const std::function<void(const PredictedPose&)>& found) const {
  if (!inertial_.has_value() || !inertial_->is_ready()) return;
  const double most_seconds = options_.max_blind_seconds - inertial_->blind_seconds();
  std::vector<int64_t> times;
  times.reserve(sensor_times_ns.size());
  for (const int64_t sensor_time_ns : sensor_times_ns) {
    int64_t time_ns = 0;
    const bool is_out_of_range =
        __builtin_sub_overflow(sensor_time_ns, inertial_->model().imu_time_minus_camera_time_ns, &time_ns);
    if (!is_out_of_range && SecondsBetween(last_time_ns_, time_ns) <= most_seconds) times.push_back(time_ns);
  }
  std::sort(times.begin(), times.end());
  inertial_->PredictEach(times, [&](int64_t time_ns, const InertialFilter& filter) {
    const Pose camera_from_world = filter.camera_from_world();
    found({time_ns, camera_from_world.Inverse(), filter.state().motion.velocity,
           filter.PoseCovariance() + AnchorCovarianceAt(camera_from_world)});
  });
}

Eigen::Matrix<double, 6, 6> Odometry::PriorCovarianceOf(const InertialFilter& filter) {
  Eigen::Matrix<double, 6, 6> covariance = filter.PoseCovariance();
  covariance.diagonal().head<3>().array() += kPriorRotationSigma * kPriorRotationSigma;
  covariance.diagonal().tail<3>().array() += kPriorPositionSigma * kPriorPositionSigma;
  return covariance;
}

PosePrediction Odometry::PredictionOf(const InertialFilter& filter) const {
  const Eigen::Matrix<double, 6, 1> sigma = filter.PoseCovariance().diagonal().cwiseSqrt();
  const double pixels =
      camera_.focal_length * (sigma.head<3>().maxCoeff() + sigma.tail<3>().maxCoeff() / kTypicalDepth);
  return {filter.camera_from_world(), true, std::max(1.0, 3 * pixels / kNearRadius)};
}

bool Odometry::IsContradicted(const PoseFit& fit) {
  const std::optional<Innovation> innovation =
      inertial_.has_value() ? inertial_->Compare(fit.measured, fit.measured_covariance) : std::nullopt;
  if (!innovation.has_value()) return false;
  const Pose error = fit.measured * inertial_->filter().camera_from_world().Inverse();
  const bool is_contradicted = (innovation->rotation > kMaxInnovation && AngleOf(error.rotation) > kMaxRotationError) ||
                               (innovation->position > kMaxInnovation && error.translation.norm() > kMaxPositionError);
  contradicted_ = is_contradicted ? contradicted_ + 1 : 0;
  if (contradicted_ <= kMaxContradicted) return is_contradicted;
  contradicted_ = 0;
  inertial_->Distrust();  // images are believed in the end
  return false;
}

void Odometry::CoastOnImu(int keypoints) {
  matches_.Clear();
  motion_.Reset();
  inertial_->NotLocated();
  if (inertial_->blind_seconds() > options_.max_blind_seconds) {
    status_ = TrackingStatus::kLost;
    inertial_->Reset();
    return;
  }
  ++coasting_;
  status_ = TrackingStatus::kCoasting;
  camera_from_world_ = inertial_->filter().camera_from_world();
  unmatched_ = keypoints >= options_.min_inliers ? unmatched_ + 1 : 0;
}

bool Odometry::is_off_map() const {
  return status_ == TrackingStatus::kCoasting && unmatched_ > 0 &&
         (unmatched_ >= kUnmatched || inertial_->blind_seconds() >= kUnmatchedSeconds);
}

bool Odometry::GoOnFromImu(OdometryResult* result) {
  if (!CanInitialize()) return false;
  unmatched_ = 0;
  pose_finder_.ForgetMoving();  // what is found from here on is of new points; the sensor tells a thing from the world
  AddKeyframe({inertial_->filter().PoseCovariance(), Eigen::Matrix<double, 6, 3>::Zero()});
  inertial_->Anchor();
  if (is_adjusting() && adjustment_.is_immediate()) {
    FinishAdjustment();
    result->is_adjusted = true;
  }
  result->is_keyframe = true;
  return true;
}

void Odometry::AddInertial(Keyframe* keyframe) {
  const std::optional<Preintegration> since_last = inertial_->TakeSinceKeyframe();
  if (!inertial_->is_ready()) return;
  const InertialFilter& filter = inertial_->filter();
  const ImuMotion& motion = filter.state().motion;
  keyframe->inertial = {motion, motion, filter.MotionSigmas(),
                        since_last.has_value() ? *since_last : Preintegration(inertial_->model(), motion.bias)};
}

void Odometry::FillMotions() {
  if (!inertial_->is_ready()) return;
  for (Keyframe& keyframe : map_.keyframes) {
    if (keyframe.inertial.has_value()) continue;
    const ImuBias& bias = inertial_->filter().state().motion.bias;
    const ImuMotion motion{Eigen::Vector3d::Zero(), bias};
    keyframe.inertial = {motion, motion, kUnknownMotion, Preintegration(inertial_->model(), bias)};
  }
}

void Odometry::DropUntiedKeyframes() {
  const size_t newest = map_.keyframes.size() - 1;
  const bool are_linked = InertialOfWindow().has_value();
  // The oldest keyframe that each one is tied to, with those between: by points, and by what was measured.
  std::vector<size_t> tied_to(newest + 1);
  for (size_t k = 0; k <= newest; ++k) {
    const bool is_linked = k > 0 && are_linked && map_.keyframes[k].inertial->since_last.seconds() > 0;
    tied_to[k] = is_linked ? k - 1 : k;
  }
  for (const Landmark& point : map_.points) {
    if (point.observations.empty()) continue;
    const size_t first = map_.IndexOf(point.observations.front().keyframe);
    for (const Landmark::KeyframeObservation& o : point.observations) {
      const size_t k = map_.IndexOf(o.keyframe);
      tied_to[k] = std::min(tied_to[k], first);
    }
  }
  size_t oldest = newest;
  for (size_t k = newest + 1; k-- > oldest;) oldest = std::min(oldest, tied_to[k]);
  for (size_t k = 0; k < oldest; ++k) map_.DropOldest();
}

std::optional<LocalProblem::Inertial> Odometry::InertialOfWindow() const {
  if (!inertial_.has_value() || !inertial_->is_ready() || !inertial_->is_level()) return std::nullopt;
  if (!map_.keyframes.back().inertial.has_value()) return std::nullopt;
  const Keyframe::Inertial& oldest = *map_.keyframes.front().inertial;
  LocalProblem::Inertial inertial;
  inertial.model = inertial_->model();
  inertial.gravity = inertial_->filter().gravity();
  inertial.prior = oldest.prior;
  inertial.prior_sigma = oldest.prior_sigma;
  return inertial;
}

Pose Odometry::Level(OdometryResult* result) {
  Pose level = inertial_->TakeLevel();
  TurnWorld(level);
  Describe(result);
  return level;
}

bool Odometry::Agrees(const Pose& camera_from_world, const PoseFit& fit) const {
  const std::optional<Innovation> innovation =
      inertial_.has_value() ? inertial_->Compare(camera_from_world, fit.covariance) : std::nullopt;
  return innovation.has_value() && innovation->rotation <= kAgreedInnovation &&
         innovation->position <= kAgreedInnovation;
}

void Odometry::Rejoin(LocalMap map, const PoseAnchor& anchor, const Pose& camera_from_world, FrameMatches matches,
                      OdometryResult* result) {
  Enter(std::move(map), map_id_, anchor, camera_from_world, TrackingStatus::kRelocalized);
  inertial_->ForgetKeyframe();
  inertial_->Located(matches.fit.measured, matches.fit.measured_covariance);
  matches_ = std::move(matches);
  DescribeFit(result);
  Describe(result);
}

void Odometry::KeepNewestMotion(const LocalProblem::Inertial::Vector9& sigma) {
  Keyframe::Inertial& newest = *map_.keyframes.back().inertial;
  newest.prior = newest.motion;
  newest.prior_sigma = sigma.cwiseMin(kUnknownMotion).cwiseMax(kLeastMotionSigma);
}

}  // namespace glint::slam
