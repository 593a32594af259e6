// Ranking of bins that hold more corners than a block compares with each other: many of the same or nearly the same
// response. The blocks share out the ranks of all such bins. To find the corners of its own ranks, a block counts all
// of a bin by the highest digit in which they differ, then those of the digit that the ranks fall into by the next one,
// until few enough are left to be sorted in its memory. As no two corners are equal, that is so in the end.
//
// A source has the corners of one bin: source.ForEach(f) calls f(corner) for each of them, the block's threads
// together. What orders them may differ in the lowest source.Bits() bits, and is above as in source.Common(). All
// threads of the block must call what is here.
#ifndef GLINT_CUDA_SELECT_RANK_TIES_CUH_
#define GLINT_CUDA_SELECT_RANK_TIES_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/describe/write_ranked.cuh"
#include "cuda/select/histogram.cuh"

namespace glint::cuda {

inline constexpr int kDigitBits = 11;
inline constexpr int kDigits = 1 << kDigitBits;
inline constexpr uint32_t kSorted = 1024;  // corners that are sorted at once

struct TieMemory {
  uint32_t begin[kDigits + 1];  // counted corners before the digit, the last digit first
  uint32_t warp_sum[kWarp];
  uint32_t any[2], all[2];  // low and high bits of what orders the corners, of any and of all of them
  int digit, end_digit;
  uint32_t gathered;  // corners
};

// memory.begin from counts to sums.
template <int kThreads>
__device__ __forceinline__ void SumDigits(TieMemory& memory) {
  constexpr int kPerThread = kDigits / kThreads;
  uint32_t* own = &memory.begin[kPerThread * threadIdx.x];
  uint32_t count[kPerThread];
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    count[i] = own[i];
    sum += count[i];
  }
  uint32_t begin = SumBefore<kThreads>(sum, memory.warp_sum);
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    own[i] = begin;
    begin += count[i];
  }
  if (threadIdx.x == kThreads - 1) memory.begin[kDigits] = begin;
  __syncthreads();
}

// The digit, of `digits`, that the rank is in; 0 is the first one's.
template <int kThreads>
__device__ __forceinline__ int DigitAt(uint32_t rank, int digits, TieMemory& memory) {
  for (int i = threadIdx.x; i < digits; i += kThreads) {
    if (memory.begin[i] <= rank && rank < memory.begin[i + 1]) memory.digit = i;
  }
  __syncthreads();
  return memory.digit;
}

// Ranks are those within the bin.
template <int kThreads, typename Source>
class TieRanking {
 public:
  // `count`: corners of the source. `sorted`: room for kSorted, shared.
  __device__ __forceinline__ TieRanking(const Source& source, uint32_t count, TieMemory& memory, uint64_t* sorted)
      : source_(source),
        count_(count),
        memory_(memory),
        sorted_(sorted),
        common_(source.Common()),
        bits_(source.Bits()) {
    if (bits_ < 64) return;
    __syncthreads();
    if (threadIdx.x < 2) memory_.any[threadIdx.x] = 0, memory_.all[threadIdx.x] = ~0u;
    __syncthreads();
    uint64_t any = 0;
    uint64_t all = ~uint64_t{0};
    source_.ForEach([&](Candidate c) {
      any |= Precedence(c);
      all &= Precedence(c);
    });
    ShareBits(any, all);
    __syncthreads();
    Narrow();
  }

  // How many have the key of the one at `rank` or a larger one.
  __device__ __forceinline__ uint32_t NotWorse(uint32_t rank) {
    constexpr int kPositionBits = 32;  // of Precedence()
    Begin();
    for (;;) {
      const int digit = DigitAt<kThreads>(rank - before_, 1 << width_, memory_);
      const uint32_t begin = before_ + memory_.begin[digit];
      const uint32_t end = before_ + memory_.begin[digit + 1];
      if (end == rank + 1 || Min(shift_, bits_) <= kPositionBits) return end;
      if (end - begin <= kSorted) return begin + SortedNotWorse(Sort(digit, digit + 1), rank - begin);
      Descend(digit, kPositionBits);
    }
  }

  // The corners at ranks first..end-1, best first, as many of them as there is room for: `*count`.
  __device__ __forceinline__ const uint64_t* Rank(uint32_t first, uint32_t end, uint32_t* count) {
    Begin();
    for (;;) {
      const int digit = DigitAt<kThreads>(first - before_, 1 << width_, memory_);
      const int end_digit = EndOfGroup(digit, end);
      if (end_digit == digit) {
        Descend(digit, 0);
        continue;
      }
      const uint32_t skipped = first - before_ - memory_.begin[digit];
      *count = min(end - first, Sort(digit, end_digit) - skipped);
      return sorted_ + skipped;
    }
  }

 private:
  // All of the bin as one digit.
  __device__ __forceinline__ void Begin() {
    known_ = bits_ < 64 ? ~uint64_t{0} << bits_ : 0;
    prefix_ = common_ & known_;
    width_ = 0;
    shift_ = bits_;
    before_ = 0;
    __syncthreads();
    if (threadIdx.x < 2) memory_.begin[threadIdx.x] = threadIdx.x * count_;
    __syncthreads();
  }

  __device__ __forceinline__ bool IsCounted(uint64_t order) const { return (order & known_) == prefix_; }
  __device__ __forceinline__ int DigitOf(uint64_t order) const {
    return width_ == 0 ? 0 : (1 << width_) - 1 - (static_cast<int>(order >> shift_) & ((1 << width_) - 1));
  }

  // Goes on with the corners of a digit, by the next one, which ends at bit `lowest` at last.
  __device__ __forceinline__ void Descend(int digit, int lowest) {
    before_ += memory_.begin[digit];
    if (width_ > 0) {
      known_ |= static_cast<uint64_t>((1 << width_) - 1) << shift_;
      prefix_ |= static_cast<uint64_t>((1 << width_) - 1 - digit) << shift_;
    }
    if (shift_ > bits_) {
      known_ |= ~uint64_t{0} << bits_;
      prefix_ |= common_ & known_;
      shift_ = bits_;
    }
    width_ = min(kDigitBits, shift_ - lowest);
    shift_ -= width_;
    __syncthreads();
    for (int i = threadIdx.x; i < kDigits; i += kThreads) memory_.begin[i] = 0;
    if (threadIdx.x < 2) memory_.any[threadIdx.x] = 0, memory_.all[threadIdx.x] = ~0u;
    __syncthreads();
    uint64_t any = 0;
    uint64_t all = ~uint64_t{0};
    source_.ForEach([&](Candidate c) {
      const uint64_t order = Precedence(c);
      any |= order;
      all &= order;
      if (IsCounted(order)) Count(DigitOf(order));
    });
    if (!is_narrow_) ShareBits(any, all);
    __syncthreads();
    if (!is_narrow_) Narrow();
    SumDigits<kThreads>(memory_);
  }

  // What the bin's corners differ in, as the first pass over them finds it: one of its own where nothing is known,
  // since counting by a digit in which they agree has all threads wait for one counter.
  __device__ __forceinline__ void ShareBits(uint64_t any, uint64_t all) {
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      any |= __shfl_xor_sync(kFullWarp, any, step);
      all &= __shfl_xor_sync(kFullWarp, all, step);
    }
    const int word = threadIdx.x % kWarp;
    if (word >= 2) return;
    atomicOr(&memory_.any[word], static_cast<uint32_t>(any >> 32 * word));
    atomicAnd(&memory_.all[word], static_cast<uint32_t>(all >> 32 * word));
  }
  __device__ __forceinline__ void Narrow() {
    is_narrow_ = true;
    common_ = static_cast<uint64_t>(memory_.all[1]) << 32 | memory_.all[0];
    const uint64_t differs = common_ ^ (static_cast<uint64_t>(memory_.any[1]) << 32 | memory_.any[0]);
    bits_ = 64 - __clzll(static_cast<long long>(differs));  // NOLINT(google-runtime-int): its type
  }

  // Often most lanes have the same digit, and would wait for each other.
  __device__ __forceinline__ void Count(int digit) {
    const unsigned lanes = __activemask();
    int same = 0;
    __match_all_sync(lanes, digit, &same);
    if (same == 0) {
      atomicAdd(&memory_.begin[digit], 1u);
    } else if (LanesBelow(lanes) == 0) {
      atomicAdd(&memory_.begin[digit], static_cast<uint32_t>(__popc(lanes)));
    }
  }

  // The end of digits from `digit` on that together hold few enough to be sorted, not beyond rank `end`.
  __device__ __forceinline__ int EndOfGroup(int digit, uint32_t end) {
    if (threadIdx.x == 0) memory_.end_digit = 1 << width_;
    __syncthreads();
    const uint32_t most = memory_.begin[digit] + kSorted;
    for (int i = digit + static_cast<int>(threadIdx.x); i < 1 << width_; i += kThreads) {
      if (memory_.begin[i + 1] <= most && before_ + memory_.begin[i] < end) continue;
      atomicMin(&memory_.end_digit, i);
      break;
    }
    __syncthreads();
    return memory_.end_digit;
  }

  // Sorts the corners of these digits; how many they are.
  __device__ __forceinline__ uint32_t Sort(int digit, int end_digit) {
    const uint32_t count = memory_.begin[end_digit] - memory_.begin[digit];
    uint32_t padded = 2;
    while (padded < count) padded *= 2;
    __syncthreads();
    if (threadIdx.x == 0) memory_.gathered = 0;
    for (uint32_t i = count + threadIdx.x; i < padded; i += kThreads) sorted_[i] = 0;
    __syncthreads();
    source_.ForEach([&](Candidate c) {
      const uint64_t order = Precedence(c);
      const int own = DigitOf(order);
      if (IsCounted(order) && own >= digit && own < end_digit) sorted_[atomicAdd(&memory_.gathered, 1u)] = order;
    });
    __syncthreads();
    // Bitonic: `run` elements in order become 2 * `run`.
    for (uint32_t run = 1; run < padded; run *= 2) {
      for (uint32_t step = run; step > 0; step /= 2) {
        for (uint32_t i = threadIdx.x; i < padded / 2; i += kThreads) {
          uint64_t& one = sorted_[2 * i - (i & (step - 1))];
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
    const uint32_t key = CornerOf(sorted_[rank]).key;
    for (uint32_t i = rank + threadIdx.x; i < count; i += kThreads) {
      if (CornerOf(sorted_[i]).key != key) continue;
      if (i + 1 == count || CornerOf(sorted_[i + 1]).key != key) memory_.gathered = i + 1;
    }
    __syncthreads();
    return memory_.gathered;
  }

  const Source& source_;
  const uint32_t count_;
  TieMemory& memory_;
  uint64_t* const sorted_;
  uint64_t common_;  // what orders all of the bin's corners, above the lowest bits_
  int bits_;
  bool is_narrow_ = false;   // whether bits_ are no more than they differ in
  uint64_t known_, prefix_;  // bits in which the counted corners agree, and these
  int width_;                // of the digit
  int shift_;                // below it
  uint32_t before_;          // corners of the bin before the counted ones
};

// Writes the corners at ranks from..to-1 of a bin, which begins at rank `first` of the level.
template <int kThreads, typename Source>
__device__ __forceinline__ void RankTies(const Frame& frame, const Level& level, const Source& source, uint32_t count,
                                         uint32_t first, uint32_t from, uint32_t to, TieMemory& memory,
                                         uint64_t* sorted) {
  TieRanking<kThreads, Source> ranking(source, count, memory, sorted);
  while (from < to) {
    uint32_t ranked;
    const uint64_t* corners = ranking.Rank(from, to, &ranked);
    WriteRanked<kThreads>(frame, level, frame.orient, corners, first + from, ranked);
    __syncthreads();
    from += ranked;
  }
}

// Shares the ranks of large bins out among `blocks` blocks, and calls rank_in(bin, from, to) for those of block
// `index`: from..to-1 within the bin. ranks_of(bin): how many it has, 0 if it is not large.
template <int kThreads, int kCount, typename RanksOf, typename RankIn>
__device__ __forceinline__ void ShareLargeBins(RanksOf ranks_of, uint32_t index, uint32_t blocks, TieMemory& memory,
                                               RankIn rank_in) {
  for (uint32_t done = 0;;) {
    __syncthreads();
    for (int i = threadIdx.x; i < kDigits; i += kThreads) memory.begin[i] = i < kCount ? ranks_of(i) : 0;
    __syncthreads();
    SumDigits<kThreads>(memory);
    const uint32_t total = memory.begin[kDigits];
    const uint32_t share = (total + blocks - 1) / blocks;
    const uint32_t begin = index * share + done;
    const uint32_t end = min((index + 1) * share, total);
    if (begin >= end) return;
    const int bin = DigitAt<kThreads>(begin, kDigits, memory);
    const uint32_t from = begin - memory.begin[bin];
    const uint32_t to = min(end, memory.begin[bin + 1]) - memory.begin[bin];
    rank_in(bin, from, to);
    done += to - from;
  }
}

// How many corners of a level stay.
__device__ __forceinline__ void Tell(const Frame& frame, int l, uint32_t kept) {
  frame.counters->kept[l] = kept;
  frame.result->kept[l] = kept;
}

// Ranks the large bins of a level of `count` corners, of which all stay that fewer than `share` have a larger key than.
// `bins`: their ranks (Begin, End), whether they are large (IsLarge), what a bin's corners have of those with larger
// keys (Better) and where the keys in it end (EndOfKeys); kOneKey: a bin's corners all have the same key.
// source_of(bin): its corners. Block `index` of `blocks`.
template <int kThreads, int kCount, bool kOneKey, typename Bins, typename SourceOf>
__device__ __forceinline__ void RankLargeBinsOfLevel(const Frame& frame, int l, uint32_t count, uint32_t share,
                                                     uint32_t index, uint32_t blocks, const Bins& bins,
                                                     SourceOf source_of, TieMemory& memory, uint64_t* sorted) {
  const Level& level = frame.level[l];
  __syncthreads();
  if (threadIdx.x == 0) memory.digit = -1;
  __syncthreads();
  // The bin of the last corner that stays, if it is large.
  for (int bin = threadIdx.x; bin < kCount; bin += kThreads) {
    const uint32_t end = bins.End(bin);
    if (bins.IsLarge(bin) && bins.Better(bin) < share && (end >= share || end == count) && bins.EndOfKeys(bin) == end) {
      memory.digit = bin;
    }
  }
  __syncthreads();
  const int last = memory.digit;
  uint32_t kept = count;
  if (last >= 0) {
    kept = bins.End(last);
    const uint32_t first = bins.Begin(last);
    if (!kOneKey && kept > share) {
      const auto source = source_of(last);
      kept = first +
             TieRanking<kThreads, decltype(source)>(source, kept - first, memory, sorted).NotWorse(share - 1 - first);
    }
    if (index == 0 && threadIdx.x == 0) Tell(frame, l, kept);
  }
  const uint32_t end = min(kept, static_cast<uint32_t>(level.ranked_capacity));
  const auto ranks_of = [&](int bin) {
    const bool stays = bins.IsLarge(bin) && bins.Better(bin) < share && bins.Begin(bin) < end;
    return stays ? min(bins.End(bin), end) - bins.Begin(bin) : 0;
  };
  ShareLargeBins<kThreads, kCount>(ranks_of, index, blocks, memory, [&](int bin, uint32_t from, uint32_t to) {
    const uint32_t first = bins.Begin(bin);
    RankTies<kThreads>(frame, level, source_of(bin), bins.End(bin) - first, first, from, to, memory, sorted);
  });
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_TIES_CUH_
