// The final ranking, by a block: ranks first..end-1 of a level's shortlist, best first.
//
// The block counts the whole shortlist by bins of the key and sums up. That tells which bins its ranks fall into; it
// takes the corners of those alone into shared memory, sorted by bin. A corner then has to be compared with those of
// its own bin, a handful unless they tie. A bin belongs to the block of its first rank, so that others need not look at
// it and its ranks are written together; but large ones are left to rank_ties.cuh.
#ifndef GLINT_CUDA_SELECT_RANK_CUH_
#define GLINT_CUDA_SELECT_RANK_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/rank_bins.cuh"

namespace glint::cuda {

// All threads of the block must call what follows; `level` is the one ranked, `count` the length of its shortlist.
template <bool kHarrisKeys, int kThreads>
class LevelRanking {
 public:
  using Window = cuda::ListWindow<kHarrisKeys>;
  static constexpr int kWindow = kEntriesPerThread * kThreads;  // entries of a shortlist looked at together
  static constexpr int kBinsPerThread = kRankBins / kThreads;

  __device__ __forceinline__ LevelRanking(const Level& level, uint32_t count, RankMemory& memory)
      : level_(level), count_(count), memory_(memory) {}

  // memory.above is zero before; `head`: the first window.
  __device__ __forceinline__ void CountBins(Window& head) {
    CountWindow(head, 0);
    if (count_ > kWindow) {
      ForTheRest([&](const Window& w, uint32_t first) { CountWindow(w, first); });
      head.Load(level_, 0);  // again, rather than to hold it in registers all the while
    }
    __syncthreads();
    SumBins();
  }

  // How many of the ranks are those of corners that may stay: all that the bins of the best `share` corners have.
  __device__ __forceinline__ uint32_t RanksThatMayStay(uint32_t share) {
    if constexpr (kHarrisKeys) {
      if (count_ > share) {
#pragma unroll
        for (int i = 0; i < kBinsPerThread; ++i) {
          if (begin_[i] < share && share <= begin_[i + 1]) memory_.may_stay = begin_[i + 1];
        }
        __syncthreads();
        return memory_.may_stay;
      }
    }
    return count_;
  }

  // memory.begin and .end for ranks first..end-1, without large bins at either end. A __syncthreads() must follow.
  __device__ __forceinline__ void FindBins(uint32_t first, uint32_t end) {
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) {
      const uint32_t low = begin_[i];
      const uint32_t high = begin_[i + 1];
      if (low <= first && first < high) memory_.begin = low < first ? high : low;
      if (low < end && end <= high) memory_.end = high - low > kLargestBin ? low : high;
    }
  }

  // What FindBins() needs, from memory.above.
  __device__ __forceinline__ void LoadSums() {
    const int high = kRankBins - kBinsPerThread * threadIdx.x;
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) begin_[i] = memory_.above[high - 1 - i];
    begin_[kBinsPerThread] = EndOf(high - kBinsPerThread);
  }

  // Fills memory.precedence and .angle with the bins found, of large ones with 0; memory.taken is zero before.
  __device__ __forceinline__ void Collect(const Window& head, const ShortlistEntry (&head_entries)[kEntriesPerThread]) {
    if (memory_.has_large) {
      for (int slot = threadIdx.x; slot < kRankRoom; slot += kThreads) memory_.precedence[slot] = 0;
      __syncthreads();
    }
    if (count_ <= kWindow) {
      CollectWindow(head, head_entries, 0);
      return;
    }
    CollectWindow(head, nullptr, 0);
    ForTheRest([&](const Window& w, uint32_t from) { CollectWindow(w, nullptr, from); });
    __syncthreads();
    for (uint32_t slot = threadIdx.x; slot < Length(); slot += kThreads) {
      const uint64_t key_and_index = memory_.precedence[slot];
      if (key_and_index == 0) continue;
      const ShortlistEntry listed = level_.shortlist_entries[static_cast<uint32_t>(key_and_index)];
      memory_.precedence[slot] = Precedence({listed.position, static_cast<uint32_t>(key_and_index >> 32)});
      memory_.angle[slot] = listed.angle;
    }
  }
  // Elements of memory.precedence that there may be.
  __device__ __forceinline__ uint32_t Length() const {
    return memory_.end > memory_.begin ? memory_.end - memory_.begin : 0;
  }

  // Of one of memory.precedence.
  __device__ __forceinline__ Rank RankOf(uint64_t precedence) const {
    const Candidate c = CornerOf(precedence);
    const int bin = BinOf(c);
    const uint32_t begin = memory_.above[bin];
    const uint32_t end = EndOf(bin);
    Rank r = {begin, begin, begin};
    if (!kHarrisKeys) {
      const int lowest = static_cast<int>(c.key) * 4;  // of the bins of this key
      r.better = memory_.above[lowest + 3];
      r.not_worse = EndOf(lowest);
    }
    for (uint32_t k = begin - memory_.begin; k < end - memory_.begin; ++k) {
      const uint64_t other = memory_.precedence[k];
      r.preceding += other > precedence ? 1 : 0;
      if (!kHarrisKeys) continue;
      const auto key = static_cast<uint32_t>(other >> 32);
      r.better += key > c.key ? 1 : 0;
      r.not_worse += key >= c.key ? 1 : 0;
    }
    return r;
  }

  // The bins for RankLargeBinsOfLevel().
  __device__ __forceinline__ uint32_t Begin(int bin) const { return memory_.above[bin]; }
  __device__ __forceinline__ uint32_t End(int bin) const { return EndOf(bin); }
  __device__ __forceinline__ bool IsLarge(int bin) const { return EndOf(bin) - memory_.above[bin] > kLargestBin; }
  __device__ __forceinline__ uint32_t Better(int bin) const { return memory_.above[kHarrisKeys ? bin : bin | 3]; }
  __device__ __forceinline__ uint32_t EndOfKeys(int bin) const { return EndOf(kHarrisKeys ? bin : bin & ~3); }

 private:
  __device__ __forceinline__ int BinOf(Candidate c) const { return RankBin<kHarrisKeys>(c, level_.height); }
  __device__ __forceinline__ uint32_t EndOf(int bin) const { return bin > 0 ? memory_.above[bin - 1] : count_; }
  __device__ __forceinline__ bool IsWanted(uint32_t begin) const {
    return begin >= memory_.begin && begin < memory_.end;
  }
  // Calls `use` for all windows but the first, of which some are loaded at a time.
  template <typename Use>
  __device__ __forceinline__ void ForTheRest(Use use) {
    constexpr int kAtATime = kHarrisKeys ? 3 : 1;
    for (uint32_t first = kWindow; first < count_; first += kAtATime * kWindow) {
      Window w[kAtATime];
#pragma unroll
      for (int k = 0; k < kAtATime; ++k) {
        const uint32_t from = first + k * kWindow;
        if (from + kEntriesPerThread * threadIdx.x < count_) w[k].Load(level_, from);
      }
#pragma unroll
      for (int k = 0; k < kAtATime; ++k) {
        if (first + k * kWindow < count_) use(w[k], first + k * kWindow);
      }
    }
  }

  __device__ __forceinline__ void CountWindow(const Window& w, uint32_t first) {
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      if (first + kEntriesPerThread * threadIdx.x + j < count_) atomicAdd(&memory_.above[BinOf(w.corner[j])], 1u);
    }
  }

  // `listed`: what the window's entries say, or null: then a corner's index is left in place of its position. In steps,
  // so that the thread's corners do not wait for each other.
  __device__ __forceinline__ void CollectWindow(const Window& w, const ShortlistEntry* listed, uint32_t from) {
    int bin[kEntriesPerThread];
    uint32_t begin[kEntriesPerThread];
    bool wanted[kEntriesPerThread];
    uint32_t rank[kEntriesPerThread];
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      const bool exists = from + kEntriesPerThread * threadIdx.x + j < count_;
      bin[j] = exists ? BinOf(w.corner[j]) : 0;
      begin[j] = memory_.above[bin[j]];
      wanted[j] = exists && IsWanted(begin[j]) && !IsLarge(bin[j]);
    }
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) rank[j] = wanted[j] ? atomicAdd(&memory_.taken[bin[j]], 1u) : 0;
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      if (!wanted[j]) continue;
      const uint32_t index = from + kEntriesPerThread * threadIdx.x + j;
      const uint32_t slot = begin[j] - memory_.begin + rank[j];
      const uint32_t key = w.corner[j].key;
      memory_.precedence[slot] =
          listed != nullptr ? Precedence({listed[j].position, key}) : static_cast<uint64_t>(key) << 32 | index;
      if (listed != nullptr) memory_.angle[slot] = listed[j].angle;
    }
  }

  // memory.above from counts to sums.
  __device__ __forceinline__ void SumBins() {
    const int high = kRankBins - kBinsPerThread * threadIdx.x;  // thread 0 has the highest bins
    uint32_t bins[kBinsPerThread];
    uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < kBinsPerThread; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(&memory_.above[high - kBinsPerThread + i]);
      bins[i] = four.x, bins[i + 1] = four.y, bins[i + 2] = four.z, bins[i + 3] = four.w;
      mine += four.x + four.y + four.z + four.w;
    }
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) {
      if (bins[i] > kLargestBin) memory_.has_large = true;
    }
    begin_[0] = SumBefore<kThreads>(mine, memory_.warp_sum);
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) begin_[i + 1] = begin_[i] + bins[kBinsPerThread - 1 - i];
#pragma unroll
    for (int i = 0; i < kBinsPerThread; i += 4) {
      *reinterpret_cast<uint4*>(&memory_.above[high - 4 - i]) =
          make_uint4(begin_[i + 3], begin_[i + 2], begin_[i + 1], begin_[i]);
    }
  }

  const Level& level_;
  const uint32_t count_;
  RankMemory& memory_;
  uint32_t begin_[kBinsPerThread + 1];  // of the thread's bins, highest first, and the last one's end
};

// The corners of a bin of a level's shortlist.
template <bool kHarrisKeys, int kThreads>
struct ListedInBin {
  const Level& level;
  uint32_t count;  // of the shortlist
  int bin;

  static __device__ __forceinline__ int Bits() { return 64; }
  static __device__ __forceinline__ uint64_t Common() { return 0; }

  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    constexpr uint32_t kAtOnce = 4;  // loads of a thread
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < count; first += kAtOnce * kThreads) {
      Candidate c[kAtOnce];
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        const uint32_t at = min(first + i * kThreads, count - 1);
        c[i] = {level.shortlist_entries[at].position, level.shortlist_keys[at]};
      }
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        if (first + i * kThreads < count && RankBin<kHarrisKeys>(c[i], level.height) == bin) f(c[i]);
      }
    }
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_CUH_
