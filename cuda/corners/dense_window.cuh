// Sums over a window of rows, of one of columns, and the measure, by a warp whose lanes have four neighbouring columns
// each.
#ifndef GLINT_CUDA_CORNERS_DENSE_WINDOW_CUH_
#define GLINT_CUDA_CORNERS_DENSE_WINDOW_CUH_

#include <cuda_fp16.h>

#include "cuda/common/warp.cuh"
#include "cuda/plan/tiling.h"

namespace glint::cuda {

// From each column's value to the sum over those at most kRadius away, less `bias`. The first and the last kRadius
// columns of the warp get something else. Up to a radius of 3 only the last addition of each sum has more than 4
// columns.
template <int kRadius, typename T>
__device__ __forceinline__ void WindowSums(T bias, T (&column)[kLaneColumns]) {
  // Of the lane's first and last n columns.
  T prefix[kLaneColumns + 1], suffix[kLaneColumns + 1];
  prefix[0] = suffix[0] = 0;
  prefix[1] = column[0];
  suffix[1] = column[kLaneColumns - 1];
#pragma unroll
  for (int n = 1; n < kLaneColumns; ++n) {
    prefix[n + 1] = prefix[n] + column[n];
    suffix[n + 1] = suffix[n] + column[kLaneColumns - 1 - n];
  }
  const T all = prefix[kLaneColumns];
  const T all_less_bias = all - bias;
  // Whole lanes at each side: those that the window of every column of this lane holds, and one that some do.
  constexpr int kWhole = kRadius / kLaneColumns;
  T left_whole[kWhole + 1], right_whole[kWhole + 1];
#pragma unroll
  for (int i = 0; i < kWhole; ++i) {
    left_whole[i] = __shfl_up_sync(kFullWarp, all, i + 1);
    right_whole[i] = __shfl_down_sync(kFullWarp, all, i + 1);
  }
  T sum[kLaneColumns];
#pragma unroll
  for (int j = 0; j < kLaneColumns; ++j) {
    const int left = kRadius - j;                        // columns wanted left of the lane's
    const int right = kRadius + j - (kLaneColumns - 1);  // and right of them
    T side = 0;
#pragma unroll
    for (int i = 0; i < kWhole; ++i) {
      if ((i + 1) * kLaneColumns <= left) side += left_whole[i];
      if ((i + 1) * kLaneColumns <= right) side += right_whole[i];
    }
    if (left > 0 && left % kLaneColumns != 0) {
      const T part = __shfl_up_sync(kFullWarp, suffix[left % kLaneColumns], left / kLaneColumns + 1);
      side = kWhole == 0 ? part : side + part;
    }
    if (right > 0 && right % kLaneColumns != 0) {
      const T part = __shfl_down_sync(kFullWarp, prefix[right % kLaneColumns], right / kLaneColumns + 1);
      side = kWhole == 0 && left <= 0 ? part : side + part;
    }
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
    if (left > 0 || right > 0) sum[j] += side;
  }
#pragma unroll
  for (int j = 0; j < kLaneColumns; ++j) column[j] = sum[j];
}

__device__ __forceinline__ __half2 HalvesOf(uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
__device__ __forceinline__ uint32_t BitsOf(__half2 halves) { return *reinterpret_cast<const uint32_t*>(&halves); }

// A row's gradients at a lane's columns, integers up to 1020, as pairs of halves: of columns 0 and 2, 1 and 3.
struct Gradients {
  uint4 bits;  // dx of the one and the other pair, dy likewise

  Gradients() = default;
  __device__ __forceinline__ Gradients(__half2 dx02, __half2 dx13, __half2 dy02, __half2 dy13)
      : bits(make_uint4(BitsOf(dx02), BitsOf(dx13), BitsOf(dy02), BitsOf(dy13))) {}

  // Changes signs, the top bits of the halves.
  __device__ __forceinline__ void FlipX(uint32_t of02, uint32_t of13) {
    bits.x ^= of02;
    bits.y ^= of13;
  }

  __device__ __forceinline__ void Get(float (&dx)[kLaneColumns], float (&dy)[kLaneColumns]) const {
    const uint4 all = bits;  // in one load
    dx[0] = __low2float(HalvesOf(all.x));
    dx[1] = __low2float(HalvesOf(all.y));
    dx[2] = __high2float(HalvesOf(all.x));
    dx[3] = __high2float(HalvesOf(all.y));
    dy[0] = __low2float(HalvesOf(all.z));
    dy[1] = __low2float(HalvesOf(all.w));
    dy[2] = __high2float(HalvesOf(all.z));
    dy[3] = __high2float(HalvesOf(all.w));
  }
};

// The sum of a column's products of gradients, as a float, because floats have twice the integers' throughput: products
// are at most 1020^2, and 16 of them below 2^24. Up to 7 rows squares are kept over 2^23: then the float's bits are the
// integer's, but for a bias; and products of both gradients, which are within 585225, of up to 4 columns are below
// 2^24, so that their sum over the window is rounded once, as from integers.
template <int kRadius>
struct ColumnSums {
  static constexpr bool kOver = kRadius <= 3;
  static constexpr int kBias = kOver ? 0x4b000000 : 0;

  float xx[kLaneColumns], yy[kLaneColumns], xy[kLaneColumns];

  __device__ __forceinline__ ColumnSums() {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      xx[k] = yy[k] = kOver ? 0x1p23f : 0.0f;
      xy[k] = 0;
    }
  }

  // Adds a row's products; kSign -1: subtracts them.
  template <int kSign>
  __device__ __forceinline__ void Add(const Gradients& row) {
    float dx[kLaneColumns], dy[kLaneColumns];
    row.Get(dx, dy);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      xx[k] = fmaf(kSign < 0 ? -dx[k] : dx[k], dx[k], xx[k]);
      yy[k] = fmaf(kSign < 0 ? -dy[k] : dy[k], dy[k], yy[k]);
      xy[k] = fmaf(kSign < 0 ? -dx[k] : dx[k], dy[k], xy[k]);
    }
  }

  // The measure at the lane's columns.
  __device__ __forceinline__ void Measure(float harris_k, float scale4, float (&response)[kLaneColumns]) const {
    float a[kLaneColumns], b[kLaneColumns], c[kLaneColumns];
    OfSquares(xx, a);
    OfSquares(yy, b);
    if (kOver) {
#pragma unroll
      for (int k = 0; k < kLaneColumns; ++k) c[k] = xy[k];
      WindowSums<kRadius>(0.0f, c);
    } else {
      OfSquares(xy, c);
    }
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      response[k] = HarrisResponse(a[k], b[k], c[k], harris_k, scale4);
    }
  }

 private:
  __device__ __forceinline__ static void OfSquares(const float (&column)[kLaneColumns],
                                                   float (&of_window)[kLaneColumns]) {
    int sum[kLaneColumns];
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      sum[k] = kOver ? __float_as_int(column[k]) : static_cast<int>(column[k]);
    }
    constexpr unsigned kWindowColumns = 2 * kRadius + 1;
    WindowSums<kRadius>(static_cast<int>(kWindowColumns * static_cast<unsigned>(kBias)), sum);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) of_window[k] = static_cast<float>(sum[k]);
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_WINDOW_CUH_
