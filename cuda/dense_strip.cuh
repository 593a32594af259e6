// What a warp of dense Harris has of its strip of the image: in shared memory, and of a row of pixels.
#ifndef GLINT_CUDA_DENSE_STRIP_CUH_
#define GLINT_CUDA_DENSE_STRIP_CUH_

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
__host__ __device__ constexpr int WarpsOf(bool by_one) { return by_one ? 4 : 2; }

template <int kRadius, bool kByOne>
struct Strip {
  uint4 gradient[2 * kRadius + 1][kWarp];  // dx << 16 | dy & 0xffff of the lane's columns
  Candidate found[kFound];
  float response[kByOne ? 1 : kHeldRows][kByOne ? 1 : kStripColumns];
};

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

// A row's differences p(x + 1) - p(x - 1) and sums p(x - 1) + 2 p(x) + p(x + 1) at a lane's columns.
struct PixelRow {
  int difference[kLaneColumns];
  int sum[kLaneColumns];

  __device__ __forceinline__ explicit PixelRow(uint32_t pixels) {
    int p[kLaneColumns + 2];
    p[0] = static_cast<int>(__shfl_up_sync(kFullWarp, pixels, 1) >> 24);
    p[kLaneColumns + 1] = static_cast<int>(__shfl_down_sync(kFullWarp, pixels, 1) & 0xff);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) p[k + 1] = static_cast<int>(pixels >> (8 * k) & 0xff);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      difference[k] = p[k + 2] - p[k];
      sum[k] = p[k] + 2 * p[k + 1] + p[k + 2];
    }
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
