// Work that is divided by elements of all levels' sequences, one after the other.
#ifndef GLINT_CUDA_DESCRIBE_LEVEL_SEQUENCE_CUH_
#define GLINT_CUDA_DESCRIBE_LEVEL_SEQUENCE_CUH_

#include "cuda/common/warp.cuh"

namespace glint::cuda {

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

  struct Element {
    int level;
    uint32_t index;
  };
  // i < total().
  __device__ __forceinline__ Element Find(uint32_t i) const {
    Element element{0, i};
#pragma unroll
    for (int l = 0; l + 1 < kMaxLevels; ++l) {
      if (i >= end[l]) element = {l + 1, i - end[l]};
    }
    return element;
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DESCRIBE_LEVEL_SEQUENCE_CUH_
