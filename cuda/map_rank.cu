// From the cells or the shortlists to the result, in one launch: the best of the image, exactly, ties included (those
// that fewer than the wanted number exceed, cv::KeyPointsFilter::retainBest), their places among those of their level,
// their angles.
//
// Every block counts all entries by bins of level and key, which tells how many precede each bin. It then fills a range
// of places: the entries of the bins that begin there, a handful each, are put in the bins' order in shared memory, and
// an entry has to be compared with those of its own bin alone. So neighbours in the result are written together. What
// is counted by all is little beside what a launch costs that would do it once. Bins in which very many tie are left
// for the end: blocks share out their entries, and compare them with all. If more are found than wanted, the blocks
// find the least key that stays first, by digits of 11 bits; after a cut, which leaves its edge to them, from those on
// the edge alone.
//
// Shared memory 40 KiB.
#include "cuda/centroid.cuh"
#include "cuda/map_cut.cuh"
#include "cuda/map_sort.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr uint32_t kSmallestShare = 64;  // places of a block
constexpr int kAnglesAtOnce = kMapRankThreads / kAngleLanes;

// No key is greater.
__device__ __forceinline__ uint32_t GreatestKey(const MapFrame& map) {
  return map.is_fraction ? Lists{map.counters->list}.Greatest() : kKeyOfOne;
}

// `place`: in the order of all levels.
__device__ __forceinline__ void Write(const Frame& frame, const Binning& bin_of, const Memory& memory, uint64_t order,
                                      uint32_t place, float angle) {
  const Candidate c = CornerOf(order);
  const Level& level = frame.level[LevelOf(c.position)];
  place -= memory.above[bin_of.Highest(LevelOf(c.position))];
  if (place >= static_cast<uint32_t>(level.ranked_capacity)) return;
  const uint4 record = {c.position, c.key, __float_as_uint(angle), 0};
  *reinterpret_cast<uint4*>(&level.result[place]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[place]) = record;
}

// By half a warp, valid in its lanes; all lanes of the warp must call.
__device__ __forceinline__ float AngleOf(const Frame& frame, const DiscLane& disc, uint64_t order) {
  const uint32_t position = CornerOf(order).position;
  return CentroidAngle(frame, frame.level[LevelOf(position)], disc, XOf(position), YOf(position));
}

// Fills places that entries of bins that are not large have. All threads must call.
template <bool kCells>
__device__ __forceinline__ void FillRange(const Frame& frame, const Source<kCells>& source, const Binning& bin_of,
                                          PlaceRange range, Memory& memory) {
  const uint32_t count = range.end - range.first;
  source.ForEachOf(bin_of.LevelOfBin(range.high), bin_of.LevelOfBin(range.low), [&](Candidate c) {
    const int bin = bin_of(c);
    if (bin < range.low || bin > range.high) return;
    memory.entry[memory.above[bin] - range.first + atomicAdd(&memory.taken[bin], 1u)] = Order(c);
  });
  __syncthreads();
  constexpr int kOwn = kRangeEntries / kMapRankThreads;
  uint64_t own[kOwn];
  uint32_t place[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t at = threadIdx.x + i * kMapRankThreads;
    if (at >= count) continue;
    own[i] = memory.entry[at];
    const int bin = bin_of(CornerOf(own[i]));
    const uint32_t end = memory.From(bin) - range.first;
    place[i] = memory.above[bin] - range.first;
    for (uint32_t k = place[i]; k < end; ++k) place[i] += memory.entry[k] > own[i] ? 1 : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (threadIdx.x + i * kMapRankThreads < count) memory.entry[place[i]] = own[i];
  }
  __syncthreads();
  if (frame.orient) {
    const DiscLane disc(frame);
    for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kAnglesAtOnce) {
      const float angle = AngleOf(frame, disc, memory.entry[i < count ? i : count - 1]);
      if (i < count && threadIdx.x % kAngleLanes == 0) memory.angle[i] = angle;
    }
    __syncthreads();
  }
  for (uint32_t i = threadIdx.x; i < count; i += kMapRankThreads) {
    Write(frame, bin_of, memory, memory.entry[i], range.first + i, frame.orient ? memory.angle[i] : -1.0f);
  }
}

// Ranks the entries of the large bins: a block a chunk of them at a time, which all its warps compare with a share of
// all entries. All threads must call.
template <bool kCells>
__device__ __noinline__ void RankLargeBins(const Frame& frame, const MapFrame& map, uint32_t least, Memory& memory) {
  Source<kCells> source(frame, map, kCells ? map.counters->turn : 0);
  source.least = least;
  const Binning bin_of = BinsOf(map, GreatestKey(map));
  const uint32_t warp = threadIdx.x / kWarp;
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t chunk = blockIdx.x; chunk < source.chunks; chunk += gridDim.x) {
    const uint4 both = source.Load(chunk);
    uint64_t own[2] = {source.OrderOf(both.x, both.y), source.OrderOf(both.z, both.w)};  // 0: not of a large bin
    int bin[2];
    uint32_t preceding[2] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      bin[i] = own[i] != 0 ? bin_of(CornerOf(own[i])) : 0;
      const uint32_t above = memory.above[bin[i]];
      if (memory.From(bin[i]) - above <= kLargestShare) own[i] = 0;
      if (warp == 0) memory.taken[i * kWarp + lane] = above;
    }
#pragma unroll 1
    for (uint32_t first = 0; first < source.chunks; first += kMapRankWarps) {
      const uint4 others = source.Load(first + warp);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Candidate c = source.CornerIn(i == 0 ? others.x : others.z, i == 0 ? others.y : others.w);
        memory.entry[2 * threadIdx.x + i] = Order(c);
        memory.bin[2 * threadIdx.x + i] = c.key != 0 ? bin_of(c) : -1;
      }
      __syncthreads();
      if (__any_sync(kFullWarp, (own[0] | own[1]) != 0) == 0) continue;
#pragma unroll 1
      for (uint32_t k = warp; k < kRangeEntries; k += kMapRankWarps) {
        const uint64_t other = memory.entry[k];
        const int its_bin = memory.bin[k];
#pragma unroll
        for (int i = 0; i < 2; ++i) preceding[i] += its_bin == bin[i] && other > own[i] ? 1 : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (own[i] != 0 && preceding[i] > 0) atomicAdd(&memory.taken[i * kWarp + lane], preceding[i]);
    }
    __syncthreads();
    if (warp == 0) {
#pragma unroll
      for (int i = 0; i < 2; ++i) memory.entry[i * kWarp + lane] = own[i];
    }
    __syncthreads();
    static_assert(kAnglesAtOnce >= static_cast<int>(kChunk));
    const uint32_t i = threadIdx.x / kAngleLanes;
    const uint64_t neighbour = memory.entry[i ^ 1];
    float angle = -1;
    if (frame.orient && (memory.entry[i] | neighbour) != 0) {
      angle = AngleOf(frame, DiscLane(frame), memory.entry[i] != 0 ? memory.entry[i] : neighbour);
    }
    const uint64_t order = memory.entry[i];
    if (order != 0 && threadIdx.x % kAngleLanes == 0) Write(frame, bin_of, memory, order, memory.taken[i], angle);
    __syncthreads();
  }
}

// memory.above's sums to counts of the levels.
__device__ __forceinline__ void WriteKept(const Frame& frame, const Binning& bin_of, const Memory& memory) {
  const auto level = static_cast<int>(threadIdx.x);
  if (level >= frame.levels) return;
  const uint32_t kept = memory.From(bin_of.Lowest(level)) - memory.above[bin_of.Highest(level)];
  frame.counters->kept[level] = kept;
  frame.result->kept[level] = kept;
}

template <bool kCells>
__global__ void __launch_bounds__(kMapRankThreads)
    RankMapKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  __shared__ Memory memory;
  AllowSuccessor();
  ClearBins(memory);
  *reinterpret_cast<uint2*>(&memory.taken[2 * threadIdx.x]) = make_uint2(0, 0);
  // The corner stage sets the turn as it begins, long before it ends: most likely this is it, and the cells need not
  // wait for the number that says so.
  if (kCells && threadIdx.x == 0) memory.needed = __ldcg(&map.counters->turn) & 1;
  __syncthreads();
  const uint32_t guess = kCells ? memory.needed : 0;
  WaitForPredecessor();
  const uint32_t turn = kCells ? __ldcg(&map.counters->turn) : 0;
  const uint32_t greatest = GreatestKey(map);
  Source<kCells> source(frame, map, guess);
  // Block 0 counts what there is, even if that is nothing.
  if (blockIdx.x > 0 && blockIdx.x >= source.chunks) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) map.counters->next_turn = map.counters->turn ^ 1;

  if (map.is_dense) source.least = LeastOver(map, greatest);
  if constexpr (!kCells) {
    if (!map.ranks) source.least = FindLeastOnEdge(source, map, memory);
  }
  const Binning bin_of = BinsOf(map, greatest);
  CountBins(source, bin_of, memory);
  if (turn != guess) {  // it was not
    source.cells = map.cells + turn * map.cell_count;
    ClearBins(memory);
    __syncthreads();
    CountBins(source, bin_of, memory);
  }
  if (map.ranks && memory.total > map.wanted) {
    const bool counted = map.level_bits == kRankBits && !map.by_score;
    if (!counted) {
      ClearBins(memory);
      __syncthreads();
    }
    const int shift = map.rank_shift + map.level_bits - kRankBits;
    const Binning bins_of_one = {kRankBits, shift, static_cast<int>(greatest >> shift), 0, 0, 0};
    source.least = FindLeast(source, bins_of_one, counted, map.wanted, memory);
    CountBins(source, bin_of, memory);
  }
  if (blockIdx.x == 0 && !map.ranks) {
    // The cut is done with these.
    static_assert(kBins == kMapRankThreads);
    frame.counters->histogram[0][threadIdx.x] = 0;
    if (threadIdx.x == 0) frame.counters->candidates = 0;
  }
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory);
  const uint32_t total = memory.total;
  const uint32_t even = (total + gridDim.x - 1) / gridDim.x;
  const uint32_t rounds = (even + kLargestShare - 1) / kLargestShare;
  const uint32_t share = max(rounds > 1 ? (even + rounds - 1) / rounds : even, kSmallestShare);
  for (uint32_t begin = blockIdx.x * share; begin < total; begin += gridDim.x * share) {
    const PlaceRange range = FindRange(begin, begin + share, memory);
    if (range.first < range.end) FillRange(frame, source, bin_of, range, memory);
    __syncthreads();
  }
  if (memory.has_large) RankLargeBins<kCells>(frame, map, source.least, memory);
}

}  // namespace

absl::Status RankMap(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  KernelLaunch launch;
  const bool cells = map.sink == Sink::kImageCells;
  launch.kernel = cells ? reinterpret_cast<const void*>(&RankMapKernel<true>)
                        : reinterpret_cast<const void*>(&RankMapKernel<false>);
  launch.block = dim3(kMapRankThreads);
  const uint32_t enough = (map.most + kSmallestShare - 1) / kSmallestShare;
  launch.grid = dim3(Clamp(static_cast<int>(enough), 1, multiprocessors));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the ranking");
}

}  // namespace glint::cuda
