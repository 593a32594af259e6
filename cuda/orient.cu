// The final ranking and the angles. A warp takes a few corners of the sorted chunks: first a lane finds each one's
// place and whether it stays, then the whole warp finds the angle of each that does and writes it to its place, in
// device memory and straight into memory that the host reads: only what was found crosses the bus, and no copy is set
// up.
//
// A corner stays if fewer than the level's share have a larger response (cv::KeyPointsFilter::retainBest keeps ties).
//
// Orientation is the intensity centroid of the disc (Rosin 1999; Rublee et al. 2011, section 3.2),
//   m10 = sum u * I,  m01 = sum v * I,  angle = fastAtan2(m01, m10).
// Lanes read vectors of 8 pixels, several rows at a time (6 for patch_size 31), cut the disc out with byte masks and
// sum with dp4a.
#include <cstddef>

#include "cuda/chunks.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerMultiprocessor = 12;
constexpr int kRowsInFlight = 6;  // loads of a lane before the first use

// What a lane reads of every disc.
struct DiscLane {
  int first_row;  // past the last one if the lane is left over
  int row_step;
  int vector;

  __device__ __forceinline__ explicit DiscLane(const Frame& frame) {
    const int lane = threadIdx.x % kWarp;
    row_step = kWarp / frame.disc_vectors;
    first_row = lane / frame.disc_vectors;
    vector = lane - first_row * frame.disc_vectors;
    if (first_row >= row_step) first_row = 2 * frame.half_patch + 1;
  }
};

// By a warp; valid in all lanes.
__device__ float CentroidAngle(const Frame& frame, const Level& level, const DiscLane& mine, int x, int y) {
  const int half = frame.half_patch;
  int moment_x = 0;
  int moment_y = 0;
  if (x >= half && x < level.width - half && y >= half && y < level.height - half) {
    const int rows = 2 * half + 1;
    const int skew = (x - half) & 7;
    const uint8_t* pixels =
        level.image + static_cast<size_t>(y - half) * level.pitch + (x - half - skew) + 8 * mine.vector;
    const uint2* masks = frame.disc_masks + skew * rows * frame.disc_vectors + mine.vector;
    int sum = 0;
    int ramp = 0;  // sum of column within the vector * pixel
    for (int first = mine.first_row; first < rows; first += kRowsInFlight * mine.row_step) {
      uint2 p[kRowsInFlight], mask[kRowsInFlight];
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const int v = first + i * mine.row_step;
        const bool exists = v < rows;
        p[i] = exists ? *reinterpret_cast<const uint2*>(pixels + v * level.pitch) : make_uint2(0, 0);
        mask[i] = exists ? masks[v * frame.disc_vectors] : make_uint2(0, 0);
      }
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const uint32_t a = p[i].x & mask[i].x;
        const uint32_t b = p[i].y & mask[i].y;
        const int row_sum = __dp4a(b, 0x01010101u, __dp4a(a, 0x01010101u, 0u));
        ramp = __dp4a(b, 0x07060504u, __dp4a(a, 0x03020100u, static_cast<unsigned>(ramp)));
        sum += row_sum;
        moment_y += (first + i * mine.row_step - half) * row_sum;
      }
    }
    moment_x = ramp + sum * (8 * mine.vector - skew - half);
  } else {
    for (int v = static_cast<int>(threadIdx.x % kWarp) - half; v <= half; v += kWarp) {
      const int half_width = frame.half_width[v < 0 ? -v : v];
      const uint8_t* row = level.image + static_cast<size_t>(Reflect101(y + v, level.height)) * level.pitch;
      for (int u = -half_width; u <= half_width; ++u) {
        const int p = row[Reflect101(x + u, level.width)];
        moment_x += u * p;
        moment_y += v * p;
      }
    }
  }
  return FastAtan2(static_cast<float>(WarpSum(moment_y)), static_cast<float>(WarpSum(moment_x)));
}

// A corner's place among its level's, and whether it is kept. The level's last kept corner tells how many there are.
struct Ranking {
  uint32_t rank;
  bool kept;
};
__device__ __forceinline__ Ranking Rank(const Frame& frame, int l, uint32_t index, Candidate own) {
  const Level& level = frame.level[l];
  const uint32_t count = frame.counters->shortlisted[l];
  const auto share = static_cast<uint32_t>(level.share);
  const uint32_t chunk = index / kChunk;
  Ranking r{};
  r.rank = index % kChunk;
  if (count > kChunk) r.rank += CountAboveInChunks(level.shortlist, count, Precedence(own), chunk);
  if (r.rank + 1 < (share < count ? share : count)) {
    r.kept = true;
    return r;
  }
  // On the edge, or beyond it: what ties with the corner decides.
  bool is_last;
  if (count <= kChunk) {
    r.kept = r.rank < share || own.key == level.shortlist[share - 1].key;
    is_last = r.rank + 1 == count || own.key != level.shortlist[r.rank + 1].key;
  } else {
    constexpr uint32_t kNoChunk = 0xffffffffu;
    const uint64_t key = static_cast<uint64_t>(own.key) << 32;
    r.kept = CountAboveInChunks(level.shortlist, count, key | 0xffffffffu, kNoChunk) < share;
    is_last = r.rank + 1 == CountAboveInChunks(level.shortlist, count, key, kNoChunk);
  }
  if (r.kept && is_last) {
    frame.counters->kept[l] = r.rank + 1;
    frame.result->kept[l] = r.rank + 1;
  }
  return r;
}

__global__ void __launch_bounds__(kThreads) OrientKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  AllowSuccessor();
  const DiscLane disc(frame);
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t threads = gridDim.x * kThreads;
  // The shortlist stage is done with these.
  auto* clear = reinterpret_cast<uint32_t*>(&counters);
  constexpr uint32_t kClear = offsetof(Counters, shortlisted) / sizeof(uint32_t);
  for (uint32_t i = thread; i < kClear; i += threads) clear[i] = 0;
  if (thread < kMaxLevels && counters.shortlisted[thread] == 0) frame.result->kept[thread] = 0;

  const uint32_t* counts = counters.shortlisted;
  const LevelSequence corners(frame.levels, [=](int l) { return counts[l]; });
  const uint64_t total = corners.total();
  const uint32_t begin = static_cast<uint32_t>(total * (thread / kWarp) / (threads / kWarp));
  const uint32_t end = static_cast<uint32_t>(total * (thread / kWarp + 1) / (threads / kWarp));
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t first = begin; first < end; first += kWarp) {
    Candidate own{};
    Ranking ranking{0, false};
    if (first + lane < end) {
      const LevelSequence::Place at = corners.Find(first + lane);
      own = frame.level[at.level].shortlist[at.index];
      ranking = Rank(frame, at.level, at.index, own);
      ranking.kept = ranking.kept && ranking.rank < static_cast<uint32_t>(frame.level[at.level].ranked_capacity);
    }
    unsigned waiting = __ballot_sync(kFullWarp, ranking.kept);
    while (waiting != 0) {
      const int from = __ffs(static_cast<int>(waiting)) - 1;
      waiting &= waiting - 1;
      const uint32_t position = __shfl_sync(kFullWarp, own.position, from);
      const uint32_t key = __shfl_sync(kFullWarp, own.key, from);
      const uint32_t rank = __shfl_sync(kFullWarp, ranking.rank, from);
      const Level& level = frame.level[LevelOf(position)];
      const float angle = frame.orient ? CentroidAngle(frame, level, disc, XOf(position), YOf(position)) : -1.0f;
      const uint4 record = {position, key, __float_as_uint(angle), 0};
      if (lane == 0) *reinterpret_cast<uint4*>(&level.result[rank]) = record;
      if (lane == 1) *reinterpret_cast<uint4*>(&level.ranked[rank]) = record;
    }
  }
}

__global__ void NothingKernel() {}

}  // namespace

absl::Status Orient(StreamView stream, const Frame& frame, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&OrientKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(kBlocksPerMultiprocessor * multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
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
