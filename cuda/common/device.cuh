// Device-side helpers that several stages use.
#ifndef GLINT_CUDA_COMMON_DEVICE_CUH_
#define GLINT_CUDA_COMMON_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/math.h"

// A by-value kernel argument that is read in place, even when indexed.
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107)
#define GLINT_KERNEL_ARGUMENT const __grid_constant__
#else
#define GLINT_KERNEL_ARGUMENT const
#endif

namespace glint::cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;
inline constexpr int kWarp = 32;

// Until all work before this kernel on the stream is done and visible. Every kernel of a frame calls it in at least one
// thread of every launch, so that "the one before is done" means "all before are done".
__device__ __forceinline__ void WaitForPredecessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Lets the next kernel of the stream be set up while this one runs.
__device__ __forceinline__ void AllowSuccessor() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Begins to copy 16 bytes, both addresses multiples of 16; they are there for this thread after WaitForCopies().
__device__ __forceinline__ void CopyAsync16(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}
__device__ __forceinline__ void WaitForCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

__device__ __forceinline__ int WarpSum(int v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, v);
#else
  for (int step = kWarp / 2; step > 0; step /= 2) v += __shfl_xor_sync(kFullWarp, v, step);
  return v;
#endif
}

__device__ __forceinline__ uint32_t WarpMax(uint32_t v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kFullWarp, v);
#else
  for (int step = kWarp / 2; step > 0; step /= 2) v = max(v, __shfl_xor_sync(kFullWarp, v, step));
  return v;
#endif
}

// How many of `lanes` are below this one.
__device__ __forceinline__ int LanesBelow(unsigned lanes) {
  return __popc(lanes & ((1u << (threadIdx.x % kWarp)) - 1));
}

// The sum over this lane and those below it, in its warp.
template <typename T>
__device__ __forceinline__ T SumUpTo(T v) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const T other = __shfl_up_sync(kFullWarp, v, step);
    if (lane >= step) v += other;
  }
  return v;
}

// Whether a response in rows of kPitch is larger than the eight around it.
template <int kPitch, typename Response>
__device__ __forceinline__ bool IsMaximum(const Response* own) {
  Response neighbours = Response{0};
#pragma unroll
  for (int v = -1; v <= 1; ++v) {
#pragma unroll
    for (int u = -1; u <= 1; ++u) {
      if (u != 0 || v != 0) neighbours = max(neighbours, own[v * kPitch + u]);
    }
  }
  return *own > neighbours;
}

// HarrisResponse() of a window, sliding down it, so that each row's differences and sums are computed once.
// load(v, p): pixels of its row v and those beside it, of which there is one more at each side and end.
template <typename F>
__device__ __forceinline__ float HarrisOver(F load) {
  int difference[3][kHarrisBlock];  // p(x + 1) - p(x - 1), of the last three rows
  int sum[3][kHarrisBlock];         // p(x - 1) + 2 p(x) + p(x + 1)
  int xx = 0, yy = 0, xy = 0;
#pragma unroll
  for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
    int p[kHarrisBlock + 2];
    load(v, p);
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      difference[v % 3][u] = p[u + 2] - p[u];
      sum[v % 3][u] = p[u] + 2 * p[u + 1] + p[u + 2];
    }
    if (v < 2) continue;
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      const int gx = difference[(v + 1) % 3][u] + 2 * difference[(v + 2) % 3][u] + difference[v % 3][u];
      const int gy = sum[v % 3][u] - sum[(v + 1) % 3][u];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
  return HarrisResponse(xx, yy, xy);
}

// Bin of a Harris key, monotonic: 32 bins an octave below 1.0, the largest possible response; the rest falls into the
// first or last bin.
inline constexpr int kHarrisBinShift = 18;  // sign, 8 exponent and 5 mantissa bits stay
__device__ __forceinline__ int HarrisBin(uint32_t key) {
  constexpr int kOne = 0xbf800000u >> kHarrisBinShift;
  return Clamp(static_cast<int>(key >> kHarrisBinShift) - (kOne + 32 - kBins), 0, kBins - 1);
}

// A corner as one number that is larger the earlier the corner is in the output of its level. Never 0.
__device__ __forceinline__ uint64_t Precedence(Candidate c) {
  return static_cast<uint64_t>(c.key) << 32 | static_cast<uint32_t>(~c.position);
}
__device__ __forceinline__ Candidate CornerOf(uint64_t precedence) {
  return {~static_cast<uint32_t>(precedence), static_cast<uint32_t>(precedence >> 32)};
}

// Bytes of a word of columns x..x+3 that lie in low..high-1, as 0xff each.
__device__ __forceinline__ uint32_t ColumnMask(int x, int low, int high) {
  uint32_t mask = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) mask |= x + i >= low && x + i < high ? 0xffu << (8 * i) : 0u;
  return mask;
}

// Bits r of each byte for which y + r is in low..high-1.
__device__ __forceinline__ uint32_t RowMask(int y, int low, int high) {
  const int first = Clamp(low - y, 0, 8);
  const int last = Clamp(high - y, 0, 8);
  return (((1u << last) - 1) & ~((1u << first) - 1)) * 0x01010101u;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_DEVICE_CUH_
