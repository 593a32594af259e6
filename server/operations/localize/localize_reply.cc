#include "server/operations/localize/localize_reply.h"

#include <array>
#include <cmath>
#include <vector>

#include "glint/v1/localization.pb.h"
#include "server/base/allocations.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/stereo_rig.h"

namespace glint {
namespace {

static_assert(kHasEnvelope<v1::LocalizeStreamResponse>);

void ToProto(const CameraPose& pose, v1::Pose* proto) {
  proto->set_qx(pose.rotation[0]);
  proto->set_qy(pose.rotation[1]);
  proto->set_qz(pose.rotation[2]);
  proto->set_qw(pose.rotation[3]);
  proto->set_x(pose.position[0]);
  proto->set_y(pose.position[1]);
  proto->set_z(pose.position[2]);
}

void ToProto(const std::array<double, 3>& rotation, v1::Rotation* proto) {
  proto->set_x(rotation[0]);
  proto->set_y(rotation[1]);
  proto->set_z(rotation[2]);
}

void ToProto(const std::array<double, 3>& vector, v1::Vector* proto) {
  proto->set_x(vector[0]);
  proto->set_y(vector[1]);
  proto->set_z(vector[2]);
}

void ToProto(const ImuReceived& received, v1::ImuReceived* proto) {
  proto->set_received(received.received);
  proto->set_late(received.late);
  proto->set_duplicate(received.duplicate);
  proto->set_unsorted(received.unsorted);
  proto->set_missing(received.missing);
  proto->set_saturated(received.saturated);
  proto->set_frozen(received.frozen);
  proto->set_dropped(received.dropped);
}

void ToProto(const std::vector<ImuPose>& poses, v1::ImuPoses* proto) {
  const int count = static_cast<int>(poses.size());
  proto->mutable_time_ns()->Reserve(count);
  proto->mutable_pose()->Reserve(7 * count);
  proto->mutable_velocity()->Reserve(3 * count);
  proto->mutable_covariance()->Reserve(21 * count);
  for (const ImuPose& pose : poses) {
    proto->add_time_ns(pose.time_ns);
    proto->mutable_pose()->Add(pose.pose.rotation.begin(), pose.pose.rotation.end());
    proto->mutable_pose()->Add(pose.pose.position.begin(), pose.pose.position.end());
    proto->mutable_velocity()->Add(pose.velocity.begin(), pose.velocity.end());
    proto->mutable_covariance()->Add(pose.covariance.begin(), pose.covariance.end());
  }
}

void ToProto(const Inertial& inertial, v1::Inertial* proto) {
  proto->set_status(static_cast<v1::InertialStatus>(inertial.status));
  proto->set_level(inertial.level);
  if (inertial.status == InertialStatus::kReady) {
    ToProto(inertial.velocity, proto->mutable_velocity());
    ToProto(inertial.gyroscope_bias, proto->mutable_gyroscope_bias());
    ToProto(inertial.accelerometer_bias, proto->mutable_accelerometer_bias());
    proto->set_velocity_sigma(inertial.velocity_sigma);
    proto->set_gyroscope_bias_sigma(inertial.gyroscope_bias_sigma);
    proto->set_accelerometer_bias_sigma(inertial.accelerometer_bias_sigma);
  }
  proto->set_rotation_innovation(inertial.rotation_innovation);
  proto->set_position_innovation(inertial.position_innovation);
  proto->set_blind_ns(std::llround(1e9 * inertial.blind_seconds));
  ToProto(inertial.readings, proto->mutable_readings());
  proto->set_ahead_of_readings(inertial.ahead_of_readings);
}

void ToProto(const Location& location, v1::Location* proto) {
  proto->set_status(static_cast<v1::LocationStatus>(location.status));
  ToProto(location.pose, proto->mutable_pose());
  if (location.has_covariance) {
    proto->mutable_covariance()->Add(location.covariance.begin(), location.covariance.end());
  }
  proto->set_keypoints(location.keypoints);
  proto->set_matches(location.matches);
  proto->set_inliers(location.inliers);
  proto->set_reprojection_error(location.reprojection_error);
  proto->set_keyframe(location.is_keyframe);
  proto->set_loop_closed(location.loop_closed);
  ToProto(location.rig_rotation, proto->mutable_rig_rotation());
  ToProto(location.rig_uncertainty, proto->mutable_rig_uncertainty());
  for (const Warning& warning : location.warnings) {
    v1::Warning* const to = proto->add_warnings();
    to->set_kind(static_cast<v1::WarningKind>(warning.kind));
    to->set_figure(warning.figure);
    to->set_unit(warning.unit);
    to->set_text(warning.text);
  }
  v1::CalibrationFigures* const figures = proto->mutable_calibration();
  const CalibrationFigures& calibration = location.calibration;
  figures->set_stereo_keypoints(calibration.stereo_keypoints);
  figures->set_stereo_share(calibration.stereo_share);
  figures->set_median_vertical_disparity(calibration.median_vertical_disparity);
  figures->set_vertical_disparity_spread(calibration.vertical_disparity_spread);
  figures->set_median_disparity(calibration.median_disparity);
  figures->set_speed(calibration.speed);
  proto->set_map_full(location.map_full);
  proto->set_map_id(location.map_id);
  if (location.inertial.has_value()) ToProto(*location.inertial, proto->mutable_inertial());
  if (location.world_correction.has_value()) ToProto(*location.world_correction, proto->mutable_world_correction());
  proto->set_level(location.level);
}

void ToProto(const MapPart& part, v1::MapPart* proto) {
  for (const MapPart::Keyframe& keyframe : part.keyframes) {
    v1::MapKeyframe* const to = proto->add_keyframes();
    to->set_id(keyframe.id);
    to->set_frame_id(keyframe.frame_id);
    to->set_time_ns(keyframe.time_ns);
    ToProto(keyframe.pose, to->mutable_pose());
  }
  proto->mutable_point_id()->Add(part.point_id.begin(), part.point_id.end());
  proto->mutable_x()->Add(part.x.begin(), part.x.end());
  proto->mutable_y()->Add(part.y.begin(), part.y.end());
  proto->mutable_z()->Add(part.z.begin(), part.z.end());
  proto->set_map_id(part.map_id);
  if (!part.has_next) return;
  proto->mutable_next()->set_keyframe(part.next.keyframe);
  proto->mutable_next()->set_point(part.next.point);
}

}  // namespace

grpc::Slice SerializeLocalizeReply(uint64_t frame_id, const LocalizeTask& task) {
  const FramePathPause pause;
  v1::LocalizeStreamResponse response;
  response.set_frame_id(frame_id);
  switch (task.kind) {
    case LocalizeTask::Kind::kTrack:
    case LocalizeTask::Kind::kRelocalize:
      ToProto(*task.location, response.mutable_location());
      if (task.rectification != nullptr) {
        ToProto(task.rectification->rectified(), response.mutable_location()->mutable_rectified());
      }
      break;
    case LocalizeTask::Kind::kRead:
      ToProto(*task.part, response.mutable_map());
      break;
    case LocalizeTask::Kind::kSave:
      response.mutable_saved();
      break;
    case LocalizeTask::Kind::kLoad:
      response.mutable_loaded();
      break;
    case LocalizeTask::Kind::kImu:
      ToProto(task.received, response.mutable_imu());
      if (task.wants_poses) ToProto(task.poses, response.mutable_imu()->mutable_poses());
      break;
  }
  response.set_map_keyframes(static_cast<int32_t>(task.size.keyframes));
  response.set_map_points(static_cast<int32_t>(task.size.points));
  return ToSlice(response);
}

}  // namespace glint
