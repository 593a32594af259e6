// What the kernels of a JPEG frame share.
#ifndef GLINT_CUDA_JPEG_LAUNCH_CUH_
#define GLINT_CUDA_JPEG_LAUNCH_CUH_

#include "cuda/common/warp.cuh"
#include "cuda/jpeg/jpeg_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {

// Where blocks that come early do harm: beside those of the launch before, they come to lie two to a multiprocessor
// while others have none (H200, 640x480 4:2:0 at quality 90: the frame takes 81 us instead of 124).
enum class Begin { kEarly, kAfterPredecessor };

template <typename... Parameters>
absl::Status LaunchJpeg(StreamView stream, Begin begin, void (*kernel)(Parameters...), uint32_t blocks, int threads,
                        const Parameters&... arguments) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(kernel);
  launch.grid = dim3(blocks);
  launch.block = dim3(static_cast<unsigned>(threads));
  launch.overlaps_predecessor = begin == Begin::kEarly;
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return ToStatus(stream.api->LaunchKernel(launch, pointers, stream.stream), "launching a JPEG decoder's kernel");
}

__device__ __forceinline__ void Raise(const JpegFrame& frame, JpegReason reason) {
  atomicOr(&frame.status->reasons, 1u << static_cast<int>(reason));
}

// The look-ups in shared memory, as DecodeSubsequence() reads them, and words of the scan.
struct GroupMemory {
  uint16_t codes[kJpegTables * kQuickCodes + kLongCodes];
  CodeTable tables[kJpegTables];
  uint8_t natural[64];
  uint32_t words[(kJpegGroup + kJpegWarmUp) * kMaxSubsequenceWords + kWordsBehind];

  // By all threads of the block; nothing is there before they have met. `first`: the subsequence that words begin with,
  // which may lie in front of the scan; `count`: how many.
  __device__ void Load(const JpegFrame& frame, int first, int count) {
    const auto* const from = reinterpret_cast<const uint4*>(frame.tables->codes);
    auto* const to = reinterpret_cast<uint4*>(codes);
    constexpr int kTableWords = sizeof codes / sizeof(uint4);
    for (int i = threadIdx.x; i < kTableWords; i += blockDim.x) to[i] = from[i];
    if (threadIdx.x < kJpegTables) tables[threadIdx.x] = frame.tables->tables[threadIdx.x];
    if (threadIdx.x < 64) natural[threadIdx.x] = frame.tables->natural[threadIdx.x];
    const auto each = static_cast<int>(frame.subsequence_words);
    const int base = first * each;
    for (int i = threadIdx.x; i < count * each + kWordsBehind; i += blockDim.x) {
      words[i] = base + i < 0 ? 0 : __byte_perm(frame.words[base + i], 0, 0x0123);
    }
  }
};

// Words of the scan out of a GroupMemory.
struct GroupWords {
  const uint32_t* words;
  uint32_t base;

  __device__ __forceinline__ uint32_t operator()(uint32_t i) const { return words[i - base]; }
};

__device__ __forceinline__ uint32_t SubsequencesOf(const JpegFrame& frame, uint32_t bits) {
  const uint32_t each = 32 * frame.subsequence_words;
  return (bits + each - 1) / each;
}

// What lies before each thread, of what all threads of a block of kThreads pass, in their order; `*all`: of all.
template <int kThreads>
__device__ Passed PassedBefore(Passed own, Passed* all) {
  constexpr int kWarps = kThreads / kWarp;
  __shared__ Passed warps[kWarps];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  Passed sum = own;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const Passed other = {__shfl_up_sync(kFullWarp, sum.blocks, step), __shfl_up_sync(kFullWarp, sum.dc, step)};
    if (lane >= step) sum = Join(other, sum);
  }
  __syncthreads();
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();
  Passed before, total;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w == warp) before = total;
    total = Join(total, warps[w]);
  }
  *all = total;
  const Passed below = {__shfl_up_sync(kFullWarp, sum.blocks, 1), __shfl_up_sync(kFullWarp, sum.dc, 1)};
  return lane == 0 ? before : Join(before, below);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_LAUNCH_CUH_
