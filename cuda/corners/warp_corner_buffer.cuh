// What suppression in a tile of the corner stage leaves, on its way to the candidates or their buckets.
#ifndef GLINT_CUDA_CORNERS_WARP_CORNER_BUFFER_CUH_
#define GLINT_CUDA_CORNERS_WARP_CORNER_BUFFER_CUH_

#include <cstdint>

#include "cuda/plan/tiling.h"
#include "cuda/select/buckets.cuh"

namespace glint::cuda {

// Of a warp; all methods are called by all lanes together. kHarris: keys are OrderedKeys of Harris measures, and
// corners go to their buckets; else keys are FAST scores.
template <bool kHarris>
class WarpCornerBuffer {
 public:
  // Of level l. `memory`: kBufferedCorners, shared. `histogram`: of FAST scores.
  __device__ __forceinline__ WarpCornerBuffer(const Frame& frame, int l, Candidate* memory, uint32_t* histogram)
      : frame_(frame), l_(l), memory_(memory), histogram_(histogram) {}

  // The lane's corner if `keep`.
  __device__ __forceinline__ void Add(bool keep, Candidate corner) {
    const unsigned kept = __ballot_sync(kFullWarp, keep);
    if (kept == 0) return;
    if (keep) {
      memory_[count_ + LanesBelow(kept)] = corner;
      if (!kHarris) atomicAdd(&histogram_[corner.key], 1u);
    }
    count_ += __popc(kept);
    if (count_ > kBufferedCorners - kWarp) Flush();
  }

  // To be called when all are added.
  __device__ __forceinline__ void Flush() {
    if (count_ == 0) return;
    __syncwarp();
    if (kHarris) {
      PutIntoBuckets();
    } else {
      const int lane = threadIdx.x % kWarp;
      uint32_t base = 0;
      if (lane == 0) base = atomicAdd(&frame_.counters->candidates, static_cast<uint32_t>(count_));
      base = __shfl_sync(kFullWarp, base, 0);
      for (int i = lane; i < count_; i += kWarp) frame_.candidates[base + i] = memory_[i];
    }
    __syncwarp();
    count_ = 0;
  }

 private:
  __device__ __forceinline__ void PutIntoBuckets() {
    constexpr int kEach = kBufferedCorners / kWarp;
    const Level& level = frame_.level[l_];
    const auto room = static_cast<uint32_t>(level.bucket_room);
    Candidate corner[kEach];
    int bucket[kEach];
    uint32_t slot[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kWarp + static_cast<int>(threadIdx.x % kWarp);
      if (at >= count_) continue;
      corner[i] = memory_[at];
      bucket[i] = BucketOf(corner[i].key);
      slot[i] = atomicAdd(&frame_.counters->histogram[l_][bucket[i]], 1u);
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool exists = i * kWarp + static_cast<int>(threadIdx.x % kWarp) < count_;
      if (exists && slot[i] < room) level.buckets[bucket[i] * room + slot[i]] = corner[i];
      const unsigned overflow = __ballot_sync(kFullWarp, exists && slot[i] >= room);
      if (overflow == 0) continue;
      uint32_t base = 0;
      if (threadIdx.x % kWarp == 0) base = atomicAdd(&frame_.counters->overflow[l_], __popc(overflow));
      base = __shfl_sync(kFullWarp, base, 0);
      if (exists && slot[i] >= room) level.overflow[base + LanesBelow(overflow)] = corner[i];
    }
  }

  const Frame& frame_;
  const int l_;
  Candidate* const memory_;
  uint32_t* const histogram_;
  int count_ = 0;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_WARP_CORNER_BUFFER_CUH_
