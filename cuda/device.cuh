// Device-side helpers that several stages use.
#ifndef GLINT_CUDA_DEVICE_CUH_
#define GLINT_CUDA_DEVICE_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/frame.h"
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

__device__ __forceinline__ int WarpSum(int v) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kFullWarp, v);
#else
  for (int step = kWarp / 2; step > 0; step /= 2) v += __shfl_xor_sync(kFullWarp, v, step);
  return v;
#endif
}

// Orders as the float does (no NaN), and OrderedKey(-0) < OrderedKey(0) never matters: no response is -0.
__device__ __forceinline__ uint32_t OrderedKey(float v) {
  const uint32_t bits = __float_as_uint(v);
  return bits ^ (static_cast<int32_t>(bits) < 0 ? 0xffffffffu : 0x80000000u);
}
__device__ __forceinline__ float FromOrderedKey(uint32_t key) {
  return __uint_as_float(key ^ (static_cast<int32_t>(key) < 0 ? 0x80000000u : 0xffffffffu));
}

// Bin of a Harris key, monotonic: 32 bins an octave below 1.0, the largest possible response; the rest falls into the
// first or last bin.
__device__ __forceinline__ int HarrisBin(uint32_t key) {
  constexpr int kShift = 18;  // sign, 8 exponent and 5 mantissa bits stay
  constexpr int kOne = 0xbf800000u >> kShift;
  return Clamp(static_cast<int>(key >> kShift) - (kOne + 32 - kBins), 0, kBins - 1);
}

// Appends to list number `which` the calling lanes with `take`; returns the place. All lanes of the warp must call.
__device__ __forceinline__ uint32_t AppendPlace(uint32_t* counts, int which, bool take) {
  const unsigned below = (1u << (threadIdx.x % kWarp)) - 1;
  uint32_t place = 0;
  unsigned waiting = __ballot_sync(kFullWarp, take);
  while (waiting != 0) {
    const int leader = __ffs(waiting) - 1;
    const int list = __shfl_sync(kFullWarp, which, leader);
    const unsigned same = __ballot_sync(kFullWarp, take && which == list);
    uint32_t base = 0;
    if (static_cast<int>(threadIdx.x % kWarp) == leader) base = atomicAdd(&counts[list], __popc(same));
    base = __shfl_sync(kFullWarp, base, leader);
    if (take && which == list) place = base + __popc(same & below);
    waiting &= ~same;
  }
  return place;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DEVICE_CUH_
