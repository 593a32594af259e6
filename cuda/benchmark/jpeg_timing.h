// Times of the JPEG decoder alone: without the detector behind it, and stage by stage.
#ifndef GLINT_CUDA_BENCHMARK_JPEG_TIMING_H_
#define GLINT_CUDA_BENCHMARK_JPEG_TIMING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "features/types.h"

namespace glint::cuda {

// Of a frame on the device, in order: the copy of the file; removal of stuffing; symbol boundaries; coefficients;
// inverse DCT; the copy of the state back.
inline constexpr const char* kJpegStageNames[] = {"upload", "stuffing", "symbols", "coefficients", "luma", "status"};
inline constexpr int kTimedJpegStages = 6;

// GPU times, microseconds.
struct JpegTiming {
  std::vector<float> replay_us;  // one per replay: from the file on the device to its luma on the device
  // Of each stage, one per frame with events between the stages. Their sum exceeds a frame's time, because an event
  // keeps neighbouring stages from overlapping.
  std::vector<float> stage_us[kTimedJpegStages];
};

// Thread-compatible. Errors as those of Pipeline; after an error it is of no more use.
class JpegTimer {
 public:
  // sm_limit: multiprocessors to use, 0 = all. FAILED_PRECONDITION: no such device, or built without CUDA.
  static absl::StatusOr<std::unique_ptr<JpegTimer>> Create(int device, int sm_limit);
  ~JpegTimer();

  // From a planned file in host memory to luma on the device; spins until it is there. kNone: it is right.
  absl::StatusOr<JpegReason> Decode(const JpegPlan& plan, const uint8_t* file, size_t size);
  // The luma of the last file; its state must have been kNone.
  absl::Status ReadLuma(Image* luma);
  // The last file again, `replays` times without and `frames` times with events between its stages.
  absl::StatusOr<JpegTiming> TimeOnDevice(int replays, int frames);

 private:
  struct Impl;
  explicit JpegTimer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_BENCHMARK_JPEG_TIMING_H_
