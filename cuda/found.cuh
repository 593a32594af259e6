// What suppression in a tile of the corner stage leaves, on its way to the candidates.
#ifndef GLINT_CUDA_FOUND_CUH_
#define GLINT_CUDA_FOUND_CUH_

#include <cstdint>

#include "cuda/device.cuh"

namespace glint::cuda {

inline constexpr int kFound = 2 * kWarp;  // that a warp keeps until it writes them out

// Of a warp; all methods are called by all lanes together.
class FoundCorners {
 public:
  // `memory`: kFound, shared.
  __device__ __forceinline__ FoundCorners(const Frame& frame, Candidate* memory, uint32_t* histogram)
      : frame_(frame), memory_(memory), histogram_(histogram) {}

  // The lane's corner if `keep`, and in the histogram's `bin`.
  __device__ __forceinline__ void Add(bool keep, Candidate corner, int bin) {
    const unsigned kept = __ballot_sync(kFullWarp, keep);
    if (kept == 0) return;
    if (keep) {
      memory_[count_ + LanesBelow(kept)] = corner;
      atomicAdd(&histogram_[bin], 1u);
    }
    count_ += __popc(kept);
    if (count_ > kFound - kWarp) Flush();
  }

  // To be called when all are added.
  __device__ __forceinline__ void Flush() {
    if (count_ == 0) return;
    __syncwarp();
    const int lane = threadIdx.x % kWarp;
    uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&frame_.counters->candidates, static_cast<uint32_t>(count_));
    base = __shfl_sync(kFullWarp, base, 0);
    for (int i = lane; i < count_; i += kWarp) frame_.candidates[base + i] = memory_[i];
    __syncwarp();
    count_ = 0;
  }

 private:
  const Frame& frame_;
  Candidate* const memory_;
  uint32_t* const histogram_;
  int count_ = 0;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_FOUND_CUH_
