#include "slam/odometry/odometry.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "slam/front_end/depth_rules.h"

namespace glint::slam {
namespace {

constexpr float kFirstRadius = 15;    // pixels of the level, around where the last motion puts a point
constexpr float kWidest = 3;          // times kFirstRadius: after a gap, and before the motion is given up
constexpr int64_t kFirstAsked = 2;    // keyframes: points that none of these sees are not asked for at first
constexpr int64_t kTrial = 6;         // keyframes in which a new point must be seen again to be asked for further on
constexpr float kSecondRadius = 5;    // around where the fitted pose puts it
constexpr double kMaxPatchSigma = 3;  // standard deviations of a corner, from it to where its patch is
constexpr float kRatio = 0.9f;
constexpr double kStandstill = 2;      // pixels: the median keypoint of a camera that moves goes farther
constexpr double kLeastDisparity = 1;  // pixels: farther points are not put into the map
// The first frames are all keyframes: two of them say little of the rig's rotation, and what a wrong one does to all
// depths would show as a jump when it is mended.
constexpr int64_t kFirstKeyframes = 6;

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

// A motion of `factor` times the length.
Pose Scaled(const Pose& motion, double factor) {
  const Eigen::AngleAxisd turn(motion.rotation);
  return {RotationOf(turn.axis() * turn.angle() * factor), motion.translation * factor};
}

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
  }
  return "?";
}

absl::Status ValidateOdometryOptions(const OdometryOptions& o) {
  const auto check = [](const char* field, double value, double low, double high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
  };
  absl::Status status = check("min_inliers", o.min_inliers, 10, 1000);
  if (status.ok()) status = check("max_coasting", o.max_coasting, 0, 100);
  if (status.ok()) status = check("window", o.window, 2, 100);
  if (status.ok()) status = check("keyframe_share", o.keyframe_share, 0, 1);
  if (status.ok()) status = check("max_keyframe_gap", o.max_keyframe_gap, 1, 1000);
  if (status.ok()) status = check("adjust_delay", o.adjust_delay, 0, 100);
  if (status.ok()) status = check("rig_prior", o.rig_prior, 1e-6, 0.1);
  if (status.ok()) status = check("noise.corner", o.noise.corner, 0.01, 100);
  if (status.ok()) status = check("noise.followed", o.noise.followed, 0.01, 100);
  if (status.ok()) status = check("noise.disparity", o.noise.disparity, 0.01, 100);
  if (status.ok()) status = check("noise.vertical_disparity", o.noise.vertical_disparity, 0.01, 100);
  return status;
}

Odometry::Odometry(const StereoCamera& camera, const OdometryOptions& options, FrontEnd* front_end, AdjustmentUse use)
    : camera_(camera),
      options_(options),
      front_end_(front_end),
      use_(use),
      rig_uncertainty_(Eigen::Vector3d::Constant(options.refine_rig ? options.rig_prior : 0)) {}

Pose Odometry::Predicted(double seconds) const {
  if (!has_motion_) return camera_from_world_;
  return Scaled(motion_, seconds - last_seconds_) * camera_from_world_;
}

absl::Status Odometry::Track(const CameraView& view, double seconds, OdometryResult* result) {
  *result = {};
  if (auto status = ValidateView(camera_, view); !status.ok()) return status;
  if (view.has_depth() && options_.refine_rig) {
    return ContradictionError("refine_rig", "is on, but a camera with depth has no right eye");
  }
  if (!std::isfinite(seconds)) return ContradictionError("seconds", absl::StrCat(seconds, " is not finite"));
  if (has_time_ && seconds <= last_seconds_) {
    return ContradictionError("seconds", absl::StrCat(seconds, " is not after the last pair's ", last_seconds_));
  }

  const int64_t began = Now();
  if (auto status = FindIn(view, camera_, front_end_, &frame_); !status.ok()) return status;
  const int64_t found = Now();
  result->find_ns = found - began;
  result->keypoints = static_cast<int>(frame_.left.count());
  if (IsAdjustmentDue()) {
    FinishAdjustment();
    result->is_adjusted = true;
  }
  const int64_t waited = Now();

  const Pose before = camera_from_world_;
  bool due = false;
  if (map_.keyframes.empty()) {
    correspondences_.clear();
    due = CanInitialize();
    status_ = due ? TrackingStatus::kTracking : TrackingStatus::kInitializing;
  } else if (Locate(seconds, result)) {
    const bool was_lost = status_ == TrackingStatus::kLost;
    // The motion since a frame that was not located is not one that is known.
    has_motion_ = status_ == TrackingStatus::kTracking || status_ == TrackingStatus::kRelocalized;
    if (has_motion_) {
      motion_seconds_ = seconds - last_seconds_;
      motion_ = Scaled(camera_from_world_ * before.Inverse(), 1 / motion_seconds_);
    }
    status_ = was_lost ? TrackingStatus::kRelocalized : TrackingStatus::kTracking;
    coasting_ = 0;
    if (after_keyframe_ == 0) after_keyframe_ = fit_.inliers;
    due = IsKeyframeDue(fit_.inliers);
  } else {
    const bool blind = result->keypoints < options_.min_inliers;
    if (status_ != TrackingStatus::kLost && !blind && coasting_ < options_.max_coasting) {
      ++coasting_;
      camera_from_world_ = Predicted(seconds);
      status_ = TrackingStatus::kCoasting;
    } else {
      status_ = TrackingStatus::kLost;
      has_motion_ = false;
    }
  }
  last_seconds_ = seconds;
  has_time_ = true;
  const int64_t tracked = Now();
  result->track_ns = tracked - waited;

  ++since_keyframe_;
  if (due && is_adjusting()) {
    // Both happen in one frame only if the last keyframe is closer than the delay.
    if (use_ == AdjustmentUse::kAfterDelay) {
      FinishAndRemapObservations();
      result->is_adjusted = true;
    } else {
      due = false;
    }
  }
  if (due) {
    AddKeyframe();
    if (is_adjusting() && options_.adjust_delay == 0 && use_ == AdjustmentUse::kAfterDelay) {
      FinishAdjustment();
      result->is_adjusted = true;
    }
  }
  result->is_keyframe = due;
  result->status = status_;
  result->world_from_camera = camera_from_world_.Inverse();
  result->rig_rotation = camera_.rig_rotation;
  result->adjust_ns = Now() - tracked + waited - found;
  return absl::OkStatus();
}

bool Odometry::CanInitialize() const {
  int stereo = 0;
  for (const uint8_t s : frame_.is_stereo) stereo += s;
  return stereo >= 2 * options_.min_inliers;
}

PointQuery::Point Odometry::AppearanceOf(const Landmark& point) {
  return {point.position, point.descriptor.data(), point.octave, point.distance};
}

void Odometry::MatchQueries(float ratio) {
  correspondences_.clear();
  keypoint_.clear();
  landmark_.clear();
  const Features& f = frame_.left;
  if (f.count() == 0 || query_.count() == 0) return;
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = kMaxPointBits;
  options.ratio = ratio;
  const DescriptorView train{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
  front_end_->Match(query_.InputFor(train, {f.x.data(), f.y.data(), f.octave.data(), nullptr}), options, &matches_);
  for (size_t q = 0; q < query_.count(); ++q) {
    if (matches_.index[q] == kNoMatch) continue;
    const auto keypoint = static_cast<size_t>(matches_.index[q]);
    correspondences_.push_back({map_.points[query_.name(q)].position, ObservationOf(frame_, keypoint, options_.noise)});
    keypoint_.push_back(keypoint);
    landmark_.push_back(query_.name(q));
  }
}

void Odometry::FollowPatches() {
  auto& [asked, x, y, to_x, to_y, is_followed] = following_;
  following_.Clear();
  for (size_t i = 0; i < correspondences_.size(); ++i) {
    const Landmark::KeyframeObservation& before = map_.points[landmark_[i]].observations.back();
    if (before.keyframe != reference_keyframe_) continue;
    asked.push_back(i);
    x.push_back(static_cast<float>(before.observation.pixel.left.x()));
    y.push_back(static_cast<float>(before.observation.pixel.left.y()));
    to_x.push_back(static_cast<float>(correspondences_[i].observation.pixel.left.x()));
    to_y.push_back(static_cast<float>(correspondences_[i].observation.pixel.left.y()));
  }
  if (asked.empty()) return;
  front_end_->Follow(x, y, &to_x, &to_y, &is_followed);
  for (size_t k = 0; k < asked.size(); ++k) {
    if (is_followed[k] == 0) continue;
    Observation& observation = correspondences_[asked[k]].observation;
    const Eigen::Vector2d found(to_x[k], to_y[k]);
    if ((found - observation.pixel.left).norm() > kMaxPatchSigma * observation.position_sigma) continue;
    observation.pixel.left = found;
    observation.position_sigma = options_.noise.followed;
  }
}

void Odometry::MatchNear(const Pose& camera_from_world, float radius, bool all) {
  query_.Clear(frame_.left.descriptor_bytes);
  const LevelScales scales{frame_.levels, frame_.scale};
  const int64_t newest = map_.keyframes.back().id;
  for (size_t i = 0; i < map_.points.size(); ++i) {
    const std::vector<Landmark::KeyframeObservation>& observations = map_.points[i].observations;
    const int64_t age = newest - observations.back().keyframe;
    if (all ? age >= kTrial && observations.size() == 1 : age >= kFirstAsked) continue;
    query_.AddProjected(i, AppearanceOf(map_.points[i]), camera_, camera_from_world, scales, radius);
  }
  MatchQueries(/*ratio=*/0);
}

void Odometry::MatchEverywhere() {
  query_.Clear(frame_.left.descriptor_bytes);
  for (size_t i = 0; i < map_.points.size(); ++i) query_.Add(i, AppearanceOf(map_.points[i]));
  MatchQueries(kRatio);
}

bool Odometry::Locate(double seconds, OdometryResult* result) {
  const double ahead = seconds - last_seconds_;
  const Pose predicted = Predicted(seconds);
  Pose pose = predicted;
  fit_.inliers = 0;
  fit_.is_inlier.clear();
  correspondences_.clear();
  // A map that was made by another front end fits nothing.
  const size_t bytes = map_.points.empty() ? 0 : map_.points.front().descriptor.size();
  if (bytes != static_cast<size_t>(frame_.left.descriptor_bytes)) return false;
  if (has_motion_) {
    // The motion says less of where the camera is the longer ago it was measured.
    const auto wider =
        static_cast<float>(std::clamp((1 + coasting_) * ahead / motion_seconds_, 1.0, static_cast<double>(kWidest)));
    MatchNear(pose, kFirstRadius * wider, /*all=*/false);
    solver_.Refine(camera_, correspondences_, &pose, &fit_);
  }
  if (has_motion_ && fit_.inliers < options_.min_inliers) {
    pose = predicted;
    MatchNear(pose, kFirstRadius * kWidest, /*all=*/true);
    if (solver_.Find(camera_, correspondences_, options_.min_inliers / 2, &pose))
      solver_.Refine(camera_, correspondences_, &pose, &fit_);
  }
  if (fit_.inliers < options_.min_inliers) {
    MatchEverywhere();
    if (!solver_.Find(camera_, correspondences_, options_.min_inliers / 2, &pose)) return false;
    solver_.Refine(camera_, correspondences_, &pose, &fit_);
  }
  const Pose near = pose;
  MatchNear(pose, kSecondRadius, /*all=*/true);
  FollowPatches();
  solver_.Refine(camera_, correspondences_, &pose, &fit_);
  if (fit_.inliers < options_.min_inliers) {
    // After a gap near points are seen from elsewhere, where the errors of their depths show: they disagree by more
    // than a patch's error, but not by more than a corner's.
    pose = near;
    MatchNear(pose, kSecondRadius, /*all=*/true);
    solver_.Refine(camera_, correspondences_, &pose, &fit_);
  }
  result->matches = static_cast<int>(correspondences_.size());
  result->inliers = fit_.inliers;
  if (fit_.inliers < options_.min_inliers) return false;
  camera_from_world_ = pose;
  result->covariance = fit_.covariance;
  for (size_t i = 0; i < correspondences_.size(); ++i) {
    if (fit_.is_inlier[i] == 0) continue;
    result->mean_error +=
        (Project(camera_, pose * correspondences_[i].point).left - correspondences_[i].observation.pixel.left).norm();
  }
  result->mean_error /= fit_.inliers;
  return true;
}

bool Odometry::HasMoved() const {
  std::vector<double> moved;
  for (size_t i = 0; i < correspondences_.size(); ++i) {
    const Landmark::KeyframeObservation& before = map_.points[landmark_[i]].observations.back();
    if (fit_.is_inlier[i] == 0 || before.keyframe != reference_keyframe_) continue;
    moved.push_back((correspondences_[i].observation.pixel.left - before.observation.pixel.left).norm());
  }
  if (moved.empty()) return true;
  const auto middle = moved.begin() + static_cast<ptrdiff_t>(moved.size() / 2);
  std::nth_element(moved.begin(), middle, moved.end());
  return *middle > kStandstill;
}

bool Odometry::IsKeyframeDue(int inliers) const {
  if (inliers < options_.keyframe_share * after_keyframe_) return true;
  return (next_keyframe_ < kFirstKeyframes || since_keyframe_ + 1 >= options_.max_keyframe_gap) && HasMoved();
}

void Odometry::AddKeyframe() {
  since_keyframe_ = 0;
  front_end_->SetReferenceFrame();
  const int64_t id = next_keyframe_++;
  reference_keyframe_ = id;
  map_.keyframes.push_back({id, camera_from_world_});
  const Features& f = frame_.left;
  std::vector<uint8_t> is_known(f.count(), 0);
  const auto see = [&](Landmark* point, size_t keypoint, const Observation& observation) {
    is_known[keypoint] = 1;
    const auto bytes = static_cast<size_t>(f.descriptor_bytes);
    const uint8_t* descriptor = f.descriptors.data() + keypoint * bytes;
    point->descriptor.assign(descriptor, descriptor + bytes);
    point->octave = f.octave[keypoint];
    point->distance = (camera_from_world_ * point->position).norm();
    point->observations.push_back({id, static_cast<int32_t>(keypoint), observation});
  };
  after_keyframe_ = 0;
  for (size_t i = 0; i < correspondences_.size(); ++i) {
    if (fit_.is_inlier[i] == 0) continue;
    see(&map_.points[landmark_[i]], keypoint_[i], correspondences_[i].observation);
  }
  const Pose world_from_camera = camera_from_world_.Inverse();
  for (size_t k = 0; k < f.count(); ++k) {
    Eigen::Vector3d p;
    if (is_known[k] != 0 || frame_.is_stereo[k] == 0 || frame_.disparity[k] < kLeastDisparity ||
        !Triangulate(camera_, f.x[k], f.y[k], frame_.disparity[k], &p)) {
      continue;
    }
    map_.points.emplace_back();
    map_.points.back().id = next_point_++;
    map_.points.back().position = world_from_camera * p;
    // The patch at the first observation is the point: what is followed from there has no error of a corner.
    Observation observation = ObservationOf(frame_, k, options_.noise);
    observation.position_sigma = options_.noise.followed;
    see(&map_.points.back(), k, observation);
  }

  while (static_cast<int>(map_.keyframes.size()) > options_.window) map_.DropOldest();
  if (map_.keyframes.size() >= 2) StartAdjustment();
}

void Odometry::StartAdjustment() {
  AdjustmentOptions adjustment;
  adjustment.fixed_keyframes = map_.keyframes.front().id == 0 ? 1 : 2;
  adjustment.refine_rig = options_.refine_rig;
  adjustment.rig_prior = options_.rig_prior;
  adjusted_in_ = options_.adjust_delay;
  adjustment_ = std::async(std::launch::async, [adjustment, problem = ProblemOf(camera_, map_)]() mutable {
    Adjust(adjustment, &problem);
    return std::move(problem);
  });
}

bool Odometry::IsAdjustmentDue() {
  if (!is_adjusting()) return false;
  if (use_ == AdjustmentUse::kAfterDelay) return --adjusted_in_ <= 0;
  return adjustment_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void Odometry::FinishAdjustment() {
  const LocalProblem solved = adjustment_.get();
  const Pose keyframe_from_world = map_.keyframes.back().camera_from_world;
  ApplySolution(solved, &map_);
  camera_.rig_rotation = solved.camera.rig_rotation;
  rig_uncertainty_ = solved.rig_uncertainty;
  camera_from_world_ = camera_from_world_ * keyframe_from_world.Inverse() * map_.keyframes.back().camera_from_world;
}

void Odometry::FinishAndRemapObservations() {
  std::vector<int64_t> ids;
  ids.reserve(landmark_.size());
  for (const size_t p : landmark_) ids.push_back(map_.points[p].id);
  FinishAdjustment();
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto found = std::lower_bound(map_.points.begin(), map_.points.end(), ids[i],
                                        [](const Landmark& p, int64_t id) { return p.id < id; });
    if (found == map_.points.end() || found->id != ids[i]) {
      fit_.is_inlier[i] = 0;
    } else {
      landmark_[i] = static_cast<size_t>(found - map_.points.begin());
    }
  }
}

void Odometry::ApplyCorrections(const std::map<int64_t, Pose>& corrections) {
  for (Landmark& point : map_.points) {
    point.position = CorrectionOf(corrections, point.observations.back().keyframe) * point.position;
  }
  for (Keyframe& k : map_.keyframes)
    k.camera_from_world = k.camera_from_world * CorrectionOf(corrections, k.id).Inverse();
  camera_from_world_ = camera_from_world_ * CorrectionOf(corrections, map_.keyframes.back().id).Inverse();
}

void Odometry::Restart(LocalMap map, const StereoCamera& camera, const Pose& camera_from_world, bool is_located,
                       int64_t next_keyframe, int64_t next_point) {
  if (is_adjusting()) adjustment_.get();
  map_ = std::move(map);
  camera_ = camera;
  camera_from_world_ = camera_from_world;
  next_keyframe_ = next_keyframe;
  next_point_ = next_point;
  reference_keyframe_ = -1;
  has_motion_ = false;
  status_ = is_located ? TrackingStatus::kRelocalized : TrackingStatus::kLost;
  coasting_ = 0;
  since_keyframe_ = 0;
  after_keyframe_ = 0;
}

}  // namespace glint::slam
