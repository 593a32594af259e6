#include "server/schedule/lane_threads.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/schedule/stream_mask.h"

namespace glint {
namespace {

constexpr Shape kWarmUpShape = {640, 480};

// Squares of changing brightness: corners for every stage to work on.
Image WarmUpImage() {
  Image image(kWarmUpShape.width, kWarmUpShape.height);
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      image.row(y)[x] = static_cast<uint8_t>((x / 24 + y / 24) % 2 == 0 ? 40 : 120 + (x + 3 * y) % 97);
    }
  }
  return image;
}

// What one lane's thread reuses from frame to frame.
struct Scratch {
  decode::Decoder decoder;
  PixelScratch image;
  PixelScratch mask;
  Features features;
};

absl::StatusOr<Pixels> MaskOf(const FrameJob& job, int64_t max_pixels, Scratch* scratch) {
  scratch->mask.rows.Use(job.mask);
  if (job.mask.kind == ImageSource::Kind::kNone && job.stream_mask != nullptr) {
    const auto view = job.stream_mask->View(&scratch->decoder, max_pixels);
    if (!view.ok()) return AboutMask(view.status());
    return Pixels(*view);
  }
  auto pixels = PixelsOf(job.mask, &scratch->decoder, max_pixels, &scratch->mask);
  if (!pixels.ok()) return AboutMask(pixels.status());
  return pixels;
}

// From coordinates in a part of an image to those in the whole.
void Shift(const Part& part, Features* features) {
  for (float& x : features->x) x += static_cast<float>(part.x);
  for (float& y : features->y) y += static_cast<float>(part.y);
}

// Whether anyone still waits for the frame.
absl::Status CheckWanted(FrameJob* job) {
  if (job->cancelled.load(std::memory_order_relaxed)) return absl::CancelledError("the client has gone");
  if (job->expires_at_ns == 0) return absl::OkStatus();
  const int64_t now = MonotonicNs();
  if (!job->Expired(now)) return absl::OkStatus();
  job->drop = DropReason::kExpired;
  return absl::DeadlineExceededError(
      absl::StrCat("max_age_ns: expired after waiting for ", (now - job->times.received_at) / 1000, " us"));
}

absl::Status RunJob(Lane* lane, int64_t max_pixels, FrameQueue* queue, Scratch* scratch, FrameJob* job) {
  scratch->features.Clear();
  job->times.stages = StageTimes();
  const int64_t started_at = MonotonicNs();
  job->times.queue_ns = started_at - job->times.queued_at;
  job->times.decode_ns = 0;
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;

  auto image = PixelsOf(job->image, &scratch->decoder, max_pixels, &scratch->image);
  if (!image.ok()) return image.status();
  // The whole picture, whatever its region: it had to be decoded.
  if (job->image.kind == ImageSource::Kind::kEncoded) queue->CorrectPixels(*job, image->shape().pixels());
  auto mask = MaskOf(*job, max_pixels, scratch);
  if (!mask.ok()) return mask.status();
  job->times.decode_ns = MonotonicNs() - started_at;
  if (absl::Status s = ValidatePixels(*image, *mask, max_pixels); !s.ok()) return s;
  Part part = {0, 0, image->shape()};
  if (job->region.wanted) {
    const auto wanted = PartOf(job->region, image->shape());
    if (!wanted.ok()) return wanted.status();
    part = *wanted;
    CropTo(part, &scratch->image, &*image);
    CropTo(part, &scratch->mask, &*mask);
  }
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;
  const absl::Status status = lane->Run(job->options, *image, *mask, &scratch->features, &job->times.stages);
  Shift(part, &scratch->features);
  job->copied_bytes = scratch->image.rows.copied_bytes() + scratch->mask.rows.copied_bytes();
  return status;
}

}  // namespace

LaneThreads::LaneThreads(FrameQueue* queue, LaneSet* lanes, int64_t max_image_pixels, Events events)
    : queue_(queue), lanes_(lanes), max_image_pixels_(max_image_pixels), events_(std::move(events)) {
  threads_.reserve(lanes_->lanes.size());
  for (size_t i = 0; i < lanes_->lanes.size(); ++i) {
    threads_.emplace_back(&LaneThreads::Main, this, static_cast<int>(i));
  }
}

LaneThreads::~LaneThreads() {
  for (std::thread& thread : threads_) thread.join();
}

void LaneThreads::Main(int index) {
  Lane* const lane = lanes_->lanes[static_cast<size_t>(index)].get();
  Scratch scratch;
  bool failed = false;
  StageTimes times;
  if (absl::Status s = lane->Run(*PresetOptions("orb"), WarmUpImage(), {}, &scratch.features, &times); s.ok()) {
    events_.warm();
  } else {
    failed = true;
    events_.failed(absl::Status(
        s.code(), absl::StrCat("lane ", index, " on ", lane->device(), ": the warm-up frame failed: ", s.message())));
  }
  while (FrameJob* job = queue_->Pop()) {
    events_.busy(true);
    job->lane = index;
    job->device = &lane->device();
    const int64_t bytes = job->bytes;
    const int64_t begun_at = MonotonicNs();
    job->status = RunJob(lane, max_image_pixels_, queue_, &scratch, job);
    if (!job->status.ok()) scratch.features.Clear();
    job->sink->OnFrameDone(job, scratch.features);  // and frees its message
    queue_->Release(bytes, MonotonicNs() - begun_at);
    events_.busy(false);
    if (absl::Status fatal = lane->fatal(); !fatal.ok() && !failed) {
      failed = true;
      events_.failed(absl::Status(fatal.code(), absl::StrCat("lane ", index, " on ", lane->device(),
                                                             ": the device is lost: ", fatal.message())));
    }
  }
}

}  // namespace glint
