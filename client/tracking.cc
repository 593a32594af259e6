#include "client/tracking.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rig_wire.h"
#include "client/tracking_impl.h"
#include "client/wire.h"
#include "features/status_macros.h"

namespace glint::client {
namespace {

// What differs from the server's defaults, which are those of TrackOptions.
void ToWire(const TrackOptions& o, v1::TrackOptions* wire) {
  const TrackOptions base;
  if (o.levels != base.levels) wire->set_levels(o.levels);
  if (o.patch_size != base.patch_size) wire->set_patch_size(o.patch_size);
  if (o.coarse_patch_size != base.coarse_patch_size) wire->set_coarse_patch_size(o.coarse_patch_size);
  if (o.fine_levels != base.fine_levels) wire->set_fine_levels(o.fine_levels);
  if (o.intensity != base.intensity) {
    wire->set_intensity(static_cast<v1::IntensityModel>(static_cast<int>(o.intensity) + v1::INTENSITY_MODEL_SAME));
  }
  if (o.max_iterations != base.max_iterations) wire->set_max_iterations(o.max_iterations);
  if (o.epsilon != base.epsilon) wire->set_epsilon(o.epsilon);
  if (o.min_eigenvalue != base.min_eigenvalue) wire->set_min_eigenvalue(o.min_eigenvalue);
  wire->set_require_convergence(o.require_convergence);
  if (o.max_move != base.max_move) wire->set_max_move(o.max_move);
  if (o.max_residual != base.max_residual) wire->set_max_residual(o.max_residual);
  if (o.max_backward_error != base.max_backward_error) wire->set_max_backward_error(o.max_backward_error);
}
static_assert(static_cast<int>(IntensityModel::kGainAndOffset) + v1::INTENSITY_MODEL_SAME ==
              v1::INTENSITY_MODEL_GAIN_AND_OFFSET);

void ToWire(const Prediction& prediction, v1::TrackPrediction* wire) {
  wire->set_camera(static_cast<uint32_t>(prediction.camera));
  wire->mutable_homography()->Add(prediction.homography.begin(), prediction.homography.end());
  wire->mutable_ids()->Add(prediction.ids.begin(), prediction.ids.end());
  wire->mutable_x()->Add(prediction.x.begin(), prediction.x.end());
  wire->mutable_y()->Add(prediction.y.begin(), prediction.y.end());
}

// Messages of images keep their memory, which the next pixels go to. `field` names the images in errors.
absl::Status ToWire(absl::string_view field, const std::vector<ImageInput>& images, FrameSlots* slots,
                    google::protobuf::RepeatedPtrField<v1::Image>* wire) {
  while (wire->size() > static_cast<int>(images.size())) wire->RemoveLast();
  for (size_t c = 0; c < images.size(); ++c) {
    v1::Image* const image = c < static_cast<size_t>(wire->size()) ? wire->Mutable(static_cast<int>(c)) : wire->Add();
    GLINT_RETURN_IF_ERROR(client::ToWire(absl::StrCat(field, "[", c, "]"), images[c], image));
    if (slots != nullptr) slots->more.push_back(images[c].slot);
  }
  return absl::OkStatus();
}

// `wants_rays`: calibrations were sent.
absl::Status FromWire(const v1::CameraTracks& wire, bool wants_rays, TrackArrays* tracks) {
  const int count = wire.id_size();
  if (wire.template_age_size() != 0 && wire.template_age_size() != count) {
    return absl::InternalError("cameras: the server's arrays contradict each other");
  }
  for (const int size : {wire.age_size(), wire.state_size(), wire.x_size(), wire.y_size(), wire.last_x_size(),
                         wire.last_y_size(), wire.residual_size(), wire.gain_size(), wire.offset_size()}) {
    if (size != count) return absl::InternalError("cameras: the server's arrays contradict each other");
  }
  tracks->camera = static_cast<int>(wire.camera());
  tracks->detected = wire.detected();
  Assign(wire.id(), &tracks->id);
  Assign(wire.age(), &tracks->age);
  Assign(wire.x(), &tracks->x);
  Assign(wire.y(), &tracks->y);
  Assign(wire.last_x(), &tracks->last_x);
  Assign(wire.last_y(), &tracks->last_y);
  Assign(wire.residual(), &tracks->residual);
  Assign(wire.gain(), &tracks->gain);
  Assign(wire.offset(), &tracks->offset);
  Assign(wire.template_age(), &tracks->template_age);
  tracks->state.clear();
  for (const int state : wire.state()) tracks->state.push_back(static_cast<TrackState>(state));
  if (wants_rays) return client::FromWire(wire, tracks->count(), &tracks->rays);
  tracks->rays.Clear();
  return absl::OkStatus();
}

absl::Status ReadTracks(const v1::TrackStreamResponse& response, bool wants_rays, absl::Duration round_trip,
                        TrackAnswer* answer) {
  const auto& cameras = response.has_edited() ? response.edited().cameras() : response.tracks().cameras();
  answer->cameras.resize(static_cast<size_t>(cameras.size()));
  for (int c = 0; c < cameras.size(); ++c) {
    GLINT_RETURN_IF_ERROR(FromWire(cameras[c], wants_rays, &answer->cameras[static_cast<size_t>(c)]));
  }
  client::FromWire(response.timings(), &answer->timings);
  answer->warnings = client::FromWire(response.warnings());
  answer->round_trip = round_trip;
  return absl::OkStatus();
}

}  // namespace

absl::Status ToWire(const TrackStreamOptions& options, v1::TrackStreamOptions* wire) {
  const TrackStreamOptions defaults;
  ToWire(options.detector, kTrackDefaults, wire->mutable_detector());
  ToWire(options.track, wire->mutable_track());
  if (options.on_request) wire->set_redetection(v1::REDETECTION_ON_REQUEST);
  SetPolicy(options, wire);
  if (options.cameras != defaults.cameras) wire->set_cameras(options.cameras);
  if (options.target != defaults.target) wire->set_target(options.target);
  if (options.min_share != defaults.min_share) wire->set_min_share(options.min_share);
  wire->set_predict(options.predict);
  if (options.template_frames != 0) {
    wire->set_track_template(v1::TRACK_TEMPLATE_FIRST_FRAME);
    wire->set_template_frames(options.template_frames);
  }
  if (options.region.wanted()) client::ToWire(options.region, wire->mutable_region());
  for (const Camera& camera : options.calibrations) client::ToWire(camera, wire->add_calibrations());
  return ToWire("masks", options.masks, nullptr, wire->mutable_masks());
}

TrackStream::Impl::Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const TrackStreamOptions& options,
                        TrackCallback callback)
    : StreamImpl(channel, options.in_flight, std::move(callback),
                 [wants_rays = !options.calibrations.empty()](const auto& response, absl::Duration round_trip,
                                                              TrackAnswer* answer) {
                   return ReadTracks(response, wants_rays, round_trip, answer);
                 }) {}

absl::Status TrackStream::Impl::Open(const TrackStreamOptions& options) {
  v1::TrackStreamRequest first;
  GLINT_RETURN_IF_ERROR(ToWire(options, first.mutable_options()));
  return core.Open(stub->TrackStream(&core.context), first);
}

TrackStream::TrackStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrackStream::~TrackStream() = default;

absl::Status TrackStream::Write(uint64_t frame_id, const std::vector<ImageInput>& images, int64_t time_ns, bool detect,
                                const std::vector<Prediction>& predictions, const std::vector<ImageInput>& masks) {
  return impl_->core.Write(frame_id, [&](v1::TrackStreamRequest* request, FrameSlots* slots) -> absl::Status {
    v1::TrackFrame* const frame = request->mutable_frame();
    frame->set_frame_id(frame_id);
    frame->set_time_ns(time_ns);
    frame->set_detect(detect);
    frame->clear_predictions();
    for (const Prediction& from : predictions) ToWire(from, frame->add_predictions());
    GLINT_RETURN_IF_ERROR(ToWire("images", images, slots, frame->mutable_images()));
    return ToWire("masks", masks, slots, frame->mutable_masks());
  });
}

absl::Status TrackStream::Add(uint64_t frame_id, int camera, const std::vector<float>& x, const std::vector<float>& y) {
  return impl_->core.Write(frame_id, [&](v1::TrackStreamRequest* request, FrameSlots*) {
    v1::AddPoints* const add = request->mutable_add_points();
    add->Clear();
    add->set_frame_id(frame_id);
    add->set_camera(static_cast<uint32_t>(camera));
    add->mutable_x()->Add(x.begin(), x.end());
    add->mutable_y()->Add(y.begin(), y.end());
    return absl::OkStatus();
  });
}

absl::Status TrackStream::Forget(uint64_t frame_id, const std::vector<uint64_t>& ids) {
  return impl_->core.Write(frame_id, [&](v1::TrackStreamRequest* request, FrameSlots*) {
    v1::ForgetTracks* const forget = request->mutable_forget_tracks();
    forget->Clear();
    forget->set_frame_id(frame_id);
    forget->mutable_ids()->Add(ids.begin(), ids.end());
    return absl::OkStatus();
  });
}

absl::Status TrackStream::Reset(uint64_t frame_id, std::optional<int> camera) {
  return impl_->core.Write(frame_id, [&](v1::TrackStreamRequest* request, FrameSlots*) {
    v1::ResetTracks* const reset = request->mutable_reset_tracks();
    reset->Clear();
    reset->set_frame_id(frame_id);
    if (camera.has_value()) reset->set_camera(static_cast<uint32_t>(*camera));
    return absl::OkStatus();
  });
}

absl::Status TrackStream::Finish() { return impl_->core.Finish(); }
void TrackStream::Cancel() { impl_->core.Cancel(); }

}  // namespace glint::client
