// From the cells to the result, in one launch: the best of the image, exactly, ties included (those that fewer than the
// wanted number exceed, cv::KeyPointsFilter::retainBest), their places among those of their level, their angles.
//
// Every block counts all entries by bins of level and key, which tells how many precede each bin. It then fills a range
// of places: the entries of the bins that begin there, a handful each, are put in the bins' order in shared memory, and
// an entry has to be compared with those of its own bin alone. So neighbours in the result are written together. What
// is counted by all is little beside what a launch costs that would do it once. Bins in which very many tie are left
// for the end: see map_large.cuh. If more are found than wanted, the blocks find the least key that stays first, by
// digits of 11 bits.
//
// Shared memory 40 KiB.
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"
#include "cuda/select/map_cut.cuh"
#include "cuda/select/map_large.cuh"

namespace glint::cuda {
namespace {

// All threads must call.
__device__ __forceinline__ void RankLargeBinsOfCells(const Frame& frame, const MapFrame& map, uint32_t least,
                                                     Memory& memory) {
  const Binning bin_of = BinsOf(map);
  Cells source(map, map.counters->turn);
  source.least = least;
  const auto of_bin = [&](int bin, auto f) {
    source.ForEach([&](Candidate c) {
      if (bin_of(c) == bin) f(Order(c));
    });
  };
  RankLargeBins(frame, bin_of, of_bin, memory);
}

__global__ void __launch_bounds__(kMapRankThreads)
    RankCellsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  __shared__ Memory memory;
  AllowSuccessor();
  ClearBins(memory);
  *reinterpret_cast<uint2*>(&memory.taken[2 * threadIdx.x]) = make_uint2(0, 0);
  // The corner stage sets the turn as it begins, long before it ends: most likely this is it, and the cells need not
  // wait for the number that says so.
  if (threadIdx.x == 0) memory.needed = __ldcg(&map.counters->turn) & 1;
  __syncthreads();
  const uint32_t guess = memory.needed;
  WaitForPredecessor();
  const uint32_t turn = __ldcg(&map.counters->turn);
  Cells source(map, guess);
  // Block 0 counts what there is, even if that is nothing.
  if (blockIdx.x > 0 && blockIdx.x >= source.chunks) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) map.counters->next_turn = map.counters->turn ^ 1;

  const Binning bin_of = BinsOf(map);
  CountBins(source, bin_of, memory);
  if (turn != guess) {  // it was not
    source.cells = map.cells + turn * map.cell_count;
    ClearBins(memory);
    __syncthreads();
    CountBins(source, bin_of, memory);
  }
  if (memory.total > map.wanted) {
    ClearBins(memory);
    __syncthreads();
    source.ForEach([&](Candidate c) { atomicAdd(&memory.above[bin_of.KeyPlace(bin_of.KeyBinOf(c.key))], 1u); });
    __syncthreads();
    const auto keys = [&](auto f, int key_bin) {
      source.ForEach([&](Candidate c) {
        if (bin_of.KeyBinOf(c.key) == key_bin) f(c.key);
      });
    };
    source.least = FindLeast(keys, map, bin_of, map.wanted, memory);
    CountBins(source, bin_of, memory);
  }
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory);
  ForEachRange(
      [&](PlaceRange range) {
        source.ForEach([&](Candidate c) {
          const int bin = bin_of(c);
          if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
        });
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (memory.has_large) RankLargeBinsOfCells(frame, map, source.least, memory);
}

}  // namespace

absl::Status RankMap(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&RankCellsKernel);
  launch.block = dim3(kMapRankThreads);
  launch.grid = dim3(RankingBlocks(map.most, multiprocessors));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the ranking");
}

}  // namespace glint::cuda
