// Ranked corners into the result.
#ifndef GLINT_CUDA_COMMON_WRITE_RANKED_CUH_
#define GLINT_CUDA_COMMON_WRITE_RANKED_CUH_

#include "cuda/common/centroid.cuh"
#include "cuda/common/sort_key.cuh"

namespace glint::cuda {

// A corner to its rank in its level, in device memory and in the memory that the host reads.
__device__ __forceinline__ void Write(const Level& level, Candidate c, float angle, uint32_t rank) {
  const uint4 record = {c.position, c.key, __float_as_uint(angle), 0};
  *reinterpret_cast<uint4*>(&level.result[rank]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[rank]) = record;
}

// How many corners of a level stay.
__device__ __forceinline__ void Tell(const Frame& frame, int l, uint32_t kept) {
  frame.counters->kept[l] = kept;
  frame.result->kept[l] = kept;
}

// Writes `count` corners, `ranked` by Precedence(), to the level's ranks from `first` on, where not 0 and where there
// is room. `orient`: with their angles, half a warp each. All threads of the block must call.
template <int kThreads>
__device__ __forceinline__ void WriteRanked(const Frame& frame, const Level& level, bool orient, const uint64_t* ranked,
                                            uint32_t first, uint32_t count) {
  const auto capacity = static_cast<uint32_t>(level.ranked_capacity);
  if (!orient) {
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
      if (ranked[i] != 0 && first + i < capacity) Write(level, CornerOf(ranked[i]), -1.0f, first + i);
    }
    return;
  }
  static_assert(kWarp == 2 * kAngleLanes);
  const DiscLane disc(frame);
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kThreads / kAngleLanes) {
    const uint64_t precedence = i < count ? ranked[i] : 0;
    const uint64_t neighbour = (i ^ 1) < count ? ranked[i ^ 1] : 0;  // of the warp's other lanes
    if ((precedence | neighbour) == 0) continue;
    const uint32_t position = CornerOf(precedence != 0 ? precedence : neighbour).position;
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (precedence == 0 || threadIdx.x % kAngleLanes != 0 || first + i >= capacity) continue;
    Write(level, CornerOf(precedence), angle, first + i);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_WRITE_RANKED_CUH_
