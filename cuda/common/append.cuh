// Appending to lists and cells, and other device-side helpers of selection.
#ifndef GLINT_CUDA_COMMON_APPEND_CUH_
#define GLINT_CUDA_COMMON_APPEND_CUH_

#include "cuda/common/device.cuh"
#include "cuda/plan/selection_params.h"

namespace glint::cuda {

// As CopyAsync16(), 8 bytes.
__device__ __forceinline__ void CopyAsync8(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(global) : "memory");
#else
  *static_cast<uint2*>(shared) = *static_cast<const uint2*>(global);
#endif
}

__device__ __forceinline__ void AtomicMax(uint64_t* at, uint64_t v) {
  using Wide = unsigned long long;  // NOLINT(google-runtime-int): atomicMax's type
  atomicMax(reinterpret_cast<Wide*>(at), static_cast<Wide>(v));
}

// A candidate's key from a score, see SelectionParams.
__device__ __forceinline__ uint32_t KeyOf(const SelectionParams& params, uint32_t raw) {
  if (params.score == Score::kHarris) return raw;
  return OrderedKey(__float_as_uint(static_cast<float>(raw) * params.key_scale));
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

// HarrisResponse() at a pixel of a level; reflections outside.
__device__ __forceinline__ float HarrisAt(const Level& level, int x, int y) {
  int column[kHarrisBlock + 2];
#pragma unroll
  for (int u = 0; u < kHarrisBlock + 2; ++u) column[u] = Reflect101(x - kHarrisRadius + u, level.width);
  return HarrisOver([&](int v, int(&p)[kHarrisBlock + 2]) {
    const uint8_t* row =
        level.image + static_cast<size_t>(Reflect101(y - kHarrisRadius + v, level.height)) * level.pitch;
#pragma unroll
    for (int u = 0; u < kHarrisBlock + 2; ++u) p[u] = row[column[u]];
  });
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_APPEND_CUH_
