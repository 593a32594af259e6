#include "server/operations/detect/detect_work.h"

#include <algorithm>

#include "features/error.h"
#include "features/status_macros.h"
#include "server/operations/detect/jpeg_work.h"
#include "server/pixels/image_pair.h"

namespace glint {
namespace {

absl::StatusOr<Pixels> MaskOf(const LaneContext& context, const DetectTask& task, PixelScratch* scratch) {
  scratch->rows.Use(task.mask);
  if (task.mask.kind == ImageSource::Kind::kNone) {
    if (task.stream_mask == nullptr) return Pixels();
    const auto view = task.stream_mask->View(context.decoder, context.max_pixels);
    if (!view.ok()) return WithField("mask", view.status());
    return Pixels(*view);
  }
  auto pixels = PixelsOf(task.mask, context.decoder, context.max_pixels, scratch);
  if (!pixels.ok()) return WithField("mask", pixels.status());
  return pixels;
}

// Converts coordinates in a region to those in the whole image.
void Shift(const Part& part, Features* features) {
  for (float& x : features->x) x += static_cast<float>(part.x);
  for (float& y : features->y) y += static_cast<float>(part.y);
}

absl::Status RunOnPixels(const LaneContext& context, int64_t started_at, const DetectTask& task, FrameJob* job) {
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  GLINT_ASSIGN_OR_RETURN(Pixels image, PixelsOf(task.image, context.decoder, context.max_pixels, &scratch.first));
  // Charges the whole image, whatever its region: it had to be decoded.
  if (task.image.kind == ImageSource::Kind::kEncoded) context.queue->CorrectPixels(*job, image.shape().pixels());
  GLINT_ASSIGN_OR_RETURN(Pixels mask, MaskOf(context, task, &scratch.second));
  GLINT_RETURN_IF_ERROR(ValidatePixels(image, mask, context.max_pixels));
  Part part = {0, 0, image.shape()};
  if (task.region.wanted) {
    GLINT_ASSIGN_OR_RETURN(part, PartOf(task.region, image.shape()));
    CropTo(part, &scratch.first, &image);
    CropTo(part, &scratch.second, &mask);
  }
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  const int64_t run_at = MonotonicNs();
  job->times.decode_ns = run_at - started_at;
  StageTimes& stages = job->times.stages;
  absl::Status status = context.lane->Run(task.options, image, mask, &scratch.features, &stages);
  Shift(part, &scratch.features);
  // Time between the stages, including waits for a processor, counts as the last stage's.
  stages.download_ns = std::max(stages.download_ns, MonotonicNs() - run_at - stages.upload_ns - stages.detect_ns);
  job->copied_bytes = scratch.first.rows.copied_bytes() + scratch.second.rows.copied_bytes();
  return status;
}

}  // namespace

absl::Status RunDetect(const LaneContext& context, const DetectMetrics& metrics, DetectTask* task, FrameJob* job) {
  const int64_t started_at = MonotonicNs();
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  scratch.features.Clear();
  bool done = false;
  if (task->image.kind == ImageSource::Kind::kEncoded) {
    const auto mask = [&] { return MaskOf(context, *task, &scratch.second); };
    GLINT_ASSIGN_OR_RETURN(done, RunJpeg(context, metrics, mask, *task, job));
    job->copied_bytes = scratch.second.rows.copied_bytes();
  }
  if (!done) GLINT_RETURN_IF_ERROR(RunOnPixels(context, started_at, *task, job));
  task->features = &scratch.features;
  job->keypoints = scratch.features.count();
  return absl::OkStatus();
}

}  // namespace glint
