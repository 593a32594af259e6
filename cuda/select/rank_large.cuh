// Ranking of buckets that hold more than a block has memory or the bucket room for: many corners of the same or nearly
// the same response. The level's blocks share out the ranks. To find the corners of its own, a block counts all of the
// bucket by the highest digit of what orders them, then those of the digit that the ranks fall into by the next one,
// until few enough are left to be sorted in its memory. As no two corners are equal, that is so in the end.
#ifndef GLINT_CUDA_SELECT_RANK_LARGE_CUH_
#define GLINT_CUDA_SELECT_RANK_LARGE_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/large_bucket.cuh"

namespace glint::cuda {

// Marks the buckets that hold more than `largest`, of those that have one of the level's first `share` ranks. All
// threads of the block must call.
template <int kThreads>
__device__ __forceinline__ void MarkLarge(uint32_t share, uint32_t largest, BucketMemory& memory) {
  for (int bucket = threadIdx.x; bucket < kBins; bucket += kThreads) {
    const bool is_large = memory.begin[bucket] < share && memory.SizeOf(bucket) > largest;
    const unsigned marks = __ballot_sync(kFullWarp, is_large);
    if (threadIdx.x % kWarp == 0) memory.large[bucket / kWarp] = marks;
  }
  __syncthreads();
}

// Of the marked ones, of which there must be one.
__device__ __forceinline__ int LastLarge(const BucketMemory& memory) {
  int word = kBins / kWarp - 1;
  while (memory.large[word] == 0) --word;
  return word * kWarp + kWarp - 1 - __clz(static_cast<int>(memory.large[word]));
}

// The next marked bucket after `bucket`, or kBins.
__device__ __forceinline__ int NextLarge(int bucket, const BucketMemory& memory) {
  int word = (bucket + 1) / kWarp;
  uint32_t ahead = ~0u << (bucket + 1) % kWarp;
  while (word < kBins / kWarp && (memory.large[word] & ahead) == 0) ahead = ~0u, ++word;
  return word < kBins / kWarp ? word * kWarp + __ffs(static_cast<int>(memory.large[word] & ahead)) - 1 : kBins;
}

// How many of the bucket's ranks are before the level's rank `end`.
__device__ __forceinline__ uint32_t RanksOf(int bucket, uint32_t end, const BucketMemory& memory) {
  return max(min(end, memory.begin[bucket + 1]), memory.begin[bucket]) - memory.begin[bucket];
}

// Corners by their ranks, best first.
struct RankedRange {
  const uint64_t* corners;  // Precedence(), in shared memory
  uint32_t count;
};

// All threads of the block must call all methods. ReflectedOffsets are those within the bucket.
template <int kThreads>
class LargeRanking {
 public:
  __device__ __forceinline__ LargeRanking(const Frame& frame, int l, int bucket, BucketMemory& memory)
      : frame_(frame), l_(l), bucket_(bucket), memory_(memory) {}

  // How many have the key of the one at `rank` or a larger one.
  __device__ __forceinline__ uint32_t NotWorse(uint32_t rank) {
    Begin();
    const int lowest = Bucket().position_bits();
    for (;;) {
      const int digit = DigitAt(rank);
      const uint32_t begin = before_ + memory_.digit_begin[digit];
      const uint32_t end = before_ + memory_.digit_begin[digit + 1];
      if (end == rank + 1 || shift_ == lowest) return end;
      if (end - begin <= kAtOnce) return begin + SortedNotWorse(Sort(digit, digit + 1), rank - begin);
      Descend(digit, lowest);
    }
  }

  // Corners at ranks first..end-1, as many of them as there is memory for.
  __device__ __forceinline__ RankedRange Rank(uint32_t first, uint32_t end) {
    Begin();
    for (;;) {
      const int digit = DigitAt(first);
      const int end_digit = EndOfGroup(digit, end);
      if (end_digit == digit) {
        Descend(digit, 0);
        continue;
      }
      const uint32_t before = first - before_ - memory_.digit_begin[digit];
      const uint32_t count = min(end - first, Sort(digit, end_digit) - before);
      return {memory_.precedence + before, count};
    }
  }

 private:
  static constexpr int kDigitBits = 11;
  static_assert(kDigits == 1 << kDigitBits);
  static constexpr int kPerThread = kDigits / kThreads;  // digits
  static constexpr uint32_t kAtOnce = kBucketRanks;      // corners that are sorted

  // Made anew each time, since it takes many registers.
  __device__ __forceinline__ LargeBucket Bucket() const { return LargeBucket(frame_, l_, bucket_, memory_); }

  // All of the bucket as one digit.
  __device__ __forceinline__ void Begin() {
    prefix_ = 0;
    width_ = 0;
    shift_ = Bucket().bits();
    before_ = 0;
    __syncthreads();
    if (threadIdx.x < 2) memory_.digit_begin[threadIdx.x] = threadIdx.x * memory_.SizeOf(bucket_);
    __syncthreads();
  }

  // The last digit is the first in memory.digit_begin.
  __device__ __forceinline__ int DigitOf(uint64_t order) const {
    return (1 << width_) - 1 - (static_cast<int>(order >> shift_) & ((1 << width_) - 1));
  }
  __device__ __forceinline__ bool IsCounted(uint64_t order) const { return order >> (shift_ + width_) == prefix_; }

  // Goes on with the corners of a digit, by the next one, which ends at bit `lowest` at last.
  __device__ __forceinline__ void Descend(int digit, int lowest) {
    before_ += memory_.digit_begin[digit];
    prefix_ = prefix_ << width_ | static_cast<uint64_t>((1 << width_) - 1 - digit);
    width_ = min(kDigitBits, shift_ - lowest);
    shift_ -= width_;
    __syncthreads();
    for (int i = threadIdx.x; i < kDigits; i += kThreads) memory_.digit_begin[i] = 0;
    __syncthreads();
    const LargeBucket bucket = Bucket();
    bucket.ForEach<kThreads>([&](bool exists, Candidate c) {
      const uint64_t order = bucket.OrderOf(c);
      Count(exists && IsCounted(order), DigitOf(order));
    });
    __syncthreads();
    SumDigits();
  }

  // Many tie: then most lanes have the same digit, and would wait for each other.
  __device__ __forceinline__ void Count(bool exists, int digit) {
    const unsigned lanes = __ballot_sync(kFullWarp, exists);
    if (!exists) return;
    int same = 0;
    __match_all_sync(lanes, digit, &same);
    if (same == 0) {
      atomicAdd(&memory_.digit_begin[digit], 1u);
    } else if (LanesBelow(lanes) == 0) {
      atomicAdd(&memory_.digit_begin[digit], static_cast<uint32_t>(__popc(lanes)));
    }
  }

  __device__ __forceinline__ void SumDigits() {
    const int own = kPerThread * static_cast<int>(threadIdx.x);
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) sum += memory_.digit_begin[own + i];
    const uint32_t up_to = SumUpTo(sum);
    const int warp = threadIdx.x / kWarp;
    if (threadIdx.x % kWarp == kWarp - 1) memory_.warp_sum[warp] = up_to;
    __syncthreads();
    uint32_t begin = up_to - sum;
#pragma unroll
    for (int w = 0; w < kThreads / kWarp; ++w) begin += w < warp ? memory_.warp_sum[w] : 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const uint32_t count = memory_.digit_begin[own + i];
      memory_.digit_begin[own + i] = begin;
      begin += count;
    }
    if (threadIdx.x == kThreads - 1) memory_.digit_begin[kDigits] = begin;
    __syncthreads();
  }

  // Of the counted corner at `rank`.
  __device__ __forceinline__ int DigitAt(uint32_t rank) {
    for (int i = threadIdx.x; i < 1 << width_; i += kThreads) {
      if (memory_.digit_begin[i] <= rank - before_ && rank - before_ < memory_.digit_begin[i + 1]) memory_.digit = i;
    }
    __syncthreads();
    return memory_.digit;
  }

  // The end of digits from `digit` on that together hold few enough to be sorted, not beyond rank `end`.
  __device__ __forceinline__ int EndOfGroup(int digit, uint32_t end) {
    if (threadIdx.x == 0) memory_.end_digit = 1 << width_;
    __syncthreads();
    const uint32_t most = memory_.digit_begin[digit] + kAtOnce;
    for (int i = digit + static_cast<int>(threadIdx.x); i < 1 << width_; i += kThreads) {
      if (memory_.digit_begin[i + 1] <= most && before_ + memory_.digit_begin[i] < end) continue;
      atomicMin(&memory_.end_digit, i);
      break;
    }
    __syncthreads();
    return memory_.end_digit;
  }

  // Sorts the corners of these digits, kAtOnce at most, into memory.precedence; how many they are.
  __device__ __forceinline__ uint32_t Sort(int digit, int end_digit) {
    const uint32_t count = memory_.digit_begin[end_digit] - memory_.digit_begin[digit];
    if (width_ == 0 && memory_.sorted == bucket_) return count;
    uint32_t padded = 2;
    while (padded < count) padded *= 2;
    __syncthreads();
    if (threadIdx.x == 0) {
      memory_.sorted = width_ == 0 ? bucket_ : -1;
      memory_.gathered = 0;
    }
    for (uint32_t i = count + threadIdx.x; i < padded; i += kThreads) memory_.precedence[i] = 0;
    __syncthreads();
    const LargeBucket bucket = Bucket();
    bucket.ForEach<kThreads>([&](bool exists, Candidate c) {
      const uint64_t order = bucket.OrderOf(c);
      const int own = DigitOf(order);
      if (!exists || !IsCounted(order) || own < digit || own >= end_digit) return;
      memory_.precedence[atomicAdd(&memory_.gathered, 1u)] = Precedence(c);
    });
    __syncthreads();
    // Bitonic: `run` elements in order become 2 * `run`.
    for (uint32_t run = 1; run < padded; run *= 2) {
      for (uint32_t step = run; step > 0; step /= 2) {
        for (uint32_t i = threadIdx.x; i < padded / 2; i += kThreads) {
          uint64_t& one = memory_.precedence[2 * i - (i & (step - 1))];
          uint64_t& other = (&one)[step];
          const uint64_t a = one, b = other;
          if ((a < b) == ((i & run) == 0)) one = b, other = a;
        }
        __syncthreads();
      }
    }
    return count;
  }

  // Of `count` sorted ones those with the key of the one at `rank` or a larger one.
  __device__ __forceinline__ uint32_t SortedNotWorse(uint32_t count, uint32_t rank) {
    const auto key_of = [this](uint32_t i) { return static_cast<uint32_t>(memory_.precedence[i] >> 32); };
    const uint32_t key = key_of(rank);
    for (uint32_t i = rank + threadIdx.x; i < count; i += kThreads) {
      if (key_of(i) == key && (i + 1 == count || key_of(i + 1) != key)) memory_.gathered = i + 1;
    }
    __syncthreads();
    return memory_.gathered;
  }

  const Frame& frame_;
  const int l_;
  const int bucket_;
  BucketMemory& memory_;
  uint64_t prefix_ = 0;  // what the counted corners' order has above the digit
  int width_ = 0;        // of the digit
  int shift_ = 0;        // below it
  uint32_t before_ = 0;  // corners of the bucket before the counted ones
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_LARGE_CUH_
