// The corners of all levels as one sequence, so that a grid shares them evenly however they fall on the levels.
#ifndef GLINT_CUDA_LEVEL_LISTS_CUH_
#define GLINT_CUDA_LEVEL_LISTS_CUH_

#include "cuda/device.cuh"

namespace glint::cuda {

struct LevelLists {
  uint32_t end[kMaxLevels];  // of each level's part of the sequence
  uint32_t total;

  // `counts`: elements per level. The same for all threads.
  __device__ __forceinline__ LevelLists(const uint32_t* counts, int levels) {
    uint32_t sum = 0;
#pragma unroll
    for (int l = 0; l < kMaxLevels; ++l) {
      if (l < levels) sum += counts[l];
      end[l] = sum;
    }
    total = sum;
  }

  // The level of element i and the element's number there. i < total.
  struct Place {
    int level;
    uint32_t index;
  };
  __device__ __forceinline__ Place Find(uint32_t i) const {
    Place place{0, i};
#pragma unroll
    for (int l = 0; l + 1 < kMaxLevels; ++l) {
      if (i >= end[l]) place = {l + 1, i - end[l]};
    }
    return place;
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_LEVEL_LISTS_CUH_
