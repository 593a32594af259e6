// From the cells to the result, in one launch: the best of the image, exactly, ties included (those that fewer than the
// wanted number exceed, cv::KeyPointsFilter::retainBest), their ranks among those of their level, their angles.
//
// Every block counts all entries by bins of level and key, which tells how many precede each bin. It then fills a range
// of ranks: the entries of the bins that begin there, a handful each, are put in the bins' order in shared memory, and
// an entry has to be compared with those of its own bin alone. So neighbours in the result are written together. What
// is counted by all is little beside what a launch costs that would do it once. Bins in which very many tie are left
// for the end: see rank_ties.cuh. If more are found than wanted, the blocks find the least key that stays first.
//
// Shared memory 40 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/select/threshold.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Fills memory.bins. All threads must call; memory.bins is 0 before.
__device__ __forceinline__ void CountBins(const Cells& source, const Binning& bin_of, Memory& memory) {
  if (threadIdx.x == 0) memory.has_large = false;
  source.ForEach([&](Candidate c) { atomicAdd(&memory.bins.begin[bin_of(c)], 1u); });
  __syncthreads();
  memory.SumBins();
}

__global__ void __launch_bounds__(kImageRankThreads)
    RankCellsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ Memory memory;
  AllowSuccessor();
  memory.bins.Clear<kImageRankThreads>();
  memory.ClearTaken();
  // The corner stage sets the buffer as it begins, long before it ends: most likely this is it, and the cells need not
  // wait for the number that says so.
  if (threadIdx.x == 0) memory.bins.found = static_cast<int>(__ldcg(&params.counters->buffer) & 1);
  __syncthreads();
  const auto guess = static_cast<uint32_t>(memory.bins.found);
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
    memory.bins.Clear<kImageRankThreads>();
    __syncthreads();
    CountBins(source, bin_of, memory);
  }
  if (memory.bins.total() > params.wanted) {
    __syncthreads();
    memory.bins.Clear<kImageRankThreads>();
    __syncthreads();
    source.ForEach([&](Candidate c) { atomicAdd(&memory.bins.begin[bin_of.KeyBinOf(c.key)], 1u); });
    __syncthreads();
    const auto key_bin_of = [bin_of](Candidate c) { return bin_of.KeyBinOf(c.key); };
    const auto key_bin = [&](int bin) { return CornersOfBin{source, key_bin_of, bin, bin_of.Differs(bin)}; };
    source.least = FindLeast(key_bin, params, bin_of, memory);
    __syncthreads();
    memory.bins.Clear<kImageRankThreads>();
    __syncthreads();
    CountBins(source, bin_of, memory);
  }
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory.bins);
  ForEachRange(
      [&](RankRange range) {
        source.ForEach([&](Candidate c) {
          const int bin = bin_of(c);
          if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
        });
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (!memory.has_large) return;
  RankLeftBins(
      frame, bin_of,
      [source, bin_of](int bin) {
        return CornersOfBin{source, bin_of, bin, bin_of.Differs(bin_of.KeyBinOfBin(bin))};
      },
      memory);
}

}  // namespace

absl::Status RankCells(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, RankCellsKernel, frame, params);
}

}  // namespace glint::cuda
