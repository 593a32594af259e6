#include "server/schedule/track_work.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "server/schedule/pair_work.h"

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

// A lane as a session's backend.
class LaneBackend final : public TrackBackend {
 public:
  LaneBackend(Lane* lane, TrackedStream* stream, FrameTimes* times) : lane_(lane), stream_(stream), times_(times) {}

  bool HasLast(int camera) const override { return Of(camera).has_last; }

  absl::StatusOr<ImageView> SetNext(int camera, const Pixels& image) override {
    const int64_t start = MonotonicNs();
    TrackedStream::Camera& of = Of(camera);
    const TrackingOptions& options = stream_->session.options();
    if (of.frames == nullptr || of.shape != image.shape()) {
      of = TrackedStream::Camera();  // its memory first
      auto made = lane_->MakeTrackFrames(image.shape(), options.track, options.max_tracks);
      if (!made.ok()) return made.status();
      of.frames = *std::move(made);
      of.shape = image.shape();
    }
    auto view = lane_->SetNextFrame(of.frames.get(), image);
    if (!view.ok()) of = TrackedStream::Camera();
    times_->track_ns += MonotonicNs() - start;
    return view;
  }

  absl::Status Follow(int camera, const TrackInput& points, const TrackOptions& options, TrackResult* result) override {
    const int64_t start = MonotonicNs();
    absl::Status status = lane_->Track(Of(camera).frames.get(), points, options, result);
    if (!status.ok()) Of(camera) = TrackedStream::Camera();
    times_->track_ns += MonotonicNs() - start;
    return status;
  }

  absl::Status Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                      Features* features) override {
    StageTimes times;
    absl::Status status = lane_->Run(options, image, mask, features, &times);
    AddTimes(times, &times_->stages);
    return status;
  }

  void Advance() {
    for (int c = 0; c < stream_->session.options().cameras; ++c) {
      Of(c).frames->Advance();
      Of(c).has_last = true;
    }
  }

 private:
  TrackedStream::Camera& Of(int camera) const { return stream_->cameras[static_cast<size_t>(camera)]; }

  Lane* const lane_;
  TrackedStream* const stream_;
  FrameTimes* const times_;
};

}  // namespace

absl::Status RunTrack(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* pixels,
                      TrackWorkScratch* scratch, FrameJob* job) {
  TrackedStream* const stream = job->track.stream;
  TrackSession& session = stream->session;
  LaneBackend backend(lane, stream, &job->times);
  const int64_t begun_at = MonotonicNs();
  const int64_t live_before = static_cast<int64_t>(session.live());
  if (absl::Status s = session.Begin(job->track.time_ns, job->track.detect); !s.ok()) return s;
  int64_t padded = 0, plain = 0;
  for (int c = 0; c < session.options().cameras; ++c) {
    const auto at = static_cast<size_t>(c);
    const int64_t start = MonotonicNs();
    const auto image = PixelsOf(job->track.images[at], decoder, max_pixels, pixels);
    if (!image.ok()) return AboutCamera(c, image.status());
    if (absl::Status s = ValidatePixels(*image, {}, max_pixels); !s.ok()) return AboutCamera(c, s);
    plain += image->shape().pixels();
    padded += PaddedPixels(image->shape());
    if (padded > stream->max_pixels) {
      return LimitError("pixels of all images", padded, stream->max_pixels, "--max-track-pixels");
    }
    if (absl::Status s = CheckWanted(job); !s.ok()) return s;
    job->times.decode_ns += MonotonicNs() - start;
    if (absl::Status s = session.Run(c, *image, &backend, &scratch->session, &scratch->found[at]); !s.ok()) return s;
    job->copied_bytes += pixels->rows.copied_bytes();
  }
  session.Commit(scratch->found.data());
  backend.Advance();
  queue->CorrectPixels(*job, plain + live_before * kPixelsOfTrack);
  // What lies between the stages counts as the last one's.
  FrameTimes& times = job->times;
  times.stages.download_ns =
      std::max(times.stages.download_ns, MonotonicNs() - begun_at - times.decode_ns - times.track_ns -
                                             times.stages.upload_ns - times.stages.detect_ns);
  job->tracked = {scratch->found.data(), session.options().cameras};
  return absl::OkStatus();
}

}  // namespace glint
