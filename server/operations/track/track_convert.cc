#include "server/operations/track/track_convert.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/wire/camera.h"

namespace glint {
namespace {

absl::StatusOr<IntensityModel> FromProto(v1::IntensityModel model) {
  switch (model) {
    case v1::INTENSITY_MODEL_UNSPECIFIED:
    case v1::INTENSITY_MODEL_SAME:
      return IntensityModel::kSame;
    case v1::INTENSITY_MODEL_OFFSET:
      return IntensityModel::kOffset;
    case v1::INTENSITY_MODEL_GAIN:
      return IntensityModel::kGain;
    case v1::INTENSITY_MODEL_GAIN_AND_OFFSET:
      return IntensityModel::kGainAndOffset;
    default:
      return NotOneOfError("track.intensity", absl::StrCat(static_cast<int>(model)),
                           "SAME, OFFSET, GAIN, GAIN_AND_OFFSET");
  }
}

absl::StatusOr<TrackOptions> FromProto(const v1::TrackOptions& proto) {
  TrackOptions o;
  GLINT_ASSIGN_OR_RETURN(o.intensity, FromProto(proto.intensity()));
  if (proto.has_levels()) o.levels = proto.levels();
  if (proto.has_patch_size()) o.patch_size = proto.patch_size();
  if (proto.has_coarse_patch_size()) o.coarse_patch_size = proto.coarse_patch_size();
  if (proto.has_fine_levels()) o.fine_levels = proto.fine_levels();
  if (proto.has_max_iterations()) o.max_iterations = proto.max_iterations();
  if (proto.has_epsilon()) o.epsilon = proto.epsilon();
  if (proto.has_min_eigenvalue()) o.min_eigenvalue = proto.min_eigenvalue();
  o.require_convergence = proto.require_convergence();
  if (proto.has_max_move()) o.max_move = proto.max_move();
  if (proto.has_max_residual()) o.max_residual = proto.max_residual();
  if (proto.has_max_backward_error()) o.max_backward_error = proto.max_backward_error();
  return o;
}

}  // namespace

absl::StatusOr<TrackingOptions> FromProto(const v1::TrackStreamOptions& proto, const ServerOptions& server,
                                          SessionOptions* session) {
  TrackingOptions tracking;
  GLINT_ASSIGN_OR_RETURN(tracking.detector, FromProto(proto.detector(), server.max_features, kTrackDefaults));
  tracking.detector.descriptor = Descriptor::kNone;
  GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(proto, server));
  GLINT_ASSIGN_OR_RETURN(tracking.track, FromProto(proto.track()));
  switch (proto.redetection()) {
    case v1::REDETECTION_UNSPECIFIED:
    case v1::REDETECTION_AUTOMATIC:
      break;
    case v1::REDETECTION_ON_REQUEST:
      tracking.on_request = true;
      break;
    default:
      return NotOneOfError("redetection", absl::StrCat(static_cast<int>(proto.redetection())), "AUTOMATIC, ON_REQUEST");
  }
  switch (proto.track_template()) {
    case v1::TRACK_TEMPLATE_UNSPECIFIED:
    case v1::TRACK_TEMPLATE_LAST_FRAME:
      break;
    case v1::TRACK_TEMPLATE_FIRST_FRAME: {
      const int frames = proto.has_template_frames() ? proto.template_frames() : kDefaultTemplateFrames;
      if (frames < 1 || frames > kMaxTemplateFrames) {
        return OutOfRangeError("template_frames", frames, 1, kMaxTemplateFrames);
      }
      tracking.template_frames = frames;
      break;
    }
    default:
      return NotOneOfError("track_template", absl::StrCat(static_cast<int>(proto.track_template())),
                           "LAST_FRAME, FIRST_FRAME");
  }
  if (proto.has_cameras()) tracking.cameras = proto.cameras();
  if (proto.has_target()) tracking.target = proto.target();
  if (proto.has_min_share()) tracking.min_share = proto.min_share();
  tracking.predict = proto.predict();
  tracking.max_tracks = server.max_tracks;
  GLINT_RETURN_IF_ERROR(ValidateOptions(tracking.detector));
  if (absl::Status s = ValidateTrackOptions(tracking.track); !s.ok()) return WithField("track", s);
  GLINT_RETURN_IF_ERROR(ValidateTrackingOptions(tracking));
  if (tracking.cameras > server.max_track_cameras) {
    return LimitError("cameras", tracking.cameras, server.max_track_cameras, "--max-track-cameras");
  }
  const int calibrations = proto.calibrations_size();
  if (calibrations != 0 && calibrations != tracking.cameras) {
    return ContradictionError("calibrations",
                              absl::StrCat(calibrations, ", but the stream has cameras: ", tracking.cameras));
  }
  for (int c = 0; c < calibrations; ++c) {
    GLINT_ASSIGN_OR_RETURN(const Camera camera,
                           FromProto(absl::StrCat("calibrations[", c, "]"), proto.calibrations(c)));
    tracking.calibrations.push_back(camera);
  }
  return tracking;
}

absl::Status ApplyTrackEdit(decode::Pieces message, TrackSession* session,
                            std::array<CameraTracks, kMaxTrackCameras>* changed) {
  std::vector<uint8_t> scratch;
  const absl::Span<const uint8_t> whole = decode::Contiguous(message, &scratch);
  v1::TrackStreamRequest request;
  if (!request.ParseFromArray(whole.data(), static_cast<int>(whole.size()))) {
    return ContradictionError("edit", "not a serialized glint.v1.TrackStreamRequest");
  }
  if (request.has_reset_tracks()) {
    if (request.reset_tracks().has_camera()) {
      const uint32_t camera = request.reset_tracks().camera();
      return session->Reset(camera, &(*changed)[camera % kMaxTrackCameras]);
    }
    session->ResetAll(changed->data());
    return absl::OkStatus();
  }
  if (request.has_forget_tracks()) return session->Forget(request.forget_tracks().ids(), changed->data());
  const v1::AddPoints& add = request.add_points();
  return session->Add(add.camera(), add.x(), add.y(), &(*changed)[add.camera() % kMaxTrackCameras]);
}

}  // namespace glint
