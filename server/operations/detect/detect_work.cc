#include "server/operations/detect/detect_work.h"

#include <algorithm>

#include "features/error.h"
#include "features/status_macros.h"
#include "server/operations/detect/jpeg_work.h"
#include "server/pixels/image_pair.h"
#include "server/pixels/image_warnings.h"

namespace glint {
namespace {

// Whether a mask's values between 0 and 255 mean something else than 255, as in cv::ORB.
bool MindsMaskValues(const DetectorOptions& options) { return !AnyMaskValueIsSet(options) && options.levels > 1; }

// Sets the task's `other_mask_values`, too.
absl::StatusOr<Pixels> MaskOf(const LaneContext& context, DetectTask* task, PixelScratch* scratch) {
  scratch->rows.Use(task->mask);
  if (task->mask.kind == ImageSource::Kind::kNone) {
    if (task->stream_mask == nullptr) return Pixels();
    const auto view = task->stream_mask->View(context.decoder, context.max_pixels);
    if (!view.ok()) return WithField("mask", view.status());
    task->other_mask_values = task->stream_mask->other_values();
    return Pixels(*view);
  }
  auto pixels = PixelsOf(task->mask, context.decoder, context.max_pixels, scratch);
  if (!pixels.ok()) return WithField("mask", pixels.status());
  if (MindsMaskValues(task->options)) {
    task->other_mask_values = ShareOfOtherMaskValues(*pixels, &scratch->checked);
    scratch->rows.Recount();
  }
  return pixels;
}

// Converts coordinates in a region to those in the whole image.
void Shift(const Part& part, Features* features) {
  for (float& x : features->x) x += static_cast<float>(part.x);
  for (float& y : features->y) y += static_cast<float>(part.y);
}

absl::Status RunOnPixels(const LaneContext& context, int64_t started_at, DetectTask* task, FrameJob* job) {
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  GLINT_ASSIGN_OR_RETURN(Pixels image, PixelsOf(task->image, context.decoder, context.max_pixels, &scratch.first));
  GLINT_ASSIGN_OR_RETURN(Pixels mask, MaskOf(context, task, &scratch.second));
  GLINT_RETURN_IF_ERROR(ValidatePixels(image, mask, context.max_pixels));
  if (task->camera != nullptr) GLINT_RETURN_IF_ERROR(CheckSize("image", image.shape(), *task->camera));
  Part part = {0, 0, image.shape()};
  if (task->region.wanted) {
    GLINT_ASSIGN_OR_RETURN(part, PartOf(task->region, image.shape()));
    CropTo(part, &scratch.first, &image);
    CropTo(part, &scratch.second, &mask);
  }
  WarnOfNarrowRange("", task->image, image, &scratch.first.checked, &job->warnings);
  scratch.first.rows.Recount();
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  const int64_t run_at = MonotonicNs();
  job->times.decode_ns = run_at - started_at;
  StageTimes& stages = job->times.stages;
  absl::Status status = context.lane->Run(task->options, image, mask, &scratch.features, &stages);
  Shift(part, &scratch.features);
  // Time between the stages, including waits for a processor, counts as the last stage's.
  stages.download_ns = std::max(stages.download_ns, MonotonicNs() - run_at - stages.upload_ns - stages.detect_ns);
  job->copied_bytes = scratch.first.rows.copied_bytes() + scratch.second.rows.copied_bytes();
  return status;
}

void AddRays(const LaneContext& context, const Features& features, DetectTask* task, StageTimes* times) {
  if (task->camera == nullptr) return;
  const int64_t started_at = MonotonicNs();
  Rays* const rays = context.scratch->Of<Rays>();
  RaysOf(*task->camera, features.x, features.y, rays);
  task->rays = rays;
  times->download_ns += MonotonicNs() - started_at;
}

// Looks at the pixels of a JPEG file that the lane's device has decoded, where they are not to be had.
absl::Status LookAtJpeg(const LaneContext& context, const DetectTask& task, FrameJob* job) {
  PixelScratch& scratch = context.scratch->Of<ImageScratch>()->first;
  GLINT_ASSIGN_OR_RETURN(const Pixels image, PixelsOf(task.image, context.decoder, context.max_pixels, &scratch));
  WarnOfNarrowRange("", task.image, image, &scratch.checked, &job->warnings);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunDetect(const LaneContext& context, const DetectMetrics& metrics, DetectTask* task, FrameJob* job) {
  const int64_t started_at = MonotonicNs();
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  scratch.features.Clear();
  bool done = false;
  if (task->image.kind == ImageSource::Kind::kEncoded && task->image.range == nullptr) {
    const auto mask = [&] { return MaskOf(context, task, &scratch.second); };
    GLINT_ASSIGN_OR_RETURN(done, RunJpeg(context, metrics, mask, *task, job));
    job->copied_bytes = scratch.second.rows.copied_bytes();
  }
  if (!done) GLINT_RETURN_IF_ERROR(RunOnPixels(context, started_at, task, job));
  if (done && scratch.features.count() == 0) GLINT_RETURN_IF_ERROR(LookAtJpeg(context, *task, job));
  if (MindsMaskValues(task->options) && task->other_mask_values > 0) {
    WarnOfMaskValues(task->other_mask_values, &job->warnings);
  }
  AddRays(context, scratch.features, task, &job->times.stages);
  task->features = &scratch.features;
  job->keypoints = scratch.features.count();
  return absl::OkStatus();
}

}  // namespace glint
