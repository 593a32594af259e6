// What RankCells() does, by the last block of the corner stage that ends: for few cells, all of which stay, and without
// angles. A launch costs more than that.
#ifndef GLINT_CUDA_SELECT_LAST_BLOCK_RANK_CUH_
#define GLINT_CUDA_SELECT_LAST_BLOCK_RANK_CUH_

#include "cuda/common/append.cuh"
#include "cuda/common/write_ranked.cuh"
#include "cuda/select/histogram.cuh"

namespace glint::cuda {

// Bins of level and score: of earlier levels first, of greater scores first.
inline constexpr int kLastBlockBinBits = kRankBits - 1;
inline constexpr int kLastBlockBins = 1 << kLastBlockBinBits;

struct LastBlockMemory {
  alignas(16) uint64_t entry[kMaxLastBlockCells];
  BinSums<kLastBlockBins> bins;  // in the end of the corners up to each bin's last
  bool is_last;

  // Where a bin begins then.
  __device__ __forceinline__ uint32_t From(uint32_t bin) const { return bin > 0 ? bins.begin[bin - 1] : 0; }
};

// A thread's share of the cells.
template <int kThreads>
class OwnCells {
 public:
  __device__ __forceinline__ OwnCells(const uint64_t* cells, uint32_t count) {
    const auto* pairs = reinterpret_cast<const uint4*>(cells);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const uint32_t at = threadIdx.x + i * kThreads;
      pair_[i] = at < count / 2 ? __ldcg(&pairs[at]) : make_uint4(0, 0, 0, 0);
    }
  }

  // Calls `f` with the entries that are not empty.
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (pair_[i].y != 0) f(static_cast<uint64_t>(pair_[i].y) << 32 | pair_[i].x);
      if (pair_[i].w != 0) f(static_cast<uint64_t>(pair_[i].w) << 32 | pair_[i].z);
    }
  }

 private:
  static constexpr int kPairs = (kMaxLastBlockCells / 2 + kThreads - 1) / kThreads;

  uint4 pair_[kPairs];
};

// Adds to a counter. What this thread knows is there before, and what others knew that added before is there
// afterwards.
__device__ __forceinline__ uint32_t AddInOrder(uint32_t* counter, uint32_t n) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(n) : "memory");
  return before;
}

// All threads must call, when the block is done with its shared memory and has updated the cells with all of its
// corners.
template <Score kScore, int kThreads>
__device__ __forceinline__ void LastBlockRank(const Frame& frame, const SelectionParams& params, uint32_t buffer,
                                              LastBlockMemory& memory) {
  __syncthreads();
  if (threadIdx.x == 0) memory.is_last = AddInOrder(&params.counters->blocks_done, 1) == gridDim.x - 1;
  __syncthreads();
  if (!memory.is_last) return;
  const OwnCells<kThreads> own(params.cells + buffer * params.cell_count, params.cell_count);
  memory.bins.Clear<kThreads>();
  __syncthreads();

  constexpr int kScoreBits = kScore == Score::kMaxThreshold ? 8 : 12;
  const int bits = params.level_bits - (kRankBits - kLastBlockBinBits);  // of a level's bins
  const int shift = Max(kScoreBits - bits, 0);
  const auto bin_of = [=](uint64_t entry) {
    const auto level = static_cast<uint32_t>(LevelOf(PositionOf(entry)));
    return ((level + 1) << bits) - 1 - (RawOf(entry) >> shift);
  };
  own.ForEach([&](uint64_t entry) { atomicAdd(&memory.bins.begin[bin_of(entry)], 1u); });
  __syncthreads();
  constexpr int kSumThreads = 128;
  uint32_t count[kLastBlockBins / kSumThreads] = {};
  if (threadIdx.x < kSumThreads) LoadVectors(&memory.bins.begin[kLastBlockBins / kSumThreads * threadIdx.x], count);
  memory.bins.Sum<kSumThreads>(count);
  __syncthreads();
  own.ForEach([&](uint64_t entry) { memory.entry[atomicAdd(&memory.bins.begin[bin_of(entry)], 1u)] = entry; });
  __syncthreads();

  // Neighbours in the result are written together, as ranks are changed only within a bin.
  const uint32_t total = memory.bins.begin[kLastBlockBins - 1];
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < total; i += kThreads) {
    const uint64_t entry = memory.entry[i];
    const uint32_t bin = bin_of(entry);
    const uint32_t position = PositionOf(entry);
    const int l = LevelOf(position);
    const uint32_t first = memory.From(bin);
    const uint32_t end = memory.bins.begin[bin];
    uint32_t rank = first - memory.From(static_cast<uint32_t>(l) << bits);
#pragma unroll 1
    for (uint32_t k = first; k < end; ++k) rank += memory.entry[k] > entry ? 1 : 0;
    const Level& level = frame.level[l];
    if (rank >= static_cast<uint32_t>(level.ranked_capacity)) continue;
    Write(level, {position, KeyOf(params, RawOf(entry))}, -1.0f, rank);
  }
  if (static_cast<int>(threadIdx.x) < frame.levels) {
    const uint32_t l = threadIdx.x;
    const uint32_t kept = memory.bins.begin[((l + 1) << bits) - 1] - memory.From(l << bits);
    Tell(frame, static_cast<int>(l), kept);
  }
  if (threadIdx.x == 0) {
    params.counters->blocks_done = 0;
    params.counters->next_buffer = buffer ^ 1;
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_LAST_BLOCK_RANK_CUH_
