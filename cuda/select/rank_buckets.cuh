// The final ranking of corners in buckets (buckets.cuh), by a block: some ranks of a level, best first. The counters
// of the level's buckets say which ranks a bucket's corners have, and a corner has to be compared with those of its
// own bucket alone.
#ifndef GLINT_CUDA_SELECT_RANK_BUCKETS_CUH_
#define GLINT_CUDA_SELECT_RANK_BUCKETS_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/buckets.cuh"
#include "cuda/select/rank_ties.cuh"

namespace glint::cuda {

struct BucketMemory {
  BinSums<kBins> bins;
  uint64_t precedence[kTieRoom];
  union {
    uint64_t ranked[kBucketRanks];  // by rank, 0 where none stays
    TieMemory ties;                 // later
  };
  uint32_t overflow;  // corners of the level that are in no bucket
  int first_bucket, last_bucket;
  uint32_t count;  // corners of the level, without buckets that are all beyond the share
  bool has_large;
};

// All threads of the block must call all methods.
template <int kThreads>
class BucketRanking {
 public:
  // Block `index` of the level's, of `part` ranks each. A __syncthreads() must follow.
  __device__ __forceinline__ BucketRanking(const Level& level, uint32_t index, uint32_t part, BucketMemory& memory)
      : level_(level),
        share_(level.first_share),
        first_(index * part),
        part_(part),
        largest_(min(static_cast<uint32_t>(level.bucket_room), kBucketRanks - kUnrolled * kLanes - part)),
        memory_(memory) {
    for (int i = threadIdx.x; i < kBucketRanks; i += kThreads) memory.ranked[i] = 0;
    if (threadIdx.x == 0) {
      memory.count = 0;
      memory.has_large = false;
    }
  }

  // Of the level's counters, when the corner stage is done.
  __device__ __forceinline__ void Load(const uint32_t* counters, const uint32_t* overflow) {
    LoadVectors(counters + kPerThread * threadIdx.x, count_);
    if (threadIdx.x == 0) memory_.overflow = *overflow;
  }

  // Finds the buckets of the ranks.
  __device__ __forceinline__ void FindBuckets() {
    const int own = kPerThread * static_cast<int>(threadIdx.x);
    const uint32_t planned_end = PlannedEnd();
    uint32_t low = memory_.bins.template Sum<kThreads>(count_);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const uint32_t high = low + count_[i];
      if (low <= first_ && first_ < high) memory_.first_bucket = own + i;
      if (low < planned_end && planned_end <= high) memory_.last_bucket = own + i;
      if (low < share_ && share_ <= high) memory_.count = high;
      if (low < share_ && high - low > largest_) memory_.has_large = true;
      low = high;
    }
    if (threadIdx.x == kThreads - 1) {
      if (low < planned_end) memory_.last_bucket = kBins - 1;
      if (low < share_) memory_.count = low;
    }
    __syncthreads();
  }
  __device__ __forceinline__ uint32_t count() const { return memory_.count; }
  __device__ __forceinline__ bool HasRanks() const { return first_ < share_ && first_ < count(); }
  __device__ __forceinline__ uint32_t first() const { return first_; }
  // The last of the blocks with a share takes what there is beyond it.
  __device__ __forceinline__ uint32_t end() const {
    return first_ + part_ < share_ && first_ + part_ < count() ? first_ + part_ : count();
  }
  // Larger buckets than that, which hold more than their room or a block's memory, are left out here.
  __device__ __forceinline__ uint32_t largest() const { return largest_; }

  // Elements of memory.ranked that there may be. Ranks beyond have large buckets alone.
  __device__ __forceinline__ uint32_t length() const { return min(end() - first_, uint32_t{kBucketRanks}); }

  // If HasRanks(): fills memory.ranked with those of the ranks that stay, and calls tell(how many of the level do) by
  // the thread that finds that out, if more are there than wanted.
  template <typename Tell>
  __device__ __forceinline__ void Rank(Tell tell) {
    const int first_bucket = memory_.first_bucket;
    const int last_bucket = memory_.last_bucket;
    const uint32_t begin = memory_.bins.begin[IsLarge(first_bucket) ? first_bucket + 1 : first_bucket];
    const uint32_t end = memory_.bins.begin[IsLarge(last_bucket) ? last_bucket : last_bucket + 1];
    if (begin >= end) return;
    const uint32_t length = end - begin;
    for (uint32_t i = threadIdx.x; i < length; i += kAtOnce * kThreads) {
      Candidate corner[kAtOnce] = {};
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const uint32_t rank = begin + i + j * kThreads;
        if (rank >= end) continue;
        const int bucket = BucketAt(rank, first_bucket, last_bucket);
        if (!IsLarge(bucket))
          corner[j] = level_.buckets[bucket * level_.bucket_room + rank - memory_.bins.begin[bucket]];
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        // Those of large buckets have key 0 and come after all others, and so does what follows the last one.
        if (i + j * kThreads < length) memory_.precedence[i + j * kThreads] = Precedence(corner[j]);
      }
    }
    if (threadIdx.x < kUnrolled * kLanes) memory_.precedence[length + threadIdx.x] = 0;
    __syncthreads();
    const uint32_t lane = threadIdx.x % kLanes;
    for (uint32_t base = 0; base < length; base += kThreads / kLanes) {
      const uint32_t i = base + threadIdx.x / kLanes;
      const uint64_t precedence = memory_.precedence[i < length ? i : 0];
      const auto key = static_cast<uint32_t>(precedence >> 32);
      const int bucket = BucketOf(key);
      const uint32_t bucket_begin = memory_.bins.begin[bucket];
      const uint32_t bucket_end = memory_.bins.begin[bucket + 1];
      const bool exists = i < length && key != 0;
      const bool has_threshold = exists && bucket_end > share_;
      uint32_t preceding = 0, better = 0, not_worse = 0;
      // What follows the bucket does not precede.
      for (uint32_t k = bucket_begin - begin + lane; exists && k < bucket_end - begin; k += kUnrolled * kLanes) {
#pragma unroll
        for (int j = 0; j < kUnrolled; ++j) preceding += memory_.precedence[k + j * kLanes] > precedence ? 1 : 0;
      }
      for (uint32_t k = bucket_begin - begin + lane; has_threshold && k < bucket_end - begin; k += kLanes) {
        const auto other = static_cast<uint32_t>(memory_.precedence[k] >> 32);
        better += other > key ? 1 : 0;
        not_worse += other >= key ? 1 : 0;
      }
      preceding = bucket_begin + SumOfLanes(preceding);
      better = bucket_begin + SumOfLanes(better);
      not_worse = bucket_begin + SumOfLanes(not_worse);
      if (lane != 0 || !exists || preceding < first_ || preceding >= this->end()) continue;
      if (has_threshold && better >= share_) continue;
      if (has_threshold && preceding + 1 == not_worse && not_worse >= share_) tell(not_worse);
      memory_.ranked[preceding - first_] = precedence;
    }
    __syncthreads();
  }

 private:
  static constexpr int kPerThread = kBins / kThreads;
  static constexpr int kAtOnce = 2;  // corners that a thread loads
  static constexpr int kLanes = 4;   // that compare a corner, each with kUnrolled others at a time
  static constexpr int kUnrolled = 4;

  __device__ __forceinline__ bool IsLarge(int bucket) const { return memory_.bins.Size(bucket) > largest_; }
  __device__ __forceinline__ uint32_t PlannedEnd() const { return first_ + part_ < share_ ? first_ + part_ : share_; }

  // The one of buckets low..high that has the rank.
  __device__ __forceinline__ int BucketAt(uint32_t rank, int low, int high) const {
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (memory_.bins.begin[middle] <= rank) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  static __device__ __forceinline__ uint32_t SumOfLanes(uint32_t v) {
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) v += __shfl_xor_sync(kFullWarp, v, step);
    return v;
  }

  const Level& level_;
  const uint32_t share_;
  const uint32_t first_;
  const uint32_t part_;
  const uint32_t largest_;
  BucketMemory& memory_;
  uint32_t count_[kPerThread];  // the thread's counters
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_BUCKETS_CUH_
