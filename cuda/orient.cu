// The final ranking, the angles that the shortlist stage has not found, and the result. A block takes some places of
// one level: it finds the corners at them (rank.cuh) and whether they stay, and writes those that do, in device memory
// and straight into memory that the host reads: only what was found crosses the bus, and no copy is set up.
// Neighbouring places are written by neighbouring lanes, so that they share packets on the bus.
//
// A corner stays if fewer than the level's share have a larger response (cv::KeyPointsFilter::retainBest keeps ties).
//
// Shared memory 40 KiB.
#include <cstddef>

#include "cuda/centroid.cuh"
#include "cuda/rank.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// At once, of those of kRankThreads and of kWideRankThreads.
constexpr int BlocksPerMultiprocessor(int threads) { return threads == kRankThreads ? 3 : 1; }
// Wanted for each multiprocessor. Each counts its level's whole shortlist, so that few are better unless they have
// angles to find.
constexpr int kRankingBlocks = 2;
constexpr int kOrientingBlocks = 4;
constexpr int kWideRankingBlocks = 1;
constexpr int kSmallestPart = 8;  // entries of the shortlist for a block

// The blocks of level l are first[l]..first[l + 1]-1, one at least.
struct LevelBlocks {
  int first[kMaxLevels + 1];
};

__device__ __forceinline__ void Write(const Level& level, uint64_t precedence, float angle, uint32_t place) {
  const auto key = static_cast<uint32_t>(precedence >> 32);
  const uint4 record = {~static_cast<uint32_t>(precedence), key, __float_as_uint(angle), 0};
  *reinterpret_cast<uint4*>(&level.result[place]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[place]) = record;
}

// Writes the corner memory.precedence[slot] if it stays, or lists it if its angle (kOrient) is yet to be found. The
// level's last one tells how many do.
template <bool kOrient>
__device__ __forceinline__ void Keep(const Frame& frame, int l, uint32_t count, const Rank& r, uint32_t slot,
                                     float angle, RankMemory& memory) {
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.share);
  if (r.better >= share) return;
  if (r.preceding + 1 == r.not_worse && (r.not_worse >= share || r.not_worse == count)) {
    frame.counters->kept[l] = r.not_worse;
    frame.result->kept[l] = r.not_worse;
  }
  if (r.preceding >= static_cast<uint32_t>(level.ranked_capacity)) return;
  if (kOrient) {
    memory.angle[slot] = __uint_as_float(r.preceding);
    memory.kept_slot[atomicAdd(&memory.kept_count, 1u)] = slot;
  } else {
    Write(level, memory.precedence[slot], angle, r.preceding);
  }
}

// Finds the angles of what Keep() listed, half a warp each. All threads must call.
template <int kThreads>
__device__ __forceinline__ void OrientKept(const Frame& frame, const Level& level, RankMemory& memory) {
  const DiscLane disc(frame);
  __syncthreads();
  const uint32_t kept = memory.kept_count;
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (kept + 1) / 2 * 2; i += kThreads / kAngleLanes) {
    const uint32_t slot = memory.kept_slot[i < kept ? i : kept - 1];
    const uint64_t precedence = memory.precedence[slot];
    const uint32_t position = ~static_cast<uint32_t>(precedence);
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (i < kept && threadIdx.x % kAngleLanes == 0) {
      Write(level, precedence, angle, __float_as_uint(memory.angle[slot]));
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) memory.kept_count = 0;
  __syncthreads();
}

// Where more tie than memory.precedence holds: compares each corner with all. Apart from the kernel, whose registers it
// would take.
template <bool kHarrisKeys, bool kOrient, bool kOrb, int kThreads>
__device__ __noinline__ void RankTies(const Frame& frame, int l, uint32_t count, uint32_t first, uint32_t end,
                                      RankMemory& memory) {
  const Level& level = frame.level[l];
  const LevelRanking<kHarrisKeys, kOrb, kThreads> ranking(level, count, memory);
  for (uint32_t from = 0; from < count; from += kThreads) {
    Candidate corner{};
    float angle = 0;
    Rank rank{};
    bool is_own = false;
    if (!ranking.RankByAll(from + threadIdx.x, first, end, &corner, &angle, &rank, &is_own)) continue;
    if (is_own) {
      memory.precedence[threadIdx.x] = Precedence(corner);
      Keep<kOrient>(frame, l, count, rank, threadIdx.x, angle, memory);
    }
    if (kOrient) OrientKept<kThreads>(frame, level, memory);
    __syncthreads();
  }
}

template <int kThreads>
__device__ __forceinline__ void ClearTaken(RankMemory& memory) {
  for (int i = 4 * threadIdx.x; i < kRankBins; i += 4 * kThreads) {
    *reinterpret_cast<uint4*>(&memory.taken[i]) = make_uint4(0, 0, 0, 0);
  }
}

template <bool kHarrisKeys, bool kOrient, bool kOrb, int kThreads>
__global__ void __launch_bounds__(kThreads, BlocksPerMultiprocessor(kThreads))
    OrientKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  __shared__ RankMemory memory;
  AllowSuccessor();
  for (int i = 4 * threadIdx.x; i < kRankBins; i += 4 * kThreads) {
    *reinterpret_cast<uint4*>(&memory.above[i]) = make_uint4(0, 0, 0, 0);
  }
  ClearTaken<kThreads>(memory);
  if (threadIdx.x == 0) memory.kept_count = 0;
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= blocks.first[l + 1]) ++l;
  const Level& level = frame.level[l];
  __syncthreads();
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  // Loaded before it is known whether there are so many.
  ListWindow<kHarrisKeys, kOrb> head{};
  Listed listed[kListedPerThread] = {};
  if (level.width > 0) {
    head.Load(level, 0);
    LoadListed<kOrb>(level, listed);
  }
  const uint32_t count = counters.shortlisted[l];
  // The shortlist stage is done with these.
  auto* clear = reinterpret_cast<uint32_t*>(&counters);
  constexpr uint32_t kClear = offsetof(Counters, shortlisted) / sizeof(uint32_t);
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < kClear; i += gridDim.x * kThreads) clear[i] = 0;

  const uint32_t parts = blocks.first[l + 1] - blocks.first[l];
  const uint32_t part = (count + parts - 1) / parts;
  const uint32_t begin = (blockIdx.x - blocks.first[l]) * part;
  if (count == 0 && static_cast<int>(blockIdx.x) == blocks.first[l] && threadIdx.x == 0) frame.result->kept[l] = 0;
  if (begin >= count) return;
  const uint32_t end = begin + part < count ? begin + part : count;

  LevelRanking<kHarrisKeys, kOrb, kThreads> ranking(level, count, memory);
  ranking.CountBins(head);
  for (uint32_t first = begin; first < end; first += kRankPlaces) {
    const uint32_t last = first + kRankPlaces < end ? first + kRankPlaces : end;
    ranking.FindBins(first, last);
    __syncthreads();
    const uint32_t length = memory.end - memory.begin;
    if (kHarrisKeys && memory.begin >= static_cast<uint32_t>(level.share)) return;
    if (length <= kRankRoom) {
      ranking.Collect(head, listed, first, last);
      __syncthreads();
      for (uint32_t slot = threadIdx.x; slot < length; slot += kThreads) {
        const float angle = memory.angle[slot];
        if (angle == kNotOwn) continue;
        Keep<kOrient>(frame, l, count, ranking.RankOf(memory.precedence[slot]), slot, angle, memory);
      }
      if (kOrient) OrientKept<kThreads>(frame, level, memory);
    } else {
      RankTies<kHarrisKeys, kOrient, kOrb, kThreads>(frame, l, count, first, last, memory);
    }
    if (last == end) return;
    __syncthreads();
    ClearTaken<kThreads>(memory);
    // Again, rather than to hold them in registers all the while.
    head.Load(level, 0);
    LoadListed<kOrb>(level, listed);
    ranking.LoadSums();
    __syncthreads();
  }
}

__global__ void NothingKernel() {}

template <bool kHarrisKeys, bool kOrb>
const void* KernelFor(bool orient) {
  return orient ? reinterpret_cast<const void*>(&OrientKernel<kHarrisKeys, true, kOrb, kRankThreads>)
                : reinterpret_cast<const void*>(&OrientKernel<kHarrisKeys, false, kOrb, kRankThreads>);
}

int DivideUp(int n, int by) { return (n + by - 1) / by; }

}  // namespace

absl::Status Orient(StreamView stream, const Frame& frame, bool harris_keys, int multiprocessors) {
  const bool orient = frame.orient && !frame.orient_early;
  const bool orb = frame.level[0].listed != nullptr;
  int total = 0;
  int longest = 0;
  for (int l = 0; l < frame.levels; ++l) {
    total += frame.level[l].first_share;
    longest = Max(longest, frame.level[l].first_share);
  }
  // Where smaller blocks would need more than one look at a shortlist to count it; but not where the larger ones, of
  // which there are fewer, would have to go through their places in turns.
  const bool wide = longest > kListedPerThread * kRankThreads && harris_keys && orb && !orient &&
                    total <= kRankPlaces * kWideRankingBlocks * multiprocessors;
  const int blocks_wanted = (wide ? kWideRankingBlocks : orient ? kOrientingBlocks : kRankingBlocks) * multiprocessors;
  const int part = Max(DivideUp(total, blocks_wanted), kSmallestPart);
  LevelBlocks blocks{};
  for (int l = 0; l < frame.levels; ++l) {
    blocks.first[l + 1] = blocks.first[l] + Max(DivideUp(frame.level[l].first_share, part), 1);
  }
  KernelLaunch launch;
  launch.kernel = wide           ? reinterpret_cast<const void*>(&OrientKernel<true, false, true, kWideRankThreads>)
                  : !harris_keys ? KernelFor<false, true>(orient)
                  : orb          ? KernelFor<true, true>(orient)
                                 : KernelFor<true, false>(orient);
  launch.block = dim3(wide ? kWideRankThreads : kRankThreads);
  launch.grid = dim3(blocks.first[frame.levels]);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &blocks};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the orientation stage");
}

absl::Status LaunchNothing(StreamView stream) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&NothingKernel);
  launch.block = dim3(1);
  launch.grid = dim3(1);
  return ToStatus(stream.api->LaunchKernel(launch, nullptr, stream.stream), "launching nothing");
}

}  // namespace glint::cuda
