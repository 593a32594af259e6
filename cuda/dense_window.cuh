// Sums over a window of columns, by a warp whose lanes have four neighbouring columns each.
#ifndef GLINT_CUDA_DENSE_WINDOW_CUH_
#define GLINT_CUDA_DENSE_WINDOW_CUH_

#include "cuda/device.cuh"

namespace glint::cuda {

inline constexpr int kLaneColumns = 4;

// From each column's value to the sum over those at most kRadius away, less `bias`. The first and the last kRadius
// columns of the warp get something else.
template <int kRadius>
__device__ __forceinline__ void WindowSums(int bias, int (&column)[kLaneColumns]) {
  // Of the lane's first and last n columns.
  int prefix[kLaneColumns + 1], suffix[kLaneColumns + 1];
  prefix[0] = suffix[0] = 0;
#pragma unroll
  for (int n = 0; n < kLaneColumns; ++n) {
    prefix[n + 1] = prefix[n] + column[n];
    suffix[n + 1] = suffix[n] + column[kLaneColumns - 1 - n];
  }
  const int all = prefix[kLaneColumns];
  const int all_less_bias = all - bias;
  // Whole lanes at each side: those that the window of every column of this lane holds, and one that some do.
  constexpr int kWhole = kRadius / kLaneColumns;
  int left_whole[kWhole + 1], right_whole[kWhole + 1];
#pragma unroll
  for (int i = 0; i < kWhole; ++i) {
    left_whole[i] = __shfl_up_sync(kFullWarp, all, i + 1);
    right_whole[i] = __shfl_down_sync(kFullWarp, all, i + 1);
  }
  int sum[kLaneColumns];
#pragma unroll
  for (int j = 0; j < kLaneColumns; ++j) {
    const int left = kRadius - j;                        // columns wanted left of the lane's
    const int right = kRadius + j - (kLaneColumns - 1);  // and right of them
    // The lane's own: all but those that are too far.
    if (left >= 0 && right >= 0) {
      sum[j] = all_less_bias;
    } else if (left >= 0) {
      sum[j] = prefix[kLaneColumns + right] - bias;
    } else if (right >= 0) {
      sum[j] = suffix[kLaneColumns + left] - bias;
    } else {
      sum[j] = prefix[kLaneColumns + right] - prefix[-left] - bias;
    }
#pragma unroll
    for (int i = 0; i < kWhole; ++i) {
      if ((i + 1) * kLaneColumns <= left) sum[j] += left_whole[i];
      if ((i + 1) * kLaneColumns <= right) sum[j] += right_whole[i];
    }
    if (left > 0 && left % kLaneColumns != 0) {
      sum[j] += __shfl_up_sync(kFullWarp, suffix[left % kLaneColumns], left / kLaneColumns + 1);
    }
    if (right > 0 && right % kLaneColumns != 0) {
      sum[j] += __shfl_down_sync(kFullWarp, prefix[right % kLaneColumns], right / kLaneColumns + 1);
    }
  }
#pragma unroll
  for (int j = 0; j < kLaneColumns; ++j) column[j] = sum[j];
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DENSE_WINDOW_CUH_
