#include "server/operations/track/track_work.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "server/operations/match/match_work.h"

namespace glint {
namespace {

// Decoders speak of "image.width"; here it was one of several.
absl::Status AboutCamera(int camera, const absl::Status& status) {
  absl::string_view text = status.message();
  const bool has_field = absl::ConsumePrefix(&text, "image.");
  return absl::Status(status.code(), absl::StrCat("images[", camera, "]", has_field ? "." : ": ", text));
}

int64_t PaddedPixels(Shape shape) {
  return (shape.width + kTrackRowUnit - 1) / kTrackRowUnit * kTrackRowUnit * shape.height;
}

}  // namespace

absl::Status RunTrack(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* pixels,
                      TrackWorkScratch* scratch, FrameJob* job) {
  TrackedStream* const stream = job->track.stream;
  TrackSession& session = stream->session;
  const int64_t begun_at = MonotonicNs();
  const int64_t live_before = static_cast<int64_t>(session.live());
  const TrackingOptions& options = session.options();
  TrackLane backend(lane, &options, &stream->cameras, &job->times.track_ns, &job->times.stages);
  scratch->predictions.count = 0;
  if (job->track.predictions > 0) job->track.packed->Unpack(&scratch->predictions);
  if (absl::Status s =
          session.Begin(job->track.time_ns, job->track.detect, scratch->predictions.view(), &scratch->session);
      !s.ok()) {
    return s;
  }
  int64_t padded = 0, plain = 0;
  for (int c = 0; c < options.cameras; ++c) {
    const auto at = static_cast<size_t>(c);
    const int64_t start = MonotonicNs();
    const auto image = PixelsOf(job->track.images[at], decoder, max_pixels, pixels);
    if (!image.ok()) return AboutCamera(c, image.status());
    if (absl::Status s = ValidatePixels(*image, {}, max_pixels); !s.ok()) return AboutCamera(c, s);
    plain += image->shape().pixels();
    padded += PaddedPixels(image->shape());
    // The last and the next frame are what the limit counts; templates are as many more.
    if (const int64_t kept = padded * options.kept_frames() / 2; kept > stream->max_pixels) {
      return LimitError(options.template_frames > 0 ? "pixels of all images and templates" : "pixels of all images",
                        kept, stream->max_pixels, "--max-track-pixels");
    }
    if (absl::Status s = CheckWanted(job); !s.ok()) return s;
    job->times.decode_ns += MonotonicNs() - start;
    if (absl::Status s = session.Start(c, *image, &backend, &scratch->session, &scratch->found[at]); !s.ok()) return s;
    job->copied_bytes += pixels->rows.copied_bytes();
  }
  for (int c = 0; c < options.cameras; ++c) {
    CameraTracks* const found = &scratch->found[static_cast<size_t>(c)];
    if (absl::Status s = session.Finish(c, &backend, &scratch->session, found); !s.ok()) return s;
  }
  session.Commit(scratch->found.data());
  backend.Keep();
  queue->CorrectPixels(*job, plain + live_before * kPixelsOfTrack);
  // What lies between the stages counts as the last one's.
  FrameTimes& times = job->times;
  times.stages.download_ns =
      std::max(times.stages.download_ns, MonotonicNs() - begun_at - times.decode_ns - times.track_ns -
                                             times.stages.upload_ns - times.stages.detect_ns);
  job->tracked = {scratch->found.data(), options.cameras};
  return absl::OkStatus();
}

}  // namespace glint
