// Samples and gradients of runs of pixels.
#ifndef GLINT_CUDA_TRACK_SAMPLES_CUH_
#define GLINT_CUDA_TRACK_SAMPLES_CUH_

#include <cstdint>

#include "cuda/track/window.cuh"
#include "features/track_math.h"

namespace glint::cuda {

__device__ __forceinline__ int LowHalf(uint32_t pair) { return static_cast<int>(pair & 0xffff); }
__device__ __forceinline__ uint32_t PairOf(int low, int high) { return __byte_perm(low, high, 0x5410); }

// The gradients of both directions from packed lines of samples: `above`, `below` and, alone, `middle`.
template <int kRun>
__device__ __forceinline__ void Gradients(const uint32_t (&above)[kRun / 2 + 1], const int (&middle)[kRun + 2],
                                          const uint32_t (&below)[kRun / 2 + 1], int (&x)[kRun], int (&y)[kRun]) {
  // Halves are kept from being negative.
  constexpr uint32_t kBias = 1 << 14;
  constexpr uint32_t kTwice = 2 * kBias;
  constexpr int kHalf = 64;  // TrackGradient() in steps of 1 / 128
  uint32_t difference[kRun / 2 + 1], sum[kRun / 2 + 1];
#pragma unroll
  for (int p = 0; p <= kRun / 2; ++p) {
    difference[p] = below[p] - above[p] + (kBias << 16 | kBias);
    sum[p] = above[p] + below[p];
  }
  const auto gradient = [](int inner, int beside) { return (inner >> 7) + (beside >> 7); };
  const auto inner = [&](int i) { return 10 * (middle[i + 2] - middle[i]) + kHalf; };
  constexpr int kInner = kHalf - 10 * static_cast<int>(kBias);
  constexpr int kBeside = kHalf - 3 * static_cast<int>(kTwice);
#pragma unroll
  for (int p = 0; p < kRun / 2; ++p) {
    const uint32_t beside_x = sum[p + 1] - sum[p] + (kTwice << 16 | kTwice);
    x[2 * p] = gradient(inner(2 * p), MultiplyHalf<3, false>(beside_x, kBeside));
    x[2 * p + 1] = gradient(inner(2 * p + 1), MultiplyHalf<3, true>(beside_x, kBeside));
    const uint32_t beside_y = difference[p] + difference[p + 1];
    y[2 * p] = gradient(MultiplyHalf<10, true>(difference[p], kInner), MultiplyHalf<3, false>(beside_y, kBeside));
    y[2 * p + 1] =
        gradient(MultiplyHalf<10, false>(difference[p + 1], kInner), MultiplyHalf<3, true>(beside_y, kBeside));
  }
}

struct Weights {
  uint32_t row, next;  // of two neighbouring pixels
};
__device__ __forceinline__ Weights WeightsOf(const PatchPosition& at) {
  const auto pair = [&](int down) { return PairOf((kTrackGrid - at.weight_x) * down, at.weight_x * down); };
  return {pair(kTrackGrid - at.weight_y), pair(at.weight_y)};
}
// Sample i between two rows, less `less`.
template <int kCount>
__device__ __forceinline__ int SampleOf(int i, const Weights& weights, const RowPixels<kCount>& row,
                                        const RowPixels<kCount>& next, int less) {
  const int start = kTrackGrid / 2 - less * kTrackGrid;
  return next.Dot(i, weights.next, row.Dot(i, weights.row, start)) >> kTrackGridBits;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_SAMPLES_CUH_
