#include "slam/odometry/odometry.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "slam/front_end/depth_rules.h"
#include "slam/front_end/frame_stamp.h"

namespace glint::slam {
namespace {

// Seconds that are measured between keyframes: over more, a tilt of the map, which is taken for an acceleration, would
// count for more than images do.
constexpr double kLongestLink = 1;
constexpr int kFewestProven = 10;    // inliers, by which a pose is surely the world's
constexpr double kMinDisparity = 1;  // pixels: farther points are not put into the map

class StageClock {
 public:
  // Nanoseconds since the last call, or the clock was made.
  int64_t Lap() {
    const Clock::time_point last = std::exchange(last_, Clock::now());
    return std::chrono::nanoseconds(last_ - last).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace

const char* NameOf(TrackingStatus status) {
  switch (status) {
    case TrackingStatus::kInitializing:
      return "INITIALIZING";
    case TrackingStatus::kTracking:
      return "TRACKING";
    case TrackingStatus::kCoasting:
      return "COASTING";
    case TrackingStatus::kLost:
      return "LOST";
    case TrackingStatus::kRelocalized:
      return "RELOCALIZED";
    case TrackingStatus::kNewMap:
      return "NEW_MAP";
  }
  return "?";
}

absl::Status ValidateOdometryOptions(const OdometryOptions& o) {
  const auto check = [](const char* field, double value, double low, double high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
  };
  GLINT_RETURN_IF_ERROR(check("min_inliers", o.min_inliers, 10, 1000));
  GLINT_RETURN_IF_ERROR(check("max_coasting", o.max_coasting, 0, 100));
  GLINT_RETURN_IF_ERROR(check("window", o.window, 2, 100));
  GLINT_RETURN_IF_ERROR(check("keyframe_share", o.keyframe_share, 0, 1));
  GLINT_RETURN_IF_ERROR(check("max_keyframe_gap", o.max_keyframe_gap, 1, 1000));
  GLINT_RETURN_IF_ERROR(check("adjust_delay", o.adjust_delay, 0, 100));
  GLINT_RETURN_IF_ERROR(check("rig_prior", o.rig_prior, 1e-6, 0.1));
  GLINT_RETURN_IF_ERROR(check("max_blind_seconds", o.max_blind_seconds, 0, 60));
  if (o.imu.has_value()) GLINT_RETURN_IF_ERROR(ValidateImuModel(*o.imu));
  GLINT_RETURN_IF_ERROR(check("noise.corner", o.noise.corner, 0.01, 100));
  GLINT_RETURN_IF_ERROR(check("noise.followed", o.noise.followed, 0.01, 100));
  GLINT_RETURN_IF_ERROR(check("noise.disparity", o.noise.disparity, 0.01, 100));
  GLINT_RETURN_IF_ERROR(check("noise.vertical_disparity", o.noise.vertical_disparity, 0.01, 100));
  return absl::OkStatus();
}

Odometry::Odometry(const StereoCamera& camera, const OdometryOptions& options, FrontEnd* front_end, AdjustmentUse use,
                   BackgroundThreads* threads)
    : camera_(camera),
      options_(options),
      front_end_(front_end),
      rig_uncertainty_(Eigen::Vector3d::Constant(options.refine_rig ? options.rig_prior : 0)),
      pose_finder_(options.min_inliers, options.noise, front_end),
      moving_region_(camera, options.noise, front_end),
      keyframes_(options.keyframe_share, options.max_keyframe_gap),
      adjustment_(use, options.adjust_delay, threads) {
  if (options.imu.has_value()) inertial_.emplace(*options.imu);
}

absl::Status Odometry::ValidateInput(const CameraView& view, int64_t time_ns) const {
  GLINT_RETURN_IF_ERROR(ValidateView(camera_, view));
  if (view.has_depth() && options_.refine_rig) {
    return ContradictionError("refine_rig", "is on, but a camera with depth has no right camera");
  }
  if (has_time_ && time_ns <= last_time_ns_) {
    return ContradictionError("time_ns", absl::StrCat(time_ns, " is not above the last pair's, ", last_time_ns_));
  }
  return absl::OkStatus();
}

absl::Status Odometry::Track(const CameraView& view, int64_t time_ns, OdometryResult* result) {
  *result = {};
  GLINT_RETURN_IF_ERROR(ValidateInput(view, time_ns));
  StageClock clock;
  GLINT_RETURN_IF_ERROR(FindKeypoints(view));
  result->keypoints = static_cast<int>(frame_.left.count());
  result->find_ns = clock.Lap();
  result->is_adjusted = adjustment_.IsDue();
  if (result->is_adjusted) FinishAdjustment();
  result->adjust_ns = clock.Lap();
  keyframes_.CountFrame();
  pose_finder_.CountFrame(has_time_ ? SecondsBetween(last_time_ns_, time_ns) : 0);
  if (inertial_.has_value()) inertial_->Advance(time_ns);
  const bool is_keyframe = LocateFrame(time_ns, result->keypoints);
  last_time_ns_ = time_ns;
  has_time_ = true;
  result->track_ns = clock.Lap();
  DescribeFit(result);
  result->is_keyframe = is_keyframe && TakeKeyframe(result);
  Describe(result);
  result->adjust_ns += clock.Lap();
  return absl::OkStatus();
}

absl::Status Odometry::FindKeypoints(const CameraView& view) {
  std::swap(seen_before_, has_region_ ? seen_ : frame_);
  GLINT_RETURN_IF_ERROR(FindIn(view, camera_, front_end_, &frame_));
  const auto sees = [this](const StereoFrame& frame) {
    return frame.left.count() >= static_cast<size_t>(2 * options_.min_inliers);
  };
  has_region_ = !moving_region_.empty();
  if (has_region_) {
    std::swap(seen_, frame_);
    GLINT_RETURN_IF_ERROR(moving_region_.FindOutside(view, camera_, &frame_));
    has_region_ = sees(frame_) && moving_region_.IsMore(frame_, seen_);
    if (!has_region_) std::swap(seen_, frame_);
  }
  is_right_alone_ = false;
  if (view.has_depth() || sees(frame_) || map_.keyframes.empty()) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(front_end_->FindOne(view.right, view.right_mask, &other_));
  is_right_alone_ = sees(other_);
  if (is_right_alone_) std::swap(frame_, other_);
  return absl::OkStatus();
}

void Odometry::Describe(OdometryResult* result) const {
  result->status = status_;
  result->map_id = map_id_;
  result->world_from_camera = camera_from_world_.Inverse();
  result->rig_rotation = camera_.rig_rotation;
  if (!inertial_.has_value()) return;
  result->inertial = inertial_->Report();
  if (status_ == TrackingStatus::kCoasting && inertial_->is_ready()) {
    result->covariance = inertial_->filter().PoseCovariance() + AnchorCovarianceAt(camera_from_world_);
  }
}

void Odometry::PassOver(int64_t time_ns, int passed, OdometryResult* result) const {
  Describe(result);
  if (status_ == TrackingStatus::kInitializing || status_ == TrackingStatus::kLost) return;
  const std::optional<InertialFilter> predicted = inertial_.has_value() ? inertial_->Predict(time_ns) : std::nullopt;
  if (predicted.has_value()) {
    const double blind = inertial_->blind_seconds() + SecondsBetween(last_time_ns_, time_ns);
    result->inertial.blind_seconds = blind;
    result->status = blind > options_.max_blind_seconds ? TrackingStatus::kLost : TrackingStatus::kCoasting;
    if (result->status == TrackingStatus::kLost) return;
    const Pose camera_from_world = predicted->camera_from_world();
    result->world_from_camera = camera_from_world.Inverse();
    result->covariance = predicted->PoseCovariance() + AnchorCovarianceAt(camera_from_world);
    return;
  }
  result->status = passed > options_.max_coasting ? TrackingStatus::kLost : TrackingStatus::kCoasting;
  if (result->status == TrackingStatus::kCoasting) {
    result->world_from_camera = Predict(time_ns).camera_from_world.Inverse();
  }
}

void Odometry::DescribeFit(OdometryResult* result) const {
  result->matches = static_cast<int>(matches_.correspondences.size());
  result->inliers = matches_.fit.inliers;
  result->is_unclear = matches_.is_unclear;
  if (result->inliers == 0) return;
  result->moving = std::max(static_cast<int>(matches_.moving.size()), moving_region_.keypoints());
  result->covariance = UncertaintyAt(camera_from_world_, matches_.uncertainty).Total(RigSigma());
  const Pose seen_from = is_right_alone_ ? RightFromLeft(camera_) * camera_from_world_ : camera_from_world_;
  result->mean_error = MeanError(camera_, seen_from, matches_);
}

size_t Odometry::MeasuredPoints() const {
  return static_cast<size_t>(std::count_if(frame_.disparity.begin(), frame_.disparity.end(),
                                           [](float disparity) { return disparity >= kMinDisparity; }));
}

bool Odometry::CanInitialize() const { return MeasuredPoints() >= static_cast<size_t>(2 * options_.min_inliers); }

PosePrediction Odometry::Predict(int64_t time_ns) const {
  return motion_.Predict(camera_from_world_, SecondsBetween(last_time_ns_, time_ns), coasting_);
}

bool Odometry::FindPose(const PosePrior* prior, PosePrediction prediction, Pose* camera_from_world) {
  FrameContext context{camera_, map_, reference_keyframe_, frame_, prior, !moving_region_.empty()};
  if (!is_right_alone_) return pose_finder_.Find(context, prediction, camera_from_world, &matches_);
  const Pose right_from_left = RightFromLeft(camera_), left_from_right = right_from_left.Inverse();
  const Eigen::Matrix<double, 6, 6> to_right = AdjointOf(right_from_left), to_left = AdjointOf(left_from_right);
  PosePrior of_right;
  if (prior != nullptr) {
    of_right = {right_from_left * prior->camera_from_world, to_right * prior->covariance * to_right.transpose()};
    context.prior = &of_right;
  }
  prediction.camera_from_world = right_from_left * prediction.camera_from_world;
  Pose right_from_world = right_from_left * *camera_from_world;
  if (!pose_finder_.Find(context, prediction, &right_from_world, &matches_)) return false;
  *camera_from_world = left_from_right * right_from_world;
  PoseFit& fit = matches_.fit;
  fit.covariance = to_left * fit.covariance * to_left.transpose();
  fit.measured = left_from_right * fit.measured;
  fit.measured_covariance = to_left * fit.measured_covariance * to_left.transpose();
  matches_.uncertainty = matches_.uncertainty.Then(left_from_right, {});
  return true;
}

bool Odometry::LocateFrame(int64_t time_ns, int keypoints) {
  if (map_.keyframes.empty()) {
    matches_.Clear();
    const bool is_first = CanInitialize();
    status_ = is_first ? TrackingStatus::kTracking : TrackingStatus::kInitializing;
    if (is_first) map_id_ = next_map_id_++;
    if (is_first && inertial_.has_value()) inertial_->Located(camera_from_world_, matches_.fit.covariance);
    return is_first;
  }
  const Pose before = camera_from_world_;
  const bool is_on_imu = inertial_.has_value() && inertial_->is_ready();
  PosePrior prior;
  if (is_on_imu) prior = {inertial_->filter().camera_from_world(), PriorCovarianceOf(inertial_->filter())};
  const PosePrediction prediction = is_on_imu ? PredictionOf(inertial_->filter()) : Predict(time_ns);
  Pose found = camera_from_world_;
  if (!FindPose(is_on_imu ? &prior : nullptr, prediction, &found) || IsContradicted(matches_.fit)) {
    pose_finder_.is_alert() ? moving_region_.Advance() : moving_region_.Clear();
    if (is_on_imu && inertial_->is_ready()) {
      CoastOnImu(keypoints);
    } else {
      if (inertial_.has_value()) inertial_->NotLocated();
      Coast(time_ns, keypoints);
    }
    return false;
  }
  camera_from_world_ = found;
  if (inertial_.has_value()) inertial_->Located(matches_.fit.measured, matches_.fit.measured_covariance);
  unmatched_ = 0;
  const TrackingStatus last = status_;
  // Velocity is measured between located frames only.
  if (last == TrackingStatus::kLost || (last == TrackingStatus::kCoasting && !motion_.is_known())) {
    motion_.Reset();
  } else {
    const bool has_coasted = last == TrackingStatus::kCoasting;
    motion_.Update(has_coasted ? coasted_.Inverse() * before : before, camera_from_world_,
                   SecondsBetween(has_coasted ? located_time_ns_ : last_time_ns_, time_ns));
    has_coasted ? moving_region_.Advance() : WatchMovingRegion(before);
  }
  coasting_ = 0;
  status_ = last == TrackingStatus::kLost ? TrackingStatus::kRelocalized : TrackingStatus::kTracking;
  if (is_right_alone_ || last == TrackingStatus::kLost) return false;  // the latter may be a mistake
  if (last == TrackingStatus::kRelocalized) return true;               // two pairs agree
  const bool is_late = inertial_.has_value() && inertial_->seconds_since_keyframe() > kLongestLink;
  return keyframes_.IsDue(map_, reference_keyframe_, next_keyframe_ - first_keyframe_, MeasuredPoints(), matches_,
                          is_late);
}

void Odometry::WatchMovingRegion(const Pose& before) {
  const bool is_sure = ProvenInliers(map_, matches_) >= kFewestProven;
  const bool is_starving = is_sure && KeyframeSelector::IsFew(matches_.fit.inliers, MeasuredPoints());
  if (!pose_finder_.is_alert() && !is_starving) return moving_region_.Clear();
  if (!is_sure) return moving_region_.Advance();
  moving_region_.Observe(camera_, seen_before_, has_region_ ? seen_ : frame_, camera_from_world_ * before.Inverse(),
                         matches_);
  if (!moving_region_.empty()) pose_finder_.SuspectMoving();
}

void Odometry::Coast(int64_t time_ns, int keypoints) {
  const bool is_blind = keypoints < options_.min_inliers;
  if (status_ == TrackingStatus::kLost || is_blind || !motion_.is_known() || coasting_ >= options_.max_coasting) {
    status_ = TrackingStatus::kLost;
    motion_.Reset();
    return;
  }
  if (coasting_++ == 0) {
    coasted_ = Pose();
    located_time_ns_ = last_time_ns_;
  }
  const Pose before = std::exchange(camera_from_world_, Predict(time_ns).camera_from_world);
  coasted_ = camera_from_world_ * before.Inverse() * coasted_;
  status_ = TrackingStatus::kCoasting;
}

bool Odometry::TakeKeyframe(OdometryResult* result) {
  if (is_adjusting()) {
    // Both happen in one frame only if the last keyframe is closer than the delay.
    if (!adjustment_.may_finish_early()) return false;
    FinishAndRemapObservations();
    result->is_adjusted = true;
  }
  AddKeyframe(matches_.fit.inliers > 0 ? matches_.uncertainty : PoseUncertainty());
  if (is_adjusting() && adjustment_.is_immediate()) {
    FinishAdjustment();
    result->is_adjusted = true;
  }
  return true;
}

void Odometry::AddObservation(Landmark* point, size_t keypoint, const Observation& observation) const {
  const Features& f = frame_.left;
  const auto bytes = static_cast<size_t>(f.descriptor_bytes);
  const uint8_t* descriptor = f.descriptors.data() + keypoint * bytes;
  point->descriptor.assign(descriptor, descriptor + bytes);
  point->octave = f.octave[keypoint];
  point->distance = (camera_from_world_ * point->position).norm();
  point->observations.push_back({map_.keyframes.back().id, static_cast<int32_t>(keypoint), observation});
}

void Odometry::TriangulatePoints(const std::vector<uint8_t>& is_known) {
  const Pose world_from_camera = camera_from_world_.Inverse();
  const Features& f = frame_.left;
  for (size_t k = 0; k < f.count(); ++k) {
    Eigen::Vector3d p;
    if (is_known[k] != 0 || frame_.is_stereo[k] == 0 || frame_.disparity[k] < kMinDisparity ||
        !Triangulate(camera_, f.x[k], f.y[k], frame_.disparity[k], &p)) {
      continue;
    }
    map_.points.emplace_back();
    map_.points.back().id = next_point_++;
    map_.points.back().position = world_from_camera * p;
    // The patch at the first observation is the point: what is followed from there has no error of a corner.
    Observation observation = ObservationOf(frame_, k, options_.noise);
    observation.position_sigma = options_.noise.followed;
    AddObservation(&map_.points.back(), k, observation);
  }
}

void Odometry::DescribeKeyframeStep() {
  keyframe_step_.points.clear();
  if (matches_.correspondences.empty()) return;
  const Keyframe& older = map_.keyframes.back();
  keyframe_step_.newer_from_older = camera_from_world_ * older.camera_from_world.Inverse();
  for (size_t i = 0; i < matches_.correspondences.size(); ++i) {
    if (matches_.landmark[i] >= map_.points.size()) continue;  // an adjustment has taken it away
    const Landmark::KeyframeObservation& last = map_.points[matches_.landmark[i]].observations.back();
    const Observation& newer = matches_.correspondences[i].observation;
    if (last.keyframe == older.id && last.observation.is_stereo && newer.is_stereo) {
      keyframe_step_.points.push_back({last.observation, newer});
    }
  }
}

void Odometry::AddKeyframe(const PoseUncertainty& step) {
  DescribeKeyframeStep();
  keyframes_.Reset();
  front_end_->SetReferenceFrame();
  reference_keyframe_ = next_keyframe_++;
  map_.keyframes.push_back({reference_keyframe_, camera_from_world_, {}});
  anchor_ = {reference_keyframe_, camera_from_world_, UncertaintyAt(camera_from_world_, step)};
  newest_step_ = step;
  if (inertial_.has_value()) AddInertial(&map_.keyframes.back());
  std::vector<uint8_t> is_known(frame_.left.count(), 0);
  for (const size_t k : matches_.moving) is_known[k] = 1;
  for (size_t i = 0; i < matches_.correspondences.size(); ++i) {
    if (matches_.fit.is_inlier[i] == 0) continue;
    is_known[matches_.keypoint[i]] = 1;
    AddObservation(&map_.points[matches_.landmark[i]], matches_.keypoint[i], matches_.correspondences[i].observation);
  }
  TriangulatePoints(is_known);
  while (static_cast<int>(map_.keyframes.size()) > options_.window) map_.DropOldest();
  if (map_.keyframes.size() >= 2) StartAdjustment();
}

void Odometry::StartAdjustment() {
  if (inertial_.has_value()) {
    FillMotions();
    DropUntiedKeyframes();
    if (map_.keyframes.size() < 2) return;
  }
  AdjustmentOptions adjustment;
  adjustment.fixed_keyframes = map_.keyframes.front().id == first_keyframe_ ? 1 : 2;
  adjustment.refine_rig = options_.refine_rig;
  adjustment.rig_prior = options_.rig_prior;
  LocalProblem problem = ProblemOf(camera_, map_);
  problem.inertial = InertialOfWindow();
  adjustment_.Start(adjustment, std::move(problem));
}

void Odometry::FinishAdjustment() {
  const LocalProblem solved = adjustment_.Finish();
  const Pose keyframe_from_world = map_.keyframes.back().camera_from_world;
  ApplySolution(solved, &map_);
  camera_.rig_rotation = solved.camera.rig_rotation;
  rig_uncertainty_ = solved.rig_uncertainty;
  const Pose new_from_old = map_.keyframes.back().camera_from_world.Inverse() * keyframe_from_world;
  camera_from_world_ = camera_from_world_ * keyframe_from_world.Inverse() * map_.keyframes.back().camera_from_world;
  anchor_.camera_from_world = anchor_.camera_from_world * new_from_old.Inverse();
  world_correction_ = new_from_old * world_correction_.value_or(Pose());
  if (!inertial_.has_value()) return;
  inertial_->Correct(new_from_old);
  if (solved.inertial.has_value()) KeepNewestMotion(solved.inertial->newest_sigma);
}

void Odometry::FinishAndRemapObservations() {
  std::vector<int64_t> ids;
  ids.reserve(matches_.landmark.size());
  for (const size_t p : matches_.landmark) ids.push_back(map_.points[p].id);
  FinishAdjustment();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = std::lower_bound(map_.points.begin(), map_.points.end(), ids[i],
                                        [](const Landmark& p, int64_t id) { return p.id < id; });
    if (found == map_.points.end() || found->id != ids[i]) {
      matches_.fit.is_inlier[i] = 0;
      matches_.landmark[i] = map_.points.size();
    } else {
      matches_.landmark[i] = static_cast<size_t>(found - map_.points.begin());
    }
  }
}

void Odometry::ApplyCorrections(const std::map<int64_t, Pose>& corrections) {
  for (Landmark& point : map_.points) {
    point.position = CorrectionOf(corrections, point.observations.back().keyframe) * point.position;
  }
  for (Keyframe& k : map_.keyframes) {
    const Pose& correction = CorrectionOf(corrections, k.id);
    k.camera_from_world = k.camera_from_world * correction.Inverse();
    if (!k.inertial.has_value()) continue;
    for (ImuMotion* motion : {&k.inertial->motion, &k.inertial->prior}) {
      motion->velocity = correction.rotation * motion->velocity;
    }
  }
  const Pose& last = CorrectionOf(corrections, map_.keyframes.back().id);
  camera_from_world_ = camera_from_world_ * last.Inverse();
  world_correction_ = last * world_correction_.value_or(Pose());
  anchor_.camera_from_world = anchor_.camera_from_world * last.Inverse();
  if (inertial_.has_value()) inertial_->Correct(last);
}

void Odometry::Rename(int32_t map_id, const std::optional<WorldLevel>& level) {
  if (inertial_.has_value() && (map_id != map_id_ || level.has_value() != is_level())) inertial_->EnterWorld(level);
  map_id_ = map_id;
}

void Odometry::Enter(LocalMap map, int32_t map_id, const PoseAnchor& anchor, const Pose& camera_from_world,
                     TrackingStatus status) {
  if (map_id != map_id_) world_correction_.reset();
  map_ = std::move(map);
  map_id_ = map_id;
  first_keyframe_ = -1;
  camera_from_world_ = camera_from_world;
  reference_keyframe_ = -1;
  motion_.Reset();
  anchor_ = anchor;
  unmatched_ = contradicted_ = 0;
  status_ = status;
  coasting_ = 0;
  keyframes_.Reset();
  matches_.Clear();
  moving_region_.Clear();
}

void Odometry::Load(LocalMap map, const StereoCamera& camera, const PoseAnchor& anchor, int64_t next_keyframe,
                    int64_t next_point, const std::optional<WorldLevel>& level) {
  Enter(std::move(map), next_map_id_++, anchor, anchor.camera_from_world, TrackingStatus::kLost);
  if (inertial_.has_value()) inertial_->LeaveWorld(level);
  camera_ = camera;
  next_keyframe_ = next_keyframe;
  next_point_ = next_point;
}

bool Odometry::Confirm(const LocalMap& map, const StereoFrame& frame, int min_inliers, Pose* camera_from_world,
                       FrameMatches* matches) {
  return pose_finder_.Confirm({camera_, map, /*reference_keyframe=*/-1, frame}, min_inliers, camera_from_world,
                              matches);
}

void Odometry::Relocalize(LocalMap map, int32_t map_id, const std::optional<WorldLevel>& level,
                          const PoseAnchor& anchor, const Pose& camera_from_world, FrameMatches matches,
                          OdometryResult* result) {
  if (inertial_.has_value()) map_id == map_id_ ? inertial_->Reset() : inertial_->LeaveWorld(level);
  Enter(std::move(map), map_id, anchor, camera_from_world, TrackingStatus::kRelocalized);
  matches_ = std::move(matches);
  DescribeFit(result);
  Describe(result);
}

bool Odometry::BeginMap(OdometryResult* result) {
  if (!CanInitialize() || pose_finder_.is_alert()) return false;
  Enter({}, next_map_id_++, {}, Pose(), TrackingStatus::kNewMap);
  pose_finder_.ForgetMoving();
  if (inertial_.has_value()) inertial_->BeginWorld();
  first_keyframe_ = next_keyframe_;
  AddKeyframe({});
  result->is_keyframe = true;
  Describe(result);
  return true;
}

}  // namespace glint::slam
