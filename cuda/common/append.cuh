// Appending to lists, a warp at a time, and the double buffer of cells and lists.
#ifndef GLINT_CUDA_COMMON_APPEND_CUH_
#define GLINT_CUDA_COMMON_APPEND_CUH_

#include <cstddef>

#include "cuda/common/sort_key.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/plan/selection_params.h"

namespace glint::cuda {

__device__ __forceinline__ void AtomicMax(uint64_t* at, uint64_t v) {
  using Wide = unsigned long long;  // NOLINT(google-runtime-int): atomicMax's type
  atomicMax(reinterpret_cast<Wide*>(at), static_cast<Wide>(v));
}

// The half of the counters that the corner stage does not use, by its first block.
__device__ __forceinline__ void ClearRankCounters(const Frame& frame) {
  constexpr int kWords = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < kWords) frame.counters->shortlisted[threadIdx.x] = 0;
}

// This frame's buffer, for the corner stage, which must call it with all threads: whose cells and list may be added to.
// Clears what the next frame will use.
__device__ __forceinline__ uint32_t BeginBuffer(const SelectionParams& params) {
  const uint32_t buffer = params.counters->next_buffer;
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t threads = gridDim.x * blockDim.x;
  uint64_t* next = params.cells + (buffer ^ 1) * params.cell_count;
#pragma unroll 1
  for (uint32_t i = thread; i < params.cell_count; i += threads) next[i] = 0;
  if (thread == 0) params.counters->buffer = buffer;
  auto* list = reinterpret_cast<uint32_t*>(&params.counters->list[buffer ^ 1]);
#pragma unroll 1
  for (uint32_t i = thread; i < params.list_words; i += threads) list[i] = 0;
  return buffer;
}

// Lanes that append to the same list, and where the first of them may.
struct Reserved {
  unsigned lanes;
  uint32_t base;  // valid in the first of them

  // The index of the calling lane. All lanes of the warp must call.
  __device__ __forceinline__ uint32_t Index() const {
    return __shfl_sync(kFullWarp, base, __ffs(static_cast<int>(lanes)) - 1) + LanesBelow(lanes);
  }
};

// For each lane that `has` an entry, room in a list, of which there are counts[list]; for all lists at once. All lanes
// of the warp must call.
__device__ __forceinline__ Reserved Reserve(uint32_t* counts, bool has, int list) {
  const unsigned lanes = __match_any_sync(kFullWarp, has ? list : -1);
  uint32_t base = 0;
  if (has && LanesBelow(lanes) == 0) base = atomicAdd(&counts[list], static_cast<uint32_t>(__popc(lanes)));
  return {lanes, base};
}

// Appends to the shortlist of its level, of which there are counts[level]. All lanes of the warp must call; `has`: this
// lane has a corner.
__device__ __forceinline__ void AppendToShortlist(const Frame& frame, uint32_t* counts, bool has, Candidate c) {
  const uint32_t index = Reserve(counts, has, LevelOf(c.position)).Index();
  if (has) frame.level[LevelOf(c.position)].shortlist[index] = c;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_APPEND_CUH_
