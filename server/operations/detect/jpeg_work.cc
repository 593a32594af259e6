#include "server/operations/detect/jpeg_work.h"

#include <algorithm>

#include "decode/pieces.h"
#include "features/status_macros.h"
#include "server/base/clock.h"
#include "server/pixels/image_pair.h"

namespace glint {
namespace {

bool LeaveToCpu(JpegFallback why, const DetectMetrics& metrics) {
  metrics.jpeg_fallbacks[static_cast<size_t>(why)]->Increment();
  return false;
}

}  // namespace

absl::StatusOr<bool> RunJpeg(const LaneContext& context, const DetectMetrics& metrics,
                             absl::FunctionRef<absl::StatusOr<Pixels>()> mask, const DetectTask& task, FrameJob* job) {
  if (!context.lane->decodes_jpeg()) return false;
  ImageScratch& scratch = *context.scratch->Of<ImageScratch>();
  const int64_t started_at = MonotonicNs();
  const absl::Span<const uint8_t> file = decode::Contiguous(task.image.bytes, &scratch.first.file);
  if (!decode::IsJpeg(file)) return false;
  // A malformed file and one of the wrong size go to the CPU, which reports the first error.
  const auto shape = context.decoder->Inspect(task.image.encoding, file, context.max_pixels);
  if (!shape.ok() || (task.camera != nullptr && *shape != task.camera->image)) return false;
  if (task.region.wanted) return LeaveToCpu(JpegFallback::kRegion, metrics);
  // The memory bound assumes files of at most this size.
  if (static_cast<int64_t>(file.size()) > context.max_pixels) return LeaveToCpu(JpegFallback::kSize, metrics);
  const auto mask_pixels = mask();
  if (!mask_pixels.ok() || (!mask_pixels->empty() && mask_pixels->shape() != *shape)) return false;
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));

  const int64_t run_at = MonotonicNs();
  StageTimes& stages = job->times.stages;
  GLINT_ASSIGN_OR_RETURN(const auto run,
                         context.lane->RunJpeg(task.options, file, *shape, *mask_pixels, &scratch.features, &stages));
  if (run.fallback != JpegFallback::kNone) return LeaveToCpu(run.fallback, metrics);
  metrics.jpegs_by_gpu->Increment();
  job->times.decode_ns = run_at - started_at + run.decode_ns;
  const int64_t rest_ns = MonotonicNs() - run_at - run.decode_ns;
  stages.download_ns = std::max(stages.download_ns, rest_ns - stages.upload_ns - stages.detect_ns);
  return true;
}

}  // namespace glint
