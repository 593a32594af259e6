// The final ranking, by a block: ranks first..end-1 of a level's shortlist, best first.
//
// The block counts the whole shortlist by bins of the key and sums up. That tells which bins its ranks fall into; it
// takes the corners of those alone into shared memory, sorted by bin. A corner then has to be compared with those of
// its own bin, a handful unless they tie. A bin belongs to the block of its first rank, so that others need not look
// at it and its ranks are written together; but the corners of a large one are divided, by their index in the
// shortlist, among the blocks of its ranks.
#ifndef GLINT_CUDA_SELECT_RANK_CUH_
#define GLINT_CUDA_SELECT_RANK_CUH_

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
      : level_(level), count_(count), memory_(memory), scale_(1.0f / static_cast<float>(count)) {}

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

  // memory.begin and .end for ranks first..end-1. A __syncthreads() must follow.
  __device__ __forceinline__ void FindBins(uint32_t first, uint32_t end) {
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) {
      const uint32_t low = begin_[i];
      const uint32_t high = begin_[i + 1];
      if (low <= first && first < high) memory_.begin = low < first && !IsShared(high - low) ? high : low;
      if (low < end && end <= high) memory_.end = high;
    }
  }

  // What FindBins() needs, from memory.above.
  __device__ __forceinline__ void LoadSums() {
    const int high = kRankBins - kBinsPerThread * threadIdx.x;
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) begin_[i] = memory_.above[high - 1 - i];
    begin_[kBinsPerThread] = EndOf(high - kBinsPerThread);
  }

  // Fills memory.precedence and .angle with the bins found; memory.taken is zero before.
  __device__ __forceinline__ void Collect(const Window& head, const ShortlistEntry (&head_entries)[kEntriesPerThread],
                                          uint32_t first, uint32_t end) {
    if (count_ <= kWindow) {
      CollectWindow(head, head_entries, 0, first, end);
      return;
    }
    CollectWindow(head, nullptr, 0, first, end);
    ForTheRest([&](const Window& w, uint32_t from) { CollectWindow(w, nullptr, from, first, end); });
    __syncthreads();
    for (uint32_t slot = threadIdx.x; slot < memory_.end - memory_.begin; slot += kThreads) {
      const uint64_t key_and_index = memory_.precedence[slot];
      const ShortlistEntry listed = level_.shortlist_entries[static_cast<uint32_t>(key_and_index)];
      memory_.precedence[slot] = Precedence({listed.position, static_cast<uint32_t>(key_and_index >> 32)});
      if (memory_.angle[slot] != kNotOwn) memory_.angle[slot] = listed.angle;
    }
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

  // Where more tie than memory.precedence holds: the rank of entry `index` of the shortlist by comparing it with all.
  // False if no thread's entry is one of the block's; else `is_own` says whether this thread's is.
  __device__ __forceinline__ bool RankByAll(uint32_t index, uint32_t first, uint32_t end, Candidate* corner,
                                            float* angle, Rank* rank, bool* is_own) const {
    if (index < count_) {
      *corner = CornerAt(level_, index);
      *angle = level_.shortlist_entries[index].angle;
      const int bin = BinOf(*corner);
      const uint32_t begin = memory_.above[bin];
      *is_own = IsWanted(begin) && IsOwn(index, begin, EndOf(bin), first, end);
    }
    if (__syncthreads_or(*is_own ? 1 : 0) == 0) return false;
    const uint64_t precedence = Precedence(*corner);
    for (uint32_t from = 0; from < count_; from += kRankRoom) {
      const uint32_t length = count_ - from < kRankRoom ? count_ - from : kRankRoom;
      for (uint32_t k = threadIdx.x; k < length; k += kThreads) {
        memory_.precedence[k] = Precedence(CornerAt(level_, from + k));
      }
      __syncthreads();
      for (uint32_t k = 0; *is_own && k < length; ++k) {
        const uint64_t other = memory_.precedence[k];
        const auto key = static_cast<uint32_t>(other >> 32);
        rank->preceding += other > precedence ? 1 : 0;
        rank->better += key > corner->key ? 1 : 0;
        rank->not_worse += key >= corner->key ? 1 : 0;
      }
      __syncthreads();
    }
    return true;
  }

  static __device__ __forceinline__ Candidate CornerOf(uint64_t precedence) {
    return {~static_cast<uint32_t>(precedence), static_cast<uint32_t>(precedence >> 32)};
  }

 private:
  __device__ __forceinline__ int BinOf(Candidate c) const { return RankBin<kHarrisKeys>(c, level_.height); }
  __device__ __forceinline__ uint32_t EndOf(int bin) const { return bin > 0 ? memory_.above[bin - 1] : count_; }
  __device__ __forceinline__ bool IsWanted(uint32_t begin) const {
    return begin >= memory_.begin && begin < memory_.end;
  }
  static __device__ __forceinline__ bool IsShared(uint32_t corners) { return corners > kWholeBin; }
  // Entry `index` stands for a place of its bin, begin..end-1, the later the larger the index.
  __device__ __forceinline__ bool IsOwn(uint32_t index, uint32_t begin, uint32_t end, uint32_t first,
                                        uint32_t last) const {
    const uint32_t n = end - begin;
    if (!IsShared(n)) return begin >= first && begin < last;
    const auto offset = static_cast<uint32_t>(static_cast<float>(index) * scale_ * static_cast<float>(n));
    const uint32_t rank = begin + (offset < n ? offset : n - 1);
    return rank >= first && rank < last;
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

  // `listed`: what the window's entries say, or null: then a corner's index is left in place of its position, and 0 in
  // place of its angle. In steps, so that the thread's corners do not wait for each other.
  __device__ __forceinline__ void CollectWindow(const Window& w, const ShortlistEntry* listed, uint32_t from,
                                                uint32_t first, uint32_t end) {
    int bin[kEntriesPerThread];
    uint32_t begin[kEntriesPerThread];
    bool wanted[kEntriesPerThread];
    uint32_t rank[kEntriesPerThread];
#pragma unroll
    for (int j = 0; j < kEntriesPerThread; ++j) {
      const bool exists = from + kEntriesPerThread * threadIdx.x + j < count_;
      bin[j] = exists ? BinOf(w.corner[j]) : 0;
      begin[j] = memory_.above[bin[j]];
      wanted[j] = exists && IsWanted(begin[j]);
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
      const float angle = listed != nullptr ? listed[j].angle : 0.0f;
      memory_.angle[slot] = IsOwn(index, begin[j], EndOf(bin[j]), first, end) ? angle : kNotOwn;
    }
  }

  // memory.above from counts to sums.
  __device__ __forceinline__ void SumBins() {
    const int lane = threadIdx.x % kWarp;
    const int warp = threadIdx.x / kWarp;
    const int high = kRankBins - kBinsPerThread * threadIdx.x;  // thread 0 has the highest bins
    uint32_t bins[kBinsPerThread];
    uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < kBinsPerThread; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(&memory_.above[high - kBinsPerThread + i]);
      bins[i] = four.x, bins[i + 1] = four.y, bins[i + 2] = four.z, bins[i + 3] = four.w;
      mine += four.x + four.y + four.z + four.w;
    }
    const uint32_t sum = SumUpTo(mine);
    if (lane == kWarp - 1) memory_.warp_sum[warp] = sum;
    __syncthreads();
    uint32_t before = 0;
#pragma unroll
    for (int w = 0; w < kThreads / kWarp; ++w) before += w < warp ? memory_.warp_sum[w] : 0;
    begin_[0] = before + sum - mine;
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
  const float scale_;                   // 1 / count
  uint32_t begin_[kBinsPerThread + 1];  // of the thread's bins, highest first, and the last one's end
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_CUH_
