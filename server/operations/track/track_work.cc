#include "server/operations/track/track_work.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/operations/track/track_parser.h"
#include "server/pixels/image_pair.h"

namespace glint {
namespace {

int64_t PaddedPixels(Shape shape) {
  return (shape.width + kTrackRowUnit - 1) / kTrackRowUnit * kTrackRowUnit * shape.height;
}

// Memory that a lane's thread reuses from frame to frame.
struct TrackWorkScratch {
  TrackScratch session;
  TrackPredictions predictions;
  std::array<CameraTracks, kMaxTrackCameras> found;
};

}  // namespace

absl::Status RunTrack(const LaneContext& context, TrackedStream* stream, TrackTask* task, FrameJob* job) {
  TrackWorkScratch* const scratch = context.scratch->Of<TrackWorkScratch>();
  PixelScratch* const pixels = &context.scratch->Of<ImageScratch>()->first;
  PixelScratch* const mask_pixels = &context.scratch->Of<ImageScratch>()->second;
  TrackSession& session = stream->session;
  const int64_t begun_at = MonotonicNs();
  const TrackingOptions& options = session.options();
  TrackLane backend(context.lane, &options, &stream->cameras, &job->times.track_ns, &job->times.stages);
  scratch->predictions.count = 0;
  if (task->predictions > 0) UnpackPredictions(task->message, &scratch->predictions);
  GLINT_RETURN_IF_ERROR(session.Begin(task->time_ns, task->detect, scratch->predictions.view(), &scratch->session));
  int64_t padded = 0;
  for (int c = 0; c < options.cameras; ++c) {
    const auto at = static_cast<size_t>(c);
    const int64_t start = MonotonicNs();
    GLINT_ASSIGN_OR_RETURN(const Pixels image,
                           DecodeImage(context, absl::StrCat("images[", c, "]"), task->images[at], pixels, job));
    padded += PaddedPixels(image.shape());
    // The limit covers the last and the next frame; templates add to them.
    if (const int64_t kept = padded * options.kept_frames() / 2; kept > stream->max_pixels) {
      return LimitError("images", kept, options.template_frames > 0 ? "pixels with those of templates" : "pixels",
                        stream->max_pixels, "--max-track-pixels");
    }
    if (!options.calibrations.empty()) {
      GLINT_RETURN_IF_ERROR(CheckSize(absl::StrCat("images[", c, "]"), image.shape(), options.calibrations[at]));
    }
    mask_pixels->rows.Recount();
    GLINT_ASSIGN_OR_RETURN(const ImageView mask,
                           stream->masks.Of(context, c, image.shape(), task->masks[at], mask_pixels));
    GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
    job->times.decode_ns += MonotonicNs() - start;
    GLINT_RETURN_IF_ERROR(session.Start(c, image, &backend, &scratch->session, &scratch->found[at], mask));
    job->copied_bytes += pixels->rows.copied_bytes() + mask_pixels->rows.copied_bytes();
  }
  for (int c = 0; c < options.cameras; ++c) {
    CameraTracks& found = scratch->found[static_cast<size_t>(c)];
    GLINT_RETURN_IF_ERROR(session.Finish(c, &backend, &scratch->session, &found));
    if (!options.calibrations.empty()) {
      RaysOf(options.calibrations[static_cast<size_t>(c)], found.x, found.y, &found.rays);
    }
  }
  session.Commit(scratch->found.data());
  backend.Keep();
  // Time between the stages counts as the last stage's.
  FrameTimes& times = job->times;
  times.stages.download_ns =
      std::max(times.stages.download_ns, MonotonicNs() - begun_at - times.decode_ns - times.track_ns -
                                             times.stages.upload_ns - times.stages.detect_ns);
  task->cameras = scratch->found.data();
  task->count = static_cast<size_t>(options.cameras);
  return absl::OkStatus();
}

}  // namespace glint
