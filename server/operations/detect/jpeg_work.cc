#include "server/operations/detect/jpeg_work.h"

#include <algorithm>

#include "decode/pieces.h"
#include "server/base/clock.h"
#include "server/operations/match/match_work.h"

namespace glint {
namespace {

bool LeaveToCpu(JpegFallback why, FrameJob* job) {
  job->jpegs.fallback = why;
  return false;
}

}  // namespace

absl::StatusOr<bool> RunJpeg(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder,
                             absl::FunctionRef<absl::StatusOr<Pixels>()> mask, PixelScratch* scratch, FrameJob* job,
                             Features* features) {
  if (!lane->decodes_jpeg()) return false;
  const int64_t started_at = MonotonicNs();
  const absl::Span<const uint8_t> file = decode::Contiguous(job->image.bytes, &scratch->file);
  if (!decode::IsJpeg(file)) return false;
  // Where something is wrong, the CPU finds what is to be said first.
  const auto shape = decoder->Inspect(job->image.encoding, file, max_pixels);
  if (!shape.ok()) return false;
  if (job->region.wanted) return LeaveToCpu(JpegFallback::kRegion, job);
  // What the memory bound counts with.
  if (static_cast<int64_t>(file.size()) > max_pixels) return LeaveToCpu(JpegFallback::kSize, job);
  const auto mask_pixels = mask();
  if (!mask_pixels.ok() || (!mask_pixels->empty() && mask_pixels->shape() != *shape)) return false;
  if (absl::Status s = CheckWanted(job); !s.ok()) return s;

  const int64_t run_at = MonotonicNs();
  StageTimes& stages = job->times.stages;
  const auto run = lane->RunJpeg(job->options, file, *shape, *mask_pixels, features, &stages);
  if (!run.ok()) return run.status();
  if (run->fallback != JpegFallback::kNone) return LeaveToCpu(run->fallback, job);
  queue->CorrectPixels(*job, shape->pixels());
  job->jpegs.by_gpu = 1;
  job->times.decode_ns = run_at - started_at + run->decode_ns;
  const int64_t rest_ns = MonotonicNs() - run_at - run->decode_ns;
  stages.download_ns = std::max(stages.download_ns, rest_ns - stages.upload_ns - stages.detect_ns);
  return true;
}

}  // namespace glint
