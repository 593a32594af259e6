#include "client/localization.h"

#include <algorithm>
#include <utility>

#include "client/localization_impl.h"
#include "client/matching_wire.h"
#include "client/rig_wire.h"
#include "client/wire.h"
#include "features/status_macros.h"

namespace glint::client {
namespace {

static_assert(static_cast<int>(RigRefinement::kOn) == v1::RIG_REFINEMENT_ON &&
              static_cast<int>(RigRefinement::kOff) == v1::RIG_REFINEMENT_OFF &&
              static_cast<int>(RigRefinement::kFixed) == v1::RIG_REFINEMENT_FIXED);
static_assert(static_cast<int>(InertialStatus::kInitializing) == v1::INERTIAL_STATUS_INITIALIZING &&
              static_cast<int>(InertialStatus::kReady) == v1::INERTIAL_STATUS_READY &&
              static_cast<int>(InertialStatus::kLeftOut) == v1::INERTIAL_STATUS_LEFT_OUT);
static_assert(static_cast<int>(LocalizeMode::kReproducible) == v1::LOCALIZE_MODE_REPRODUCIBLE &&
              static_cast<int>(LocalizeMode::kRealtime) == v1::LOCALIZE_MODE_REALTIME);

void ToWire(const StereoCamera& camera, v1::StereoCamera* wire) {
  wire->set_width(static_cast<uint32_t>(camera.width));
  wire->set_height(static_cast<uint32_t>(camera.height));
  wire->set_focal_length(camera.focal_length);
  wire->set_centre_x(camera.centre_x);
  wire->set_centre_y(camera.centre_y);
  wire->set_baseline(camera.baseline);
  wire->mutable_left_projection()->Add(camera.left_projection.begin(), camera.left_projection.end());
  wire->mutable_right_projection()->Add(camera.right_projection.begin(), camera.right_projection.end());
  wire->mutable_rig_rotation()->set_x(camera.rig_rotation[0]);
  wire->mutable_rig_rotation()->set_y(camera.rig_rotation[1]);
  wire->mutable_rig_rotation()->set_z(camera.rig_rotation[2]);
}

void ToWire(const InertialSensor& imu, v1::InertialSensor* wire) {
  client::ToWire(imu.camera_from_imu, wire->mutable_camera_from_imu());
  wire->set_gyroscope_noise_density(imu.gyroscope_noise_density);
  wire->set_gyroscope_random_walk(imu.gyroscope_random_walk);
  wire->set_accelerometer_noise_density(imu.accelerometer_noise_density);
  wire->set_accelerometer_random_walk(imu.accelerometer_random_walk);
  wire->set_noise_inflation(imu.noise_inflation);
  wire->set_gravity(imu.gravity);
  wire->set_imu_time_minus_camera_time_ns(imu.imu_time_minus_camera_time_ns);
  wire->set_gyroscope_range(imu.gyroscope_range);
  wire->set_accelerometer_range(imu.accelerometer_range);
  if (imu.max_wait_for_readings_ns.has_value()) wire->set_max_wait_for_readings_ns(*imu.max_wait_for_readings_ns);
}

void ToWire(const ImuReadings& readings, v1::ImuReadings* wire) {
  const auto put = [](const auto& from, auto* to) {
    to->Clear();
    to->Reserve(3 * static_cast<int>(from.size()));
    for (const std::array<double, 3>& value : from) to->Add(value.begin(), value.end());
  };
  wire->mutable_gyroscope_time_ns()->Assign(readings.gyroscope_time_ns.begin(), readings.gyroscope_time_ns.end());
  wire->mutable_accelerometer_time_ns()->Assign(readings.accelerometer_time_ns.begin(),
                                                readings.accelerometer_time_ns.end());
  put(readings.angular_velocity, wire->mutable_angular_velocity());
  put(readings.acceleration, wire->mutable_acceleration());
}

CameraPose FromWire(const v1::Pose& wire) {
  return {{wire.qx(), wire.qy(), wire.qz(), wire.qw()}, {wire.x(), wire.y(), wire.z()}};
}

std::array<double, 3> FromWire(const v1::Rotation& wire) { return {wire.x(), wire.y(), wire.z()}; }

std::array<double, 3> FromWire(const v1::Vector& wire) { return {wire.x(), wire.y(), wire.z()}; }

ImuReceived FromWire(const v1::ImuReceived& wire) {
  return {wire.received(), wire.late(),      wire.duplicate(), wire.unsorted(),
          wire.missing(),  wire.saturated(), wire.frozen(),    wire.dropped()};
}

Inertial FromWire(const v1::Inertial& wire) {
  Inertial inertial;
  inertial.status = static_cast<InertialStatus>(wire.status());
  inertial.level = wire.level();
  inertial.velocity = FromWire(wire.velocity());
  inertial.gyroscope_bias = FromWire(wire.gyroscope_bias());
  inertial.accelerometer_bias = FromWire(wire.accelerometer_bias());
  inertial.velocity_sigma = wire.velocity_sigma();
  inertial.gyroscope_bias_sigma = wire.gyroscope_bias_sigma();
  inertial.accelerometer_bias_sigma = wire.accelerometer_bias_sigma();
  inertial.rotation_innovation = wire.rotation_innovation();
  inertial.position_innovation = wire.position_innovation();
  inertial.blind_seconds = 1e-9 * static_cast<double>(wire.blind_ns());
  inertial.readings = FromWire(wire.readings());
  inertial.ahead_of_readings = wire.ahead_of_readings();
  return inertial;
}

absl::Status FromWire(const v1::ImuPoses& wire, std::vector<ImuPose>* poses) {
  const int count = wire.time_ns_size();
  constexpr int64_t kPose = 7, kVelocity = 3, kCovariance = 21;
  poses->clear();
  if (wire.pose_size() != kPose * count || wire.velocity_size() != kVelocity * count ||
      wire.covariance_size() != kCovariance * count) {
    return absl::InternalError("imu.poses: the server's arrays contradict each other");
  }
  const auto take = [](const auto& from, int* at, auto* to) {
    std::copy_n(from.begin() + *at, to->size(), to->begin());
    *at += static_cast<int>(to->size());
  };
  int pose = 0, velocity = 0, covariance = 0;
  poses->resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ImuPose& to = (*poses)[static_cast<size_t>(i)];
    to.time_ns = wire.time_ns(i);
    take(wire.pose(), &pose, &to.pose.rotation);
    take(wire.pose(), &pose, &to.pose.position);
    take(wire.velocity(), &velocity, &to.velocity);
    take(wire.covariance(), &covariance, &to.covariance);
  }
  return absl::OkStatus();
}

Location FromWire(const v1::Location& wire) {
  Location found;
  found.status = static_cast<LocationStatus>(wire.status());
  found.pose = FromWire(wire.pose());
  found.has_covariance = wire.covariance_size() == static_cast<int>(found.covariance.size());
  if (found.has_covariance) std::copy(wire.covariance().begin(), wire.covariance().end(), found.covariance.begin());
  found.keypoints = wire.keypoints();
  found.matches = wire.matches();
  found.inliers = wire.inliers();
  found.reprojection_error = wire.reprojection_error();
  found.is_keyframe = wire.keyframe();
  found.loop_closed = wire.loop_closed();
  found.map_full = wire.map_full();
  found.map_id = wire.map_id();
  found.rig_rotation = FromWire(wire.rig_rotation());
  found.rig_uncertainty = FromWire(wire.rig_uncertainty());
  found.warnings = client::FromWire(wire.warnings());
  const v1::CalibrationFigures& c = wire.calibration();
  found.calibration = {c.stereo_keypoints(),          c.stereo_share(),     c.median_vertical_disparity(),
                       c.vertical_disparity_spread(), c.median_disparity(), c.speed()};
  if (wire.has_inertial()) found.inertial = FromWire(wire.inertial());
  if (wire.has_world_correction()) found.world_correction = FromWire(wire.world_correction());
  found.level = wire.level() || wire.inertial().level();
  return found;
}

absl::Status FromWire(const v1::MapPart& wire, MapPart* part) {
  const int points = wire.point_id_size();
  if (wire.x_size() != points || wire.y_size() != points || wire.z_size() != points) {
    return absl::InternalError("map: the server's arrays contradict each other");
  }
  part->keyframes.clear();
  for (const v1::MapKeyframe& keyframe : wire.keyframes()) {
    part->keyframes.push_back({keyframe.id(), keyframe.frame_id(), keyframe.time_ns(), FromWire(keyframe.pose())});
  }
  Assign(wire.point_id(), &part->point_id);
  Assign(wire.x(), &part->x);
  Assign(wire.y(), &part->y);
  Assign(wire.z(), &part->z);
  part->map_id = wire.map_id();
  part->has_next = wire.has_next();
  part->next = {wire.next().keyframe(), wire.next().point()};
  return absl::OkStatus();
}

// What a pair is made of.
struct Views {
  const ImageInput& left;
  const ImageInput& second;
  bool has_depth;  // `second` is the depth, not the right image
  const ImageInput& mask;
  const ImageInput& right_mask;
  const ImuReadings& imu;
};

absl::Status ToWire(uint64_t frame_id, const Views& views, int64_t time_ns, v1::LocalizePair* wire, FrameSlots* slots) {
  wire->set_frame_id(frame_id);
  wire->set_time_ns(time_ns);
  *slots = {views.left.slot, views.second.slot};
  GLINT_RETURN_IF_ERROR(client::ToWire("left", views.left, wire->mutable_left()));
  const bool has_second = views.second.kind != ImageInput::Kind::kNone;
  if (!has_second || views.has_depth) wire->clear_right();
  if (!has_second || !views.has_depth) wire->clear_depth();
  GLINT_RETURN_IF_ERROR(SetMasks("", views.mask, views.right_mask, slots, wire));
  if (views.imu.empty()) {
    wire->clear_imu();
  } else {
    ToWire(views.imu, wire->mutable_imu());
  }
  if (!has_second) return absl::OkStatus();
  return views.has_depth ? client::ToWire("depth", views.second, wire->mutable_depth())
                         : client::ToWire("right", views.second, wire->mutable_right());
}

absl::Status ReadAnswer(const v1::LocalizeStreamResponse& response, absl::Duration round_trip, LocalizeAnswer* answer) {
  answer->location = response.has_location() ? FromWire(response.location()) : Location();
  answer->rectified = std::nullopt;
  if (response.location().has_rectified()) {
    GLINT_ASSIGN_OR_RETURN(answer->rectified, client::FromWire(response.location().rectified()));
  }
  GLINT_RETURN_IF_ERROR(FromWire(response.map(), &answer->map));
  answer->imu = FromWire(response.imu());
  GLINT_RETURN_IF_ERROR(FromWire(response.imu().poses(), &answer->imu_poses));
  answer->map_keyframes = response.map_keyframes();
  answer->map_points = response.map_points();
  client::FromWire(response.timings(), &answer->timings);
  answer->round_trip = round_trip;
  return absl::OkStatus();
}

}  // namespace

absl::Status ToWire(const LocalizeStreamOptions& options, v1::LocalizeStreamOptions* wire) {
  ToWire(options.detector, kLocalizeDefaults, wire->mutable_detector());
  if (options.rig.has_value()) ToWire(*options.rig, wire->mutable_rig());
  if (options.raw_camera.has_value()) ToWire(*options.raw_camera, wire->mutable_raw_camera());
  const bool has_camera = options.camera.focal_length != 0 || !options.camera.left_projection.empty();
  const bool is_raw = options.rig.has_value() || options.raw_camera.has_value();
  if (!is_raw || has_camera) ToWire(options.camera, wire->mutable_camera());  // the server refuses both
  if (options.refine_rig.has_value()) wire->set_refine_rig(static_cast<v1::RigRefinement>(*options.refine_rig));
  if (options.depth.has_value()) {
    wire->mutable_depth()->set_unit(options.depth->unit);
    wire->mutable_depth()->set_nearest(options.depth->nearest);
    wire->mutable_depth()->set_farthest(options.depth->farthest);
  }
  wire->set_mode(static_cast<v1::LocalizeMode>(options.mode));
  if (options.imu.has_value()) ToWire(*options.imu, wire->mutable_imu());
  SetPolicy(options, wire);
  return SetWhereToLook(options, wire);
}

LocalizeStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const LocalizeStreamOptions& options,
                           LocalizeCallback callback)
    : StreamImpl(channel, options.in_flight, std::move(callback), ReadAnswer) {}

absl::Status LocalizeStream::Impl::Open(const LocalizeStreamOptions& options) {
  v1::LocalizeStreamRequest first;
  GLINT_RETURN_IF_ERROR(ToWire(options, first.mutable_options()));
  return core.Open(stub->LocalizeStream(&core.context), first);
}

LocalizeStream::LocalizeStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LocalizeStream::~LocalizeStream() = default;

absl::Status LocalizeStream::Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right, int64_t time_ns,
                                   const ImageInput& mask, const ImageInput& right_mask, const ImuReadings& imu) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {left, right, false, mask, right_mask, imu}, time_ns, request->mutable_pair(), slots);
  });
}

absl::Status LocalizeStream::Relocalize(uint64_t frame_id, const ImageInput& left, const ImageInput& right,
                                        const ImageInput& mask, const ImageInput& right_mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {left, right, false, mask, right_mask, {}}, 0, request->mutable_relocalize(), slots);
  });
}

absl::Status LocalizeStream::WriteDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth,
                                        int64_t time_ns, const ImageInput& mask, const ImuReadings& imu) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {image, depth, true, mask, {}, imu}, time_ns, request->mutable_pair(), slots);
  });
}

absl::Status LocalizeStream::RelocalizeDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth,
                                             const ImageInput& mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {image, depth, true, mask, {}, {}}, 0, request->mutable_relocalize(), slots);
  });
}

absl::Status LocalizeStream::WriteImu(uint64_t frame_id, const ImuReadings& readings, bool poses) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots*) {
    request->mutable_add_imu()->set_frame_id(frame_id);
    ToWire(readings, request->mutable_add_imu()->mutable_readings());
    request->mutable_add_imu()->set_poses(poses);
    return absl::OkStatus();
  });
}

absl::Status LocalizeStream::GetMap(uint64_t frame_id, const MapPosition& from) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots*) {
    v1::GetMap* const get = request->mutable_get_map();
    get->set_frame_id(frame_id);
    get->mutable_from()->set_keyframe(from.keyframe);
    get->mutable_from()->set_point(from.point);
    return absl::OkStatus();
  });
}

absl::Status LocalizeStream::SaveMap(uint64_t frame_id, const std::string& name) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots*) {
    request->mutable_save_map()->set_frame_id(frame_id);
    request->mutable_save_map()->set_name(name);
    return absl::OkStatus();
  });
}

absl::Status LocalizeStream::LoadMap(uint64_t frame_id, const std::string& name) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots*) {
    request->mutable_load_map()->set_frame_id(frame_id);
    request->mutable_load_map()->set_name(name);
    return absl::OkStatus();
  });
}

absl::Status LocalizeStream::Finish() { return impl_->core.Finish(); }
void LocalizeStream::Cancel() { impl_->core.Cancel(); }

}  // namespace glint::client
