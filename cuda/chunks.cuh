// Shortlists in chunks: each level's is cut into pieces of kChunk, each sorted on its own (sort.cu). A corner's place
// among all of its level is then its place in its own chunk plus, by binary search, those before it in the others.
#ifndef GLINT_CUDA_CHUNKS_CUH_
#define GLINT_CUDA_CHUNKS_CUH_

#include "cuda/device.cuh"

namespace glint::cuda {

inline constexpr int kChunk = 1024;  // usually a whole level's shortlist

// Which elements of the concatenation of all levels' sequences belong to which level.
struct LevelSequence {
  uint32_t end[kMaxLevels];

  // `length(l)`: of level l's sequence. The same for all threads of a warp.
  template <typename Length>
  __device__ __forceinline__ LevelSequence(int levels, Length length) {
    uint32_t sum = 0;
#pragma unroll
    for (int l = 0; l < kMaxLevels; ++l) {
      if (l < levels) sum += length(l);
      end[l] = sum;
    }
  }
  __device__ __forceinline__ uint32_t total() const { return end[kMaxLevels - 1]; }

  struct Place {
    int level;
    uint32_t index;
  };
  // i < total().
  __device__ __forceinline__ Place Find(uint32_t i) const {
    Place place{0, i};
#pragma unroll
    for (int l = 0; l + 1 < kMaxLevels; ++l) {
      if (i >= end[l]) place = {l + 1, i - end[l]};
    }
    return place;
  }
};

// How many of the sorted list[0..count) have a Precedence() above `than`.
__device__ __forceinline__ uint32_t CountAbove(const Candidate* list, uint32_t count, uint64_t than) {
  uint32_t low = 0;
  while (low < count) {
    const uint32_t middle = (low + count) / 2;
    if (Precedence(list[middle]) > than) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

// The same over all chunks of a shortlist but chunk number `except`.
__device__ __forceinline__ uint32_t CountAboveInChunks(const Candidate* list, uint32_t count, uint64_t than,
                                                       uint32_t except) {
  uint32_t above = 0;
  for (uint32_t chunk = 0; chunk * kChunk < count; ++chunk) {
    if (chunk == except) continue;
    const uint32_t first = chunk * kChunk;
    const uint32_t length = count - first < kChunk ? count - first : kChunk;
    above += CountAbove(list + first, length, than);
  }
  return above;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CHUNKS_CUH_
