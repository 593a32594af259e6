// What a warp of dense Harris has of its strip of the image: in shared memory, and of a row of pixels.
#ifndef GLINT_CUDA_DENSE_STRIP_CUH_
#define GLINT_CUDA_DENSE_STRIP_CUH_

#include <cstddef>

#include "cuda/dense_window.cuh"
#include "cuda/map_device.cuh"

namespace glint::cuda {

inline constexpr int kStripColumns = kLaneColumns * kWarp;
inline constexpr int kHeldRows = 16;              // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
inline constexpr int kFound = 2 * kStripColumns;  // a row can bring kStripColumns
inline constexpr float kOutside = -3.0e38f;       // less than any measure
inline constexpr int kRowsBetweenLooks = 4;       // at the greatest measure so far
inline constexpr float kInside = 3.0e38f;

// kByOne: a radius of suppression of 1.
template <int kRadius, bool kByOne>
struct Strip {
  float4 dx[2 * kRadius + 1][kWarp];  // gradients of the lane's columns
  float4 dy[2 * kRadius + 1][kWarp];
  Candidate found[kFound];
  float response[kByOne ? 1 : kHeldRows][kByOne ? 1 : kStripColumns];
};

// Warps of a block.
template <int kRadius, bool kByOne>
constexpr int StripsAtOnce() {
  constexpr size_t kMost = 48 * 1024;
  constexpr size_t kBytes = sizeof(Strip<kRadius, kByOne>);
  return kByOne && 4 * kBytes <= kMost ? 4 : 2 * kBytes <= kMost ? 2 : 1;
}

// Columns at each side that are not answered for: gradient, window and suppression; whole lanes, for aligned loads.
__host__ __device__ constexpr int SideColumns(int block_radius, int radius) {
  return (1 + block_radius + radius + kLaneColumns - 1) / kLaneColumns * kLaneColumns;
}

// Whether Reflect101(i, n) runs backwards at i: gradients along the axis then have the other sign. Where it turns they
// are 0.
__device__ __forceinline__ bool IsMirrored(int i, int n) {
  if (n == 1) return false;
  const int period = n - 1;
  const int lap = i >= 0 ? i / period : -((period - 1 - i) / period);
  return (lap & 1) != 0;
}

// Byte `k` of a word as a float, plus 2^15: integers up to 2^24 / 2^15 times that stay exact.
__device__ __forceinline__ float PixelOver(uint32_t word, int k) {
  return __uint_as_float(__byte_perm(word, 0x47000000u, 0x7504u | static_cast<unsigned>(k) << 4));
}

// A row's differences p(x + 1) - p(x - 1) and sums p(x - 1) + 2 p(x) + p(x + 1), plus 2^17, at a lane's columns.
struct PixelRow {
  float difference[kLaneColumns];
  float sum[kLaneColumns];

  __device__ __forceinline__ explicit PixelRow(uint32_t pixels) {
    float p[kLaneColumns + 2];
    p[0] = PixelOver(__shfl_up_sync(kFullWarp, pixels, 1), kLaneColumns - 1);
    p[kLaneColumns + 1] = PixelOver(__shfl_down_sync(kFullWarp, pixels, 1), 0);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) p[k + 1] = PixelOver(pixels, k);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      difference[k] = p[k + 2] - p[k];
      sum[k] = fmaf(2.0f, p[k + 1], p[k]) + p[k + 2];
    }
  }
};

// The sum of a column's products of gradients, as a float, because floats have twice the integers' throughput: products
// are at most 1020^2, and 16 of them below 2^24. Up to 7 rows they are kept over 2^23, or products of both gradients,
// which are within 585225, over 1.5 * 2^23: then the float's bits are the integer's, but for a bias.
template <int kRadius>
struct ColumnSums {
  static constexpr bool kOver = kRadius <= 3;
  static constexpr int kBias = kOver ? 0x4b000000 : 0;
  static constexpr int kMixedBias = kOver ? 0x4b400000 : 0;

  float xx[kLaneColumns], yy[kLaneColumns], xy[kLaneColumns];

  __device__ __forceinline__ ColumnSums() {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      xx[k] = yy[k] = kOver ? 0x1p23f : 0.0f;
      xy[k] = kOver ? 0x1.8p23f : 0.0f;
    }
  }
  __device__ __forceinline__ void Add(int k, float dx, float dy) {
    xx[k] = fmaf(dx, dx, xx[k]);
    yy[k] = fmaf(dy, dy, yy[k]);
    xy[k] = fmaf(dx, dy, xy[k]);
  }
  __device__ __forceinline__ void Subtract(int k, float dx, float dy) {
    xx[k] = fmaf(-dx, dx, xx[k]);
    yy[k] = fmaf(-dy, dy, yy[k]);
    xy[k] = fmaf(-dx, dy, xy[k]);
  }
  // The sums over the window of columns.
  __device__ __forceinline__ static void OfWindow(const float (&column)[kLaneColumns], int bias,
                                                  int (&sum)[kLaneColumns]) {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      sum[k] = kOver ? __float_as_int(column[k]) : static_cast<int>(column[k]);
    }
    constexpr unsigned kColumns = 2 * kRadius + 1;
    WindowSums<kRadius>(static_cast<int>(kColumns * static_cast<unsigned>(bias)), sum);
  }
};

// Moves those of what a warp found that are over `least` to the shortlist. All lanes must call.
__device__ __forceinline__ void MoveFound(const Candidate* found, int count, uint32_t least, uint32_t* total,
                                          Candidate* candidates) {
  __syncwarp();
#pragma unroll 1
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + static_cast<int>(threadIdx.x) % kWarp;
    Candidate c = {0, 0};
    if (i < count) c = found[i];
    const unsigned lanes = __ballot_sync(kFullWarp, i < count && c.key > least);
    if (lanes == 0) continue;
    uint32_t base = 0;
    if (threadIdx.x % kWarp == 0) base = atomicAdd(total, static_cast<uint32_t>(__popc(lanes)));
    base = __shfl_sync(kFullWarp, base, 0);
    if (i < count && c.key > least) candidates[base + LanesBelow(lanes)] = c;
  }
  __syncwarp();
}

__device__ __forceinline__ uint32_t WarpMax(uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kFullWarp, v);
#else
  for (int step = kWarp / 2; step > 0; step /= 2) v = max(v, __shfl_xor_sync(kFullWarp, v, step));
  return v;
#endif
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DENSE_STRIP_CUH_
