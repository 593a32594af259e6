// Sorts each chunk of kChunk corners of each shortlist, best first: a bitonic network, an element per thread, exchanges
// by shuffle within a warp and through shared memory (2 x 8 KiB, so that one barrier per step suffices) beyond it.
#include "cuda/chunks.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Stages 2, 4 .. kChunk of the network, each with exchanges over half that distance down to 1.
__device__ __forceinline__ uint64_t SortChunk(uint64_t mine, uint32_t length, uint64_t (*buffer)[kChunk]) {
  const uint32_t i = threadIdx.x;
#pragma unroll
  for (uint32_t k = 2; k <= kChunk; k *= 2) {
    // What lies beyond the elements is 0, hence last: the first stage as long as the chunk is the final one.
    if (k / 2 >= length && k > 2) break;
    const bool is_last = k >= length;
#pragma unroll
    for (uint32_t j = k / 2; j > 0; j /= 2) {
      uint64_t other;
      if (j >= kWarp) {
        // Steps that go through memory take turns with the two buffers (512, 128 and 32 use the second), so that one
        // barrier each is enough.
        uint64_t* shared = buffer[(j & 0x2a0) != 0];
        if (j == k / 2) __syncthreads();
        shared[i] = mine;
        __syncthreads();
        other = shared[i ^ j];
      } else {
        other = __shfl_xor_sync(kFullWarp, mine, j);
      }
      const bool larger_first = is_last || (i & k) == 0;
      const bool first = (i & j) == 0;
      if ((mine < other) == (larger_first == first)) mine = other;
    }
  }
  return mine;
}

__global__ void __launch_bounds__(kChunk) SortChunksKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  __shared__ uint64_t buffer[2][kChunk];
  AllowSuccessor();
  WaitForPredecessor();
  const uint32_t* counts = frame.counters->shortlisted;
  const LevelSequence chunks(frame.levels, [=](int l) { return (counts[l] + kChunk - 1) / kChunk; });
  for (uint32_t c = blockIdx.x; c < chunks.total(); c += gridDim.x) {
    const LevelSequence::Place at = chunks.Find(c);
    const uint32_t first = at.index * kChunk;
    const uint32_t count = counts[at.level] - first;
    const uint32_t length = count < kChunk ? count : kChunk;
    Candidate* corner = frame.level[at.level].shortlist + first + threadIdx.x;
    const bool exists = threadIdx.x < length;
    const uint64_t sorted = SortChunk(exists ? Precedence(*corner) : 0, length, buffer);
    if (exists) *corner = {~static_cast<uint32_t>(sorted), static_cast<uint32_t>(sorted >> 32)};
    __syncthreads();
  }
}

}  // namespace

absl::Status SortChunks(StreamView stream, const Frame& frame, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&SortChunksKernel);
  launch.block = dim3(kChunk);
  launch.grid = dim3(multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the sorting stage");
}

}  // namespace glint::cuda
