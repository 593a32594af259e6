// From the cells or the shortlists to the result, in one launch: the best of the image, exactly, ties included (those
// that fewer than the wanted number exceed, cv::KeyPointsFilter::retainBest), their places among those of their level,
// their angles.
//
// Every block sorts all entries, in windows and by bins of level and key, into shared memory; each then finds the
// places of its own share of them: an entry has to be compared with those of its own bin alone. What is sorted by all
// is little beside what a launch costs that would do it once. If more are found than wanted, the blocks find the least
// key that stays first, by digits of 11 bits.
//
// Shared memory 42 KiB.
#include "cuda/centroid.cuh"
#include "cuda/map_cut.cuh"
#include "cuda/map_sort.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 2;
constexpr uint32_t kSmallestShare = 64;  // entries of a block

__device__ __forceinline__ void Write(const Level& level, uint64_t order, uint32_t place, float angle) {
  const Candidate c = CornerOf(order);
  const uint4 record = {c.position, c.key, __float_as_uint(angle), 0};
  *reinterpret_cast<uint4*>(&level.result[place]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[place]) = record;
}

// Finds the angles of memory.kept, half a warp each, and empties it. All threads must call.
__device__ __forceinline__ void OrientKept(const Frame& frame, Memory& memory) {
  const DiscLane disc(frame);
  const uint32_t listed = memory.kept_count;
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (listed + 1) / 2 * 2; i += kMapRankThreads / kAngleLanes) {
    const Kept mine = memory.kept[i < listed ? i : listed - 1];
    const uint32_t position = CornerOf(mine.order).position;
    const Level& level = frame.level[LevelOf(position)];
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (i < listed && threadIdx.x % kAngleLanes == 0) Write(level, mine.order, mine.place, angle);
  }
  __syncthreads();
  if (threadIdx.x == 0) memory.kept_count = 0;
  __syncthreads();
}

// What a block has to do.
struct Share {
  int level;  // of the shortlist; 0 for cells
  uint32_t begin, end;
};

// The shortlists in parts of equal length, no more of them than there are blocks. All lanes of the warp must call.
__device__ __forceinline__ Share ShareOfLists(const Frame& frame, const Lists& list) {
  const int lane = threadIdx.x % kWarp;
  const uint32_t mine = lane < frame.levels ? list.Count(lane) : 0;
  const auto total = static_cast<uint32_t>(WarpSum(static_cast<int>(mine)));
  const uint32_t blocks = gridDim.x - frame.levels;
  const uint32_t even = (total + blocks - 1) / blocks;
  const uint32_t part = even > kSmallestShare ? even : kSmallestShare;
  const uint32_t parts = (mine + part - 1) / part;
  uint32_t upto = parts;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, upto, step);
    if (lane >= step) upto += other;
  }
  const int l = __popc(__ballot_sync(kFullWarp, blockIdx.x >= upto));
  if (l >= frame.levels) return {l, 0, 0};
  const uint32_t begin = (blockIdx.x - __shfl_sync(kFullWarp, upto - parts, l)) * part;
  const uint32_t count = __shfl_sync(kFullWarp, mine, l);
  return {l, begin, begin + part < count ? begin + part : count};
}

__device__ __forceinline__ Share ShareOfCells(uint32_t cells) {
  const uint32_t even = (cells + gridDim.x - 1) / gridDim.x;
  const uint32_t share = even > kSmallestShare ? even : kSmallestShare;
  const uint32_t begin = blockIdx.x * share;
  return {0, begin, begin + share < cells ? begin + share : cells};
}

__device__ __forceinline__ void WriteKept(const Frame& frame, int level, uint32_t kept) {
  frame.counters->kept[level] = kept;
  frame.result->kept[level] = kept;
}

template <bool kCells>
__global__ void __launch_bounds__(kMapRankThreads, kBlocksPerMultiprocessor)
    RankMapKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  __shared__ Memory memory;
  AllowSuccessor();
  ClearBins(memory);
  if (threadIdx.x == 0) memory.pending = memory.kept_count = 0;
  __syncthreads();
  WaitForPredecessor();
  if (blockIdx.x == 0 && threadIdx.x == 0) map.counters->next_turn = map.counters->turn ^ 1;
  const Lists list{map.counters->list};
  const int lane = threadIdx.x % kWarp;
  const auto thread_level = static_cast<int>(threadIdx.x);
  const Share share = kCells ? ShareOfCells(map.cell_count) : ShareOfLists(frame, list);
  if (!kCells && blockIdx.x == 0 && thread_level < frame.levels && list.Count(thread_level) == 0) {
    WriteKept(frame, thread_level, 0);
  }
  // Block 0 counts what is in the cells, even if that is nothing.
  if (share.begin >= share.end && (!kCells || blockIdx.x > 0)) return;

  const uint32_t greatest = map.is_fraction ? list.Greatest() : 0;
  Source<kCells> source{map, map.cells, map.cell_count, map.cell_count, map.is_dense ? LeastOver(map, greatest) : 0};
  uint32_t total = map.cell_count;
  if (!kCells) total = static_cast<uint32_t>(WarpSum(static_cast<int>(lane < frame.levels ? list.Count(lane) : 0)));
  const uint32_t top = map.is_fraction ? greatest : kKeyOfOne;
  if (total > map.wanted) {
    const int shift = map.rank_shift + map.level_bits - kRankBits;
    const Binning bins_of_one = {kRankBits, 0, shift, static_cast<int>(top >> shift)};
    source.least = FindLeast(frame, list, source, bins_of_one, map.wanted, memory);
  }
  if (!kCells) {
    source.entries = reinterpret_cast<const uint64_t*>(frame.level[share.level].shortlist);
    source.count = list.Count(share.level);
  }
  // Of cells, with levels mixed, level 0 has the highest bins.
  const Binning bin_of = {map.level_bits, kCells ? 16 - (kRankBins >> map.level_bits) : 15 - share.level,
                          map.rank_shift, static_cast<int>(top >> map.rank_shift)};

  uint32_t kept = 0;  // of the level that the thread's number names; of lists, of theirs
  for (uint32_t own_first = share.begin; own_first == share.begin || own_first < share.end;
       own_first += kMapRankThreads) {
    const uint32_t at = own_first + threadIdx.x;
    const uint64_t own = at < share.end ? source.Load(at) : 0;
    uint32_t place = 0;
    for (uint32_t first = 0; first < source.count;) {
      first = Fill(source, first, memory);
      const uint32_t count = memory.pending;
      SortWindow(bin_of, count, memory);
      const uint64_t order = source.OrderOf(own);
      if (order != 0) place += Preceding(bin_of, order, count, memory);
      if (own_first == share.begin) {
        if (!kCells) {
          kept += count;
        } else if (thread_level < frame.levels) {
          const int low = (15 - thread_level - bin_of.lowest_level) << bin_of.level_bits;
          kept += memory.From(low, count) - memory.above[low + (1 << bin_of.level_bits) - 1];
        }
      }
      __syncthreads();
      ClearBins(memory);
      if (threadIdx.x == 0) memory.pending = 0;
      __syncthreads();
    }
    const uint64_t order = source.OrderOf(own);
    if (order != 0) {
      const Level& level = frame.level[LevelOf(CornerOf(order).position)];
      const bool fits = place < static_cast<uint32_t>(level.ranked_capacity);
      if (fits && frame.orient) memory.kept[atomicAdd(&memory.kept_count, 1u)] = {order, place};
      if (fits && !frame.orient) Write(level, order, place, -1.0f);
    }
    if (!frame.orient) continue;
    __syncthreads();
    OrientKept(frame, memory);
  }
  if (kCells) {
    if (blockIdx.x == 0 && thread_level < frame.levels) WriteKept(frame, thread_level, kept);
  } else if (share.begin == 0 && threadIdx.x == 0) {
    WriteKept(frame, share.level, kept);
  }
}

}  // namespace

absl::Status RankMap(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  KernelLaunch launch;
  const bool cells = map.sink == Sink::kImageCells;
  launch.kernel = cells ? reinterpret_cast<const void*>(&RankMapKernel<true>)
                        : reinterpret_cast<const void*>(&RankMapKernel<false>);
  launch.block = dim3(kMapRankThreads);
  const uint32_t enough = (map.most + kSmallestShare - 1) / kSmallestShare;
  // Each level's shortlist may have a last part that is not full.
  launch.grid =
      dim3(Clamp(static_cast<int>(enough), 1, kBlocksPerMultiprocessor * multiprocessors) + (cells ? 0 : frame.levels));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the ranking");
}

}  // namespace glint::cuda
