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

CameraPose FromWire(const v1::Pose& wire) {
  return {{wire.qx(), wire.qy(), wire.qz(), wire.qw()}, {wire.x(), wire.y(), wire.z()}};
}

std::array<double, 3> FromWire(const v1::Rotation& wire) { return {wire.x(), wire.y(), wire.z()}; }

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
                                   const ImageInput& mask, const ImageInput& right_mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {left, right, false, mask, right_mask}, time_ns, request->mutable_pair(), slots);
  });
}

absl::Status LocalizeStream::Relocalize(uint64_t frame_id, const ImageInput& left, const ImageInput& right,
                                        const ImageInput& mask, const ImageInput& right_mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {left, right, false, mask, right_mask}, 0, request->mutable_relocalize(), slots);
  });
}

absl::Status LocalizeStream::WriteDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth,
                                        int64_t time_ns, const ImageInput& mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {image, depth, true, mask, {}}, time_ns, request->mutable_pair(), slots);
  });
}

absl::Status LocalizeStream::RelocalizeDepth(uint64_t frame_id, const ImageInput& image, const ImageInput& depth,
                                             const ImageInput& mask) {
  return impl_->core.Write(frame_id, [&](v1::LocalizeStreamRequest* request, FrameSlots* slots) {
    return ToWire(frame_id, {image, depth, true, mask, {}}, 0, request->mutable_relocalize(), slots);
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
