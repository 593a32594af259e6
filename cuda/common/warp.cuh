// What kernels do with warps, and with their neighbours on the stream: scan, reduce, asynchronous copy.
#ifndef GLINT_CUDA_COMMON_WARP_CUH_
#define GLINT_CUDA_COMMON_WARP_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/plan/block_shapes.h"

// A by-value kernel argument that is read in place, even when indexed.
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107)
#define GLINT_KERNEL_ARGUMENT const __grid_constant__
#else
#define GLINT_KERNEL_ARGUMENT const
#endif

namespace glint::cuda {

inline constexpr unsigned kFullWarp = 0xffffffffu;

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
// As CopyAsync16(), 8 bytes.
__device__ __forceinline__ void CopyAsync8(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(global) : "memory");
#else
  *static_cast<uint2*>(shared) = *static_cast<const uint2*>(global);
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

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_WARP_CUH_
