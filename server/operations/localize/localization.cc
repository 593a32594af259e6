#include "server/operations/localize/localization.h"

#include <algorithm>
#include <array>
#include <utility>

#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "slam/front_end/depth_rules.h"

namespace glint {
namespace {

// What a map takes, bytes, with what vectors have in reserve: for each feature of a keyframe keypoint, descriptor, id
// of the point and place among the strongest (68), and a third of a new point (80); for each keyframe 160 for each of
// the 300 features that the index has; and the index's tables. It is what turns bytes into keyframes.
constexpr int64_t kMapBytesPerFeature = 96, kMapBytesPerKeyframe = 48 << 10, kMapBytesOfIndex = 8 << 20;
// The range of slam::LocalizerOptions.
constexpr int64_t kFewestKeyframes = 10, kMostKeyframes = 1'000'000, kMostPoints = 100'000'000;

LocationStatus ToTerm(slam::TrackingStatus status) {
  switch (status) {
    case slam::TrackingStatus::kInitializing:
      return LocationStatus::kInitializing;
    case slam::TrackingStatus::kTracking:
      return LocationStatus::kTracking;
    case slam::TrackingStatus::kCoasting:
      return LocationStatus::kCoasting;
    case slam::TrackingStatus::kLost:
      return LocationStatus::kLost;
    case slam::TrackingStatus::kRelocalized:
      return LocationStatus::kRelocalized;
    case slam::TrackingStatus::kNewMap:
      return LocationStatus::kNewMap;
  }
  return LocationStatus::kLost;
}

CameraPose ToValues(const slam::Pose& pose) {
  const Eigen::Quaterniond& q = pose.rotation;
  const double sign = q.w() < 0 ? -1 : 1;
  return {{sign * q.x(), sign * q.y(), sign * q.z(), sign * q.w()},
          {pose.translation.x(), pose.translation.y(), pose.translation.z()}};
}

std::array<double, 3> ToValues(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

// Upper triangle, by rows.
std::array<double, 21> ToValues(const Eigen::Matrix<double, 6, 6>& covariance) {
  std::array<double, 21> values;
  size_t at = 0;
  for (int row = 0; row < 6; ++row) {
    for (int column = row; column < 6; ++column) values[at++] = covariance(row, column);
  }
  return values;
}

Inertial ToInertial(const slam::InertialReport& report) {
  Inertial inertial;
  inertial.status = report.status;
  inertial.level = report.is_level;
  inertial.velocity = ToValues(report.motion.velocity);
  inertial.gyroscope_bias = ToValues(report.motion.bias.gyroscope);
  inertial.accelerometer_bias = ToValues(report.motion.bias.accelerometer);
  inertial.velocity_sigma = report.velocity_sigma;
  inertial.gyroscope_bias_sigma = report.gyroscope_bias_sigma;
  inertial.accelerometer_bias_sigma = report.accelerometer_bias_sigma;
  inertial.rotation_innovation = report.rotation_innovation;
  inertial.position_innovation = report.position_innovation;
  inertial.blind_seconds = report.blind_seconds;
  inertial.readings = report.counts;
  return inertial;
}

Location ToLocation(slam::LocalizerResult&& result) {
  Location location;
  location.status = ToTerm(result.status);
  location.map_id = result.map_id;
  location.pose = ToValues(result.world_from_camera);
  const bool is_continued = location.status == LocationStatus::kCoasting && !result.covariance.isZero(0);
  location.has_covariance =
      location.status == LocationStatus::kTracking || location.status == LocationStatus::kRelocalized || is_continued;
  location.covariance = ToValues(result.covariance);
  location.keypoints = result.keypoints;
  location.matches = result.matches;
  location.inliers = result.inliers;
  location.reprojection_error = result.mean_error;
  location.is_keyframe = result.is_keyframe;
  location.loop_closed = result.loop_closed;
  location.level = result.inertial.is_level;
  if (result.world_correction.has_value()) location.world_correction = ToValues(*result.world_correction);
  location.rig_rotation = ToValues(result.rig_rotation);
  location.rig_uncertainty = ToValues(result.rig_uncertainty);
  location.warnings = std::move(result.warnings);
  location.calibration = result.calibration;
  location.map_full = result.map_full;
  if (result.inertial.status != InertialStatus::kNone) location.inertial = ToInertial(result.inertial);
  return location;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Localization>> Localization::Create(const LocalizationOptions& options,
                                                                   BackgroundThreads* threads) {
  if (options.depth.has_value()) {
    GLINT_RETURN_IF_ERROR(slam::ValidateDepthSensor(*options.depth));
  }
  slam::LocalizerOptions localizer = options.localizer;
  const int64_t that_fit = (options.max_map_bytes - kMapBytesOfIndex) /
                           (kMapBytesPerFeature * options.detector.max_features + kMapBytesPerKeyframe);
  localizer.max_keyframes = static_cast<int>(
      std::max(kFewestKeyframes, std::min({that_fit, int64_t{localizer.max_keyframes}, kMostKeyframes})));
  localizer.max_points = std::min(localizer.max_points, kMostPoints);
  std::unique_ptr<Localization> made(new Localization(options));
  GLINT_ASSIGN_OR_RETURN(made->localizer_,
                         slam::Localizer::Create(options.camera, localizer, &made->front_end_, threads));
  return made;
}

absl::Status Localization::Track(Lane* lane, const CameraView& view, uint64_t frame_id, int64_t time_ns,
                                 Location* location, FrameTimes* times) {
  if (const int64_t bytes = size().bytes; bytes > max_map_bytes_) {
    return LimitError("map", bytes, "bytes", max_map_bytes_, "--max-map-bytes");
  }
  front_end_.Begin(lane);
  slam::LocalizerResult result;
  GLINT_RETURN_IF_ERROR(localizer_->Track(view, {frame_id, time_ns}, &result));
  keyframes_ = result.keyframes;
  points_ = result.points;
  return Answer(std::move(result), location, times);
}

absl::Status Localization::Relocalize(Lane* lane, const CameraView& view, Location* location, FrameTimes* times) {
  front_end_.Begin(lane);
  slam::LocalizerResult result;
  GLINT_RETURN_IF_ERROR(localizer_->Relocalize(view, &result));
  return Answer(std::move(result), location, times);
}

absl::Status Localization::Answer(slam::LocalizerResult&& result, Location* location, FrameTimes* times) const {
  GLINT_RETURN_IF_ERROR(front_end_.status());
  times->stages = front_end_.stages();
  times->match_ns = front_end_.match_ns();
  times->locate_ns = result.track_ns;
  times->adjust_ns = result.adjust_ns;
  *location = ToLocation(std::move(result));
  if (location->inertial.has_value()) location->inertial->readings = WithLost(location->inertial->readings);
  return absl::OkStatus();
}

absl::Status Localization::AddImu(const slam::ImuReadings& readings, int64_t lost) {
  lost_readings_ += lost;
  return localizer_->AddImu(readings);
}

void Localization::PredictPoses(const std::vector<int64_t>& sensor_times_ns, std::vector<ImuPose>* poses) const {
  poses->clear();
  poses->reserve(sensor_times_ns.size());
  localizer_->PredictPoses(sensor_times_ns, [poses](const slam::PredictedPose& p) {
    poses->push_back({p.time_ns, ToValues(p.world_from_camera), ToValues(p.velocity), ToValues(p.covariance)});
  });
}

ImuReceived Localization::WithLost(ImuReceived counts) const {
  counts.received += lost_readings_;
  counts.dropped += lost_readings_;
  return counts;
}

absl::Status Localization::Load(const std::string& path) {
  GLINT_RETURN_IF_ERROR(localizer_->LoadMap(path));
  keyframes_ = points_ = 0;
  localizer_->VisitMap(
      [this](const slam::MapKeyframeView&) {
        ++keyframes_;
        return true;
      },
      [this](const slam::MapPointView&) {
        ++points_;
        return true;
      });
  return absl::OkStatus();
}

void Localization::Read(const MapPosition& from, MapPart* part) const {
  *part = MapPart();
  part->map_id = localizer_->map_id();
  uint64_t last_keyframe = 0, last_point = 0;
  // Keyframes first, whole: a reader has a path before it has all points.
  const auto keyframe = [&](const slam::MapKeyframeView& view) {
    const auto id = static_cast<uint64_t>(view.id);
    if (id < from.keyframe) return true;
    if (part->keyframes.size() == kMaxPartKeyframes) {
      part->has_next = true;
      return false;
    }
    last_keyframe = id;
    part->keyframes.push_back({id, view.stamp.frame_id, view.stamp.time_ns, ToValues(view.world_from_camera)});
    return true;
  };
  const auto point = [&](const slam::MapPointView& view) {
    const auto id = static_cast<uint64_t>(view.id);
    if (id < from.point) return true;
    if (part->point_id.size() == kMaxPartPoints) {
      part->has_next = true;
      return false;
    }
    last_point = id;
    part->point_id.push_back(id);
    part->x.push_back(static_cast<float>(view.position.x()));
    part->y.push_back(static_cast<float>(view.position.y()));
    part->z.push_back(static_cast<float>(view.position.z()));
    return true;
  };
  localizer_->VisitMap(keyframe, nullptr);
  localizer_->VisitMap(nullptr, point);
  if (!part->has_next) return;
  part->next.keyframe = part->keyframes.empty() ? from.keyframe : last_keyframe + 1;
  part->next.point = part->point_id.empty() ? from.point : last_point + 1;
}

}  // namespace glint
