// Ranking of a bin that holds more corners than a block compares with each other: many of the same or nearly the same
// response. For some of its ranks, a block counts the bin's corners by the highest digit in which they differ, then
// those of the digit that the ranks fall into by the next one, until it has room for what is left. That it takes into
// registers, and goes on with it there, until digits are small enough to compare their corners. As no two corners are
// equal, that is so in the end.
//
// A source has the corners of one bin: source.ForEach(f) calls f(corner) for each of them, the block's threads
// together; they may differ in the bits of Precedence() that source.Differs() has. All threads of the block must call
// what is here.
#ifndef GLINT_CUDA_SELECT_TIE_RANKING_CUH_
#define GLINT_CUDA_SELECT_TIE_RANKING_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/histogram.cuh"

namespace glint::cuda {

inline constexpr int kDigitBits = 11;
inline constexpr uint32_t kTieRoom = 2048;      // corners that a block holds
inline constexpr uint32_t kMostCompared = 128;  // corners of a digit, with each other
inline constexpr int kPositionBits = 32;        // of Precedence(), below the key

struct TieMemory {
  BinSums<1 << kDigitBits> digits;  // the highest digit is bin 0
  uint32_t any[2], all[2];          // low and high bits of what orders the corners, of any and of all of them
  int end_digit;
  uint32_t held;  // corners
};

// Ranks are those within the bin.
template <int kThreads, typename Source>
class TieRanking {
 public:
  // `count`: corners of the source. `sorted`: room for kTieRoom, shared.
  __device__ __forceinline__ TieRanking(const Source& source, uint32_t count, TieMemory& memory, uint64_t* sorted)
      : source_(source), count_(count), memory_(memory), digits_(memory.digits), sorted_(sorted) {}

  // Those that stay if the one at `rank` is the last that must: all with its key or a larger one.
  struct Kept {
    uint32_t least;  // these have this key or a larger one, and no others do
    uint32_t count;
  };
  __device__ __forceinline__ Kept FindKept(uint32_t rank) {
    Begin();
    for (;;) {
      Count<false>(kPositionBits);
      const int digit = digits_.template BinAt<kThreads>(rank - before_, 1 << width_);
      Descend(digit);
      const uint32_t end = before_ + digits_.Size(digit);
      if (end != rank + 1 && (differs_ & ~known_) >> kPositionBits != 0) continue;
      uint64_t least = (All() & ~known_) | prefix_;
      if (end == rank + 1) least = least >> shift_ << shift_;  // all of the digit, whatever follows it
      return {static_cast<uint32_t>(least >> kPositionBits), end};
    }
  }

  // The corners at ranks first..end-1, best first, as many of them as there is room for: `*count`.
  __device__ __forceinline__ const uint64_t* Rank(uint32_t first, uint32_t end, uint32_t* count) {
    if (first < held_begin_ || first >= held_end_) Hold(first, end);
    known_ = prefix_ = 0;
    before_ = held_begin_;
    int digit;
    for (;;) {
      FindDiffering<true>();
      Count<true>(0);
      digit = digits_.template BinAt<kThreads>(first - before_, 1 << width_);
      if (digits_.Size(digit) <= kMostCompared) break;
      Descend(digit);
    }
    const int end_digit = EndOfGroup(digit, end, kMostCompared);
    const uint32_t skipped = first - before_ - digits_.begin[digit];
    const uint32_t sorted = digits_.begin[end_digit] - digits_.begin[digit];
    *count = min(end - first, sorted - skipped);
    Sort(digit, end_digit);
    return sorted_ + skipped;
  }

 private:
  // All of the bin as one digit.
  __device__ __forceinline__ void Begin() {
    known_ = prefix_ = 0;
    differs_ = source_.Differs();
    before_ = 0;
    width_ = shift_ = 0;
    __syncthreads();
    if (threadIdx.x < 2) digits_.begin[threadIdx.x] = threadIdx.x * count_;
    __syncthreads();
  }

  // Takes corners into registers, those at `first` and, as far as there is room, before rank `end` among them.
  __device__ __forceinline__ void Hold(uint32_t first, uint32_t end) {
    Begin();
    int digit;
    for (;;) {
      digit = digits_.template BinAt<kThreads>(first - before_, 1 << width_);
      if (digits_.Size(digit) <= kTieRoom) break;
      if (width_ > 0) {
        Descend(digit);
      } else if (differs_ == ~uint64_t{0}) {
        FindDiffering<false>();
      }
      Count<false>(0);
    }
    const int end_digit = EndOfGroup(digit, end, kTieRoom);
    held_begin_ = before_ + digits_.begin[digit];
    held_end_ = before_ + digits_.begin[end_digit];
    if (threadIdx.x == 0) memory_.held = 0;
    __syncthreads();
    ForEach<false>([&](uint64_t order) {
      const int own = DigitOf(order);
      if (own >= digit && own < end_digit) sorted_[atomicAdd(&memory_.held, 1u)] = order;
    });
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const uint32_t at = threadIdx.x + i * kThreads;
      own_[i] = at < held_end_ - held_begin_ ? sorted_[at] : 0;
    }
    __syncthreads();
  }

  // Calls `f` with each corner's order, of those with the known bits.
  template <bool kHeld, typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    if constexpr (kHeld) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        if (own_[i] != 0 && (own_[i] & known_) == prefix_) f(own_[i]);
      }
    } else {
      source_.ForEach([&](Candidate c) {
        const uint64_t order = Precedence(c);
        if ((order & known_) == prefix_) f(order);
      });
    }
  }

  __device__ __forceinline__ int DigitOf(uint64_t order) const {
    const int last = (1 << width_) - 1;
    return last - (static_cast<int>(order >> shift_) & last);
  }

  // Counts by the next digit, of the bits in which corners may differ, down to `lowest`; of those that are not held,
  // finds on the way in which they do.
  template <bool kHeld>
  __device__ __forceinline__ void Count(int lowest) {
    const int top = 64 - __clzll(static_cast<long long>(differs_ & ~known_));  // NOLINT(google-runtime-int): its type
    width_ = Max(Min(kDigitBits, top - lowest), 0);
    shift_ = Max(top, lowest) - width_;
    __syncthreads();
    digits_.template Clear<kThreads>();
    if (!kHeld) ClearBits();
    __syncthreads();
    uint64_t any = 0;
    uint64_t all = ~uint64_t{0};
    ForEach<kHeld>([&](uint64_t order) {
      any |= order;
      all &= order;
      atomicAdd(&digits_.begin[DigitOf(order)], 1u);
    });
    if (!kHeld) ShareBits(any, all);
    __syncthreads();
    digits_.template Sum<kThreads>(0u);
    __syncthreads();
    if (!kHeld) differs_ = All() ^ Any();
  }

  // In which bits the corners differ.
  template <bool kHeld>
  __device__ __forceinline__ void FindDiffering() {
    __syncthreads();
    ClearBits();
    __syncthreads();
    uint64_t any = 0;
    uint64_t all = ~uint64_t{0};
    ForEach<kHeld>([&](uint64_t order) {
      any |= order;
      all &= order;
    });
    ShareBits(any, all);
    __syncthreads();
    differs_ = All() ^ Any();
  }

  // Goes on with the corners of a digit.
  __device__ __forceinline__ void Descend(int digit) {
    before_ += digits_.begin[digit];
    const auto last = static_cast<uint64_t>((1 << width_) - 1);
    known_ |= last << shift_;
    prefix_ |= (last - static_cast<uint64_t>(digit)) << shift_;
  }

  __device__ __forceinline__ uint64_t Any() const {
    return static_cast<uint64_t>(memory_.any[1]) << 32 | memory_.any[0];
  }
  __device__ __forceinline__ uint64_t All() const {
    return static_cast<uint64_t>(memory_.all[1]) << 32 | memory_.all[0];
  }
  __device__ __forceinline__ void ClearBits() {
    if (threadIdx.x < 2) memory_.any[threadIdx.x] = 0, memory_.all[threadIdx.x] = ~0u;
  }
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

  // The end of digits from `digit` on, none of more than `largest`, that there is room for together, not beyond rank
  // `end`.
  __device__ __forceinline__ int EndOfGroup(int digit, uint32_t end, uint32_t largest) {
    if (threadIdx.x == 0) memory_.end_digit = 1 << width_;
    __syncthreads();
    const uint32_t most = digits_.begin[digit] + kTieRoom;
    for (int i = digit + static_cast<int>(threadIdx.x); i < 1 << width_; i += kThreads) {
      if (digits_.begin[i + 1] <= most && digits_.Size(i) <= largest && before_ + digits_.begin[i] < end) continue;
      atomicMin(&memory_.end_digit, i);
      break;
    }
    __syncthreads();
    return memory_.end_digit;
  }

  // Sorts the held corners of these digits.
  __device__ __forceinline__ void Sort(int digit, int end_digit) {
    const uint32_t first = digits_.begin[digit];
    uint32_t rank[kOwn];
    const auto is_sorted = [&](int i) {
      const int own = DigitOf(own_[i]);
      return own_[i] != 0 && (own_[i] & known_) == prefix_ && own >= digit && own < end_digit;
    };
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (is_sorted(i)) sorted_[atomicAdd(&digits_.begin[DigitOf(own_[i])], 1u) - first] = own_[i];
    }
    __syncthreads();
    // Where each of these digits began, the next one does now.
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (!is_sorted(i)) continue;
      const int own = DigitOf(own_[i]);
      const uint32_t begin = own > digit ? digits_.begin[own - 1] - first : 0;
      rank[i] = begin + CountGreater<1>(sorted_, begin, digits_.begin[own] - first, own_[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (is_sorted(i)) sorted_[rank[i]] = own_[i];
    }
    __syncthreads();
  }

  static constexpr int kOwn = kTieRoom / kThreads;

  const Source& source_;
  const uint32_t count_;
  TieMemory& memory_;
  BinSums<1 << kDigitBits>& digits_;
  uint64_t* const sorted_;
  uint64_t own_[kOwn];                      // of what is held, 0: none
  uint32_t held_begin_ = 0, held_end_ = 0;  // its ranks
  uint64_t known_, prefix_;                 // bits in which the counted corners agree, and these
  uint64_t differs_;                        // in which they may differ
  int width_, shift_;                       // of the digit, and below it
  uint32_t before_;                         // corners of the bin before the counted ones
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_TIE_RANKING_CUH_
