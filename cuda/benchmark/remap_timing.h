// Times of rectification alone: its kernels, without what comes before and behind them.
#ifndef GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_
#define GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "features/camera/depth_table.h"
#include "features/depth.h"
#include "features/pixels.h"
#include "features/types.h"

namespace glint::cuda {

// GPU times of one launch, or of the two of registration, microseconds, one for each replay of a graph. Table and image
// are on the device.
struct RemapTiming {
  std::vector<float> alone_us;   // of a graph of one launch
  std::vector<float> in_row_us;  // its share of a graph of 16, one after the other
  std::vector<float> empty_us;   // of a graph of one kernel that does nothing: the floor of alone_us
};

// Remaps a source that has a view, and measures. `sm_limit`: multiprocessors to use, 0 = all. FAILED_PRECONDITION: no
// such device, or built without CUDA.
absl::StatusOr<RemapTiming> TimeRemap(int device, int sm_limit, const RemapSource& raw, int replays, Image* rectified);
// Registers depths, as Pipeline::RegisterDepth() does, whose table has an id, and measures; otherwise likewise.
absl::StatusOr<RemapTiming> TimeRegisterDepth(int device, int sm_limit, const DepthView& depth, const DepthTable& table,
                                              int replays);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_BENCHMARK_REMAP_TIMING_H_
