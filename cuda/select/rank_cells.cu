// From the cells to the result, in one launch: the best of the image, exactly, ties included (those that fewer than the
// wanted number exceed, cv::KeyPointsFilter::retainBest), their ranks among those of their level, their angles.
//
// Every block counts all entries by bins of level and key, which tells how many precede each bin. It then fills a range
// of ranks: the entries of the bins that begin there, a handful each, are put in the bins' order in shared memory, and
// an entry has to be compared with those of its own bin alone. So neighbours in the result are written together. What
// is counted by all is little beside what a launch costs that would do it once. Bins in which very many tie are left
// for the end: see rank_ties.cuh. If more are found than wanted, the blocks find the least key that stays first, by
// digits of 11 bits.
//
// Shared memory 40 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/select/fill_ranks.cuh"
#include "cuda/select/threshold.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// The corners of a bin, see rank_ties.cuh.
struct CellsOfBin {
  Cells cells;
  Binning bin_of;
  int bin;

  static __device__ __forceinline__ int Bits() { return 64; }
  static __device__ __forceinline__ uint64_t Common() { return 0; }
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    cells.ForEach([&](Candidate c) {
      if (bin_of(c) == bin) f(c);
    });
  }
};

__global__ void __launch_bounds__(kImageRankThreads)
    RankCellsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ Memory memory;
  AllowSuccessor();
  ClearBins(memory);
  *reinterpret_cast<uint2*>(&memory.taken[2 * threadIdx.x]) = make_uint2(0, 0);
  // The corner stage sets the buffer as it begins, long before it ends: most likely this is it, and the cells need not
  // wait for the number that says so.
  if (threadIdx.x == 0) memory.needed = __ldcg(&params.counters->buffer) & 1;
  __syncthreads();
  const uint32_t guess = memory.needed;
  WaitForPredecessor();
  const uint32_t buffer = __ldcg(&params.counters->buffer);
  Cells source(params, guess);
  // Block 0 counts what there is, even if that is nothing.
  if (blockIdx.x > 0 && blockIdx.x >= source.chunks) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) params.counters->next_buffer = params.counters->buffer ^ 1;

  const Binning bin_of = BinsOf(params);
  CountBins(source, bin_of, memory);
  if (buffer != guess) {  // it was not
    source.cells = params.cells + buffer * params.cell_count;
    ClearBins(memory);
    __syncthreads();
    CountBins(source, bin_of, memory);
  }
  if (memory.total > params.wanted) {
    ClearBins(memory);
    __syncthreads();
    source.ForEach([&](Candidate c) { atomicAdd(&memory.above[bin_of.KeyBinIndex(bin_of.KeyBinOf(c.key))], 1u); });
    __syncthreads();
    const auto keys = [&](auto f, int key_bin) {
      source.ForEach([&](Candidate c) {
        if (bin_of.KeyBinOf(c.key) == key_bin) f(c.key);
      });
    };
    source.least = FindLeast(keys, params, bin_of, params.wanted, memory);
    CountBins(source, bin_of, memory);
  }
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory);
  ForEachRange(
      [&](RankRange range) {
        source.ForEach([&](Candidate c) {
          const int bin = bin_of(c);
          if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
        });
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (memory.has_large) {
    RankLargeBins(
        frame, bin_of,
        [source, bin_of](int bin) {
          return CellsOfBin{source, bin_of, bin};
        },
        memory);
  }
}

}  // namespace

absl::Status RankCells(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, RankCellsKernel, frame, params);
}

}  // namespace glint::cuda
