// Sorts each chunk of kChunk corners of each shortlist, best first: a bitonic network, an element per thread, exchanges
// by shuffle within a warp and through shared memory (2 x 8 KiB, so that one barrier per step suffices) beyond it.
#include "cuda/chunks.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// In stages k = 2, 4 .. kChunk of the network, with exchanges over distances k/2 .. 1.
__device__ __forceinline__ uint64_t SortChunk(uint64_t mine, uint32_t length, uint64_t (*buffer)[kChunk]) {
  const uint32_t i = threadIdx.x;
  int side = 0;
  // What lies beyond the elements is 0, hence last: stages on zeros alone can be left out, if all threads do.
  uint32_t size = 2;
  while (size < length) size *= 2;
  for (uint32_t k = 2; k <= size; k *= 2) {
    for (uint32_t j = k / 2; j > 0; j /= 2) {
      uint64_t other;
      if (j >= kWarp) {
        buffer[side][i] = mine;
        __syncthreads();
        other = buffer[side][i ^ j];
        side ^= 1;
      } else {
        other = __shfl_xor_sync(kFullWarp, mine, j);
      }
      const bool larger_first = (i & k) == 0 || k == size;
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
