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

  __device__ __forceinline__ LevelRanking(const Level& level, uint32_t count, RankMemory& memory)
      : level_(level), count_(count), memory_(memory) {}

  // memory.bins is zero before; `head`: the first window.
  __device__ __forceinline__ void CountBins(Window& head) {
    CountWindow(head, 0);
    if (count_ > kWindow) {
      ForTheRest([&](const Window& w, uint32_t first) { CountWindow(w, first); });
      head.Load(level_, 0);  // again, rather than to hold it in registers all the while
    }
    __syncthreads();
    if (memory_.bins.template Sum<kThreads>(kLargestBin)) memory_.has_large = true;
    __syncthreads();
  }

  // How many of the ranks are those of corners that may stay: all that the bins of the best `share` corners have.
  __device__ __forceinline__ uint32_t RanksThatMayStay(uint32_t share) {
    if (!kHarrisKeys || count_ <= share) return count_;
    return memory_.bins.begin[memory_.bins.template BinAt<kThreads>(share - 1) + 1];
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
    const RankRange& range = memory_.bins.range;
    return range.end > range.first ? range.end - range.first : 0;
  }

  // Of one of memory.precedence.
  __device__ __forceinline__ Rank RankOf(uint64_t precedence) const {
    const Candidate c = CornerOf(precedence);
    const int bin = BinOf(c);
    const uint32_t begin = Begin(bin);
    const uint32_t end = End(bin);
    const uint32_t first = memory_.bins.range.first;
    Rank r = {begin, begin, begin};
    if (!kHarrisKeys) {
      r.better = Begin(bin & ~3);  // the first of the bins of this key
      r.not_worse = End(bin | 3);
    }
    for (uint32_t k = begin - first; k < end - first; ++k) {
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
  __device__ __forceinline__ uint32_t Begin(int bin) const { return memory_.bins.begin[bin]; }
  __device__ __forceinline__ uint32_t End(int bin) const { return memory_.bins.begin[bin + 1]; }
  __device__ __forceinline__ bool IsLarge(int bin) const { return memory_.bins.Size(bin) > kLargestBin; }
  __device__ __forceinline__ uint32_t Better(int bin) const { return Begin(kHarrisKeys ? bin : bin & ~3); }
  __device__ __forceinline__ uint32_t EndOfKeys(int bin) const { return End(kHarrisKeys ? bin : bin | 3); }

 private:
  __device__ __forceinline__ int BinOf(Candidate c) const { return RankBin<kHarrisKeys>(c, level_.height); }
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
      if (first + kEntriesPerThread * threadIdx.x + j < count_) atomicAdd(&memory_.bins.begin[BinOf(w.corner[j])], 1u);
    }
  }

  // `listed`: what the window's entries say, or null: then a corner's index is left in place of its position. In steps,
  // so that the thread's corners do not wait for each other.
  __device__ __forceinline__ void CollectWindow(const Window& w, const ShortlistEntry* listed, uint32_t from) {
    const RankRange range = memory_.bins.range;
    int bin[kEntriesPerThread];
    uint32_t begin[kEntriesPerThread];
    bool wanted[kEntriesPerThread];
    uint32_t rank[kEntriesPerThread];
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      const bool exists = from + kEntriesPerThread * threadIdx.x + j < count_;
      bin[j] = exists ? BinOf(w.corner[j]) : 0;
      begin[j] = Begin(bin[j]);
      wanted[j] = exists && begin[j] >= range.first && begin[j] < range.end && !IsLarge(bin[j]);
    }
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) rank[j] = wanted[j] ? atomicAdd(&memory_.taken[bin[j]], 1u) : 0;
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      if (!wanted[j]) continue;
      const uint32_t index = from + kEntriesPerThread * threadIdx.x + j;
      const uint32_t slot = begin[j] - range.first + rank[j];
      const uint32_t key = w.corner[j].key;
      memory_.precedence[slot] =
          listed != nullptr ? Precedence({listed[j].position, key}) : static_cast<uint64_t>(key) << 32 | index;
      if (listed != nullptr) memory_.angle[slot] = listed[j].angle;
    }
  }

  const Level& level_;
  const uint32_t count_;
  RankMemory& memory_;
};

// The corners of a bin of a level's shortlist.
template <bool kHarrisKeys, int kThreads>
struct ShortlistBin {
  const Level& level;
  uint32_t count;  // of the shortlist
  int bin;

  __device__ __forceinline__ uint64_t Differs() const { return RankBinDiffers<kHarrisKeys>(bin); }
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
