// The final ranking where candidates come sorted by the bins of the corner stage's histogram (scatter.cu): which places
// a bin has is known, and a corner has to be compared with those of its own bin alone.
#ifndef GLINT_CUDA_RANK_SORTED_CUH_
#define GLINT_CUDA_RANK_SORTED_CUH_

#include "cuda/rank_bins.cuh"

namespace glint::cuda {

// Some places of a level. All threads of the block must call all methods.
template <int kThreads>
class SortedRanking {
 public:
  // Block `index` of the level's, of `part` places each.
  __device__ __forceinline__ SortedRanking(const Level& level, uint32_t index, uint32_t part, RankMemory& memory)
      : level_(level), share_(level.first_share), first_(index * part), part_(part), memory_(memory) {
    const uint32_t middle = first_ + part / 2;
    near_begin_ = middle > kNear * kThreads / 2 ? middle - kNear * kThreads / 2 : 0;
  }

  // What is there when the stage before is done: the bins, and what is near the block's places, ahead.
  __device__ __forceinline__ void Load(const uint32_t* reaching) {
    const uint32_t* from = reaching + kPerThread * threadIdx.x;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) reaching_[i] = from[i];
    reaching_[kPerThread] = threadIdx.x + 1 < kThreads ? from[kPerThread] : 0;
    const auto room = static_cast<uint32_t>(Max(level_.ranked_capacity, kListedAhead));
#pragma unroll
    for (int i = 0; i < kNear; ++i) {
      const uint32_t at = near_begin_ + i * kThreads + threadIdx.x;
      near_[i] = level_.width > 0 && at < room ? level_.shortlist[at] : Candidate{};
    }
  }

  // Finds the bins of the places, and how long the level's list is. memory.kept_count and .large_bins are 0 before.
  __device__ __forceinline__ void FindBins() {
    const uint32_t planned_end = first_ + part_ < share_ ? first_ + part_ : share_;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const uint32_t high = reaching_[i];
      const uint32_t low = reaching_[i + 1];
      memory_.above[kPerThread * threadIdx.x + i] = high;
      if (low <= first_ && first_ < high) memory_.begin = low;
      if (low < planned_end && planned_end <= high) memory_.end = high;
      if (low < share_ && share_ <= high) memory_.kept_count = high;
      if (low < share_ && high - low > kRankPlaces - kUnrolled * kLanes - part_) memory_.large_bins = 1;
    }
    if (threadIdx.x == 0) {
      if (reaching_[0] < planned_end) memory_.end = reaching_[0];
      if (reaching_[0] < share_) memory_.kept_count = reaching_[0];
      memory_.above[kBins] = 0;
    }
    __syncthreads();
  }
  __device__ __forceinline__ uint32_t count() const { return memory_.kept_count; }
  __device__ __forceinline__ uint32_t first() const { return first_; }
  // The last of the blocks with a share takes what there is beyond it.
  __device__ __forceinline__ uint32_t end() const {
    return first_ + part_ < share_ && first_ + part_ < count() ? first_ + part_ : count();
  }
  // Whether memory holds what any of the level's blocks needs: else they all have to rank in another way.
  __device__ __forceinline__ bool Fits() const { return memory_.large_bins == 0; }

  // Fills memory.ranked, which is 0 before, with those of the places that stay, and calls tell(how many of the level
  // do) by the thread that finds that out, if more are there than wanted.
  template <typename Tell>
  __device__ __forceinline__ void Rank(Tell tell) {
    const uint32_t bins_begin = memory_.begin;
    const uint32_t length = memory_.end - bins_begin;
    if (bins_begin >= near_begin_ && memory_.end <= near_begin_ + kNear * kThreads) {
#pragma unroll
      for (int i = 0; i < kNear; ++i) {
        const uint32_t at = near_begin_ + i * kThreads + threadIdx.x;
        if (at >= bins_begin && at < memory_.end) memory_.precedence[at - bins_begin] = Precedence(near_[i]);
      }
    } else {
      for (uint32_t i = threadIdx.x; i < length; i += kThreads) {
        memory_.precedence[i] = Precedence(level_.shortlist[bins_begin + i]);
      }
    }
    if (threadIdx.x < kUnrolled * kLanes) memory_.precedence[length + threadIdx.x] = 0;
    __syncthreads();
    const uint32_t lane = threadIdx.x % kLanes;
    for (uint32_t base = 0; base < length; base += kThreads / kLanes) {
      const uint32_t i = base + threadIdx.x / kLanes;
      const uint64_t precedence = memory_.precedence[i < length ? i : 0];
      const auto key = static_cast<uint32_t>(precedence >> 32);
      const int bin = HarrisBin(key);
      const uint32_t begin = memory_.above[bin + 1];
      const uint32_t end = memory_.above[bin];
      const bool is_cut = end > share_;
      uint32_t preceding = 0, better = 0, not_worse = 0;
      // What follows the bin does not precede.
      for (uint32_t k = begin - bins_begin + lane; k < end - bins_begin; k += kUnrolled * kLanes) {
#pragma unroll
        for (int j = 0; j < kUnrolled; ++j) preceding += memory_.precedence[k + j * kLanes] > precedence ? 1 : 0;
      }
      for (uint32_t k = begin - bins_begin + lane; is_cut && k < end - bins_begin; k += kLanes) {
        const auto other = static_cast<uint32_t>(memory_.precedence[k] >> 32);
        better += other > key ? 1 : 0;
        not_worse += other >= key ? 1 : 0;
      }
      preceding = begin + SumOfLanes(preceding);
      better = begin + SumOfLanes(better);
      not_worse = begin + SumOfLanes(not_worse);
      if (lane != 0 || i >= length || preceding < first_ || preceding >= this->end()) continue;
      if (is_cut && better >= share_) continue;
      if (is_cut && preceding + 1 == not_worse && not_worse >= share_) tell(not_worse);
      memory_.ranked[preceding - first_] = precedence;
    }
    __syncthreads();
  }

 private:
  static constexpr int kPerThread = kBins / kThreads;
  static constexpr int kNear = 2;   // entries of a thread loaded ahead
  static constexpr int kLanes = 4;  // that compare a corner, each with kUnrolled others at a time
  static constexpr int kUnrolled = 4;

  static __device__ __forceinline__ uint32_t SumOfLanes(uint32_t v) {
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) v += __shfl_xor_sync(kFullWarp, v, step);
    return v;
  }

  const Level& level_;
  const uint32_t share_;
  const uint32_t first_;
  const uint32_t part_;
  RankMemory& memory_;
  uint32_t near_begin_;  // the first entry loaded ahead
  uint32_t reaching_[kPerThread + 1];
  Candidate near_[kNear];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RANK_SORTED_CUH_
