// Times of rectification alone: its kernel, without what comes before and behind it.
#ifndef GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_
#define GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "features/pixels.h"
#include "features/types.h"

namespace glint::cuda {

// GPU times of one launch, microseconds, one for each replay of a graph. Table and image are on the device.
struct RemapTiming {
  std::vector<float> alone_us;   // of a graph of one launch
  std::vector<float> in_row_us;  // its share of a graph of 16, one after the other
  std::vector<float> empty_us;   // of a graph of one kernel that does nothing: the floor of alone_us
};

// Remaps a source that has a view, and measures. `sm_limit`: multiprocessors to use, 0 = all. FAILED_PRECONDITION: no
// such device, or built without CUDA.
absl::StatusOr<RemapTiming> TimeRemap(int device, int sm_limit, const RemapSource& raw, int replays, Image* rectified);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_
