// The first cut: of each level's candidates, the best `first_share` by key and all that tie with the last of them
// (cv::KeyPointsFilter::retainBest), exactly for FAST scores, whose histogram has a bin per score; for Harris keys the
// bin in which the cut falls stays whole, which the ranking stage then resolves. cv::ORB's order of stages then scores
// what is left by Harris.
//
// A block takes an equal part of all levels' candidates, cuts, lists what stays, and scores the list with 8 lanes per
// corner, each with one column of the window. Shared memory 5 KiB.
//
// On an image with masses of equal responses the shortlist can be far longer than the share. The last block to finish
// then reduces it to what the output can hold, by radix selection; slow, bounded, and rare.
#include "cuda/device.cuh"
#include "cuda/level_lists.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kHarrisLanes = 8;  // 7 columns of the window
// A shortlist up to this long beyond 3 shares is ranked as it is: ranking takes time in proportion to its square.
constexpr uint32_t kSpareRanked = 4096;

// The smallest bin that stays, by the calling warp; kBins if nothing does.
__device__ int FindCut(const uint32_t* histogram, int bins, uint32_t wanted) {
  if (wanted == 0) return kBins;
  const int lane = threadIdx.x % kWarp;
  uint32_t above = 0;  // in the bins already passed
  for (int high = bins; high > 0; high -= 4 * kWarp) {
    const int bin = high - 4 * (lane + 1);  // lane 0 has the highest four
    const uint4 v = *reinterpret_cast<const uint4*>(histogram + bin);
    const uint32_t mine = v.x + v.y + v.z + v.w;
    uint32_t upto = mine;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const uint32_t other = __shfl_up_sync(kFullWarp, upto, step);
      if (lane >= step) upto += other;
    }
    upto += above;
    const unsigned reached = __ballot_sync(kFullWarp, upto >= wanted);
    if (reached != 0) {
      const int first = __ffs(static_cast<int>(reached)) - 1;
      uint32_t sum = upto - mine;
      int cut = bin;
      if ((sum += v.w) >= wanted) {
        cut = bin + 3;
      } else if ((sum += v.z) >= wanted) {
        cut = bin + 2;
      } else if (sum + v.y >= wanted) {
        cut = bin + 1;
      }
      return __shfl_sync(kFullWarp, cut, first);
    }
    above = __shfl_sync(kFullWarp, upto, kWarp - 1);
  }
  return 0;
}

// The Harris response at (x, y) by the kHarrisLanes lanes of a group, lane `column` of it; valid in all of them. Pixels
// outside the level are its reflection.
__device__ float HarrisByGroup(const Level& level, int x, int y, int column) {
  int left = x - kHarrisRadius + column;  // of the three columns that this lane reads
  int middle = left + 1;
  int right = left + 2;
  if (x < kHarrisRadius || x >= level.width - kHarrisRadius) {
    left = Reflect101(left, level.width);
    middle = Reflect101(middle, level.width);
    right = Reflect101(right, level.width);
  }
  const bool reflect_rows = y < kHarrisRadius || y >= level.height - kHarrisRadius;
  int difference[2 * kHarrisRadius + 1];
  int sum[2 * kHarrisRadius + 1];
#pragma unroll
  for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
    int row = y - kHarrisRadius + v;
    if (reflect_rows) row = Reflect101(row, level.height);
    const uint8_t* line = level.image + static_cast<size_t>(row) * level.pitch;
    const int a = line[left];
    const int b = line[middle];
    const int c = line[right];
    difference[v] = c - a;
    sum[v] = a + 2 * b + c;
  }
  int xx = 0, yy = 0, xy = 0;
  if (column < kHarrisBlock) {
#pragma unroll
    for (int v = 2; v <= 2 * kHarrisRadius; ++v) {
      const int gx = difference[v - 2] + 2 * difference[v - 1] + difference[v];
      const int gy = sum[v] - sum[v - 2];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
#pragma unroll
  for (int step = kHarrisLanes / 2; step > 0; step /= 2) {
    xx += __shfl_xor_sync(kFullWarp, xx, step);
    yy += __shfl_xor_sync(kFullWarp, yy, step);
    xy += __shfl_xor_sync(kFullWarp, xy, step);
  }
  return HarrisResponse(xx, yy, xy);
}

// Radix selection by the calling block: the value v among those `value(i)` of i < count with `member(i)` such that
// `rank` of them are smaller or, less than one digit short, equal. `bins` is scratch of 256.
template <typename Value, typename Member>
__device__ uint32_t SelectSmallest(uint32_t count, uint32_t rank, Value value, Member member, uint32_t* bins,
                                   uint32_t* shared_digit) {
  uint32_t prefix = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
      const uint32_t v = value(i);
      const bool same_prefix = shift == 24 || (v >> (shift + 8)) == (prefix >> (shift + 8));
      if (member(i) && same_prefix) atomicAdd(&bins[v >> shift & 255], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      uint32_t digit = 0;
      while (digit < 255 && rank >= bins[digit]) rank -= bins[digit++];
      shared_digit[0] = digit;
      shared_digit[1] = rank;
    }
    __syncthreads();
    prefix |= shared_digit[0] << shift;
    rank = shared_digit[1];
    __syncthreads();
  }
  return prefix;
}

// Reduces an overlong shortlist to the level's share with ties, and that to what the output can hold in output order.
__device__ void ReduceShortlist(const Frame& frame, int l, uint32_t* bins, uint32_t* scratch) {
  const Level& level = frame.level[l];
  Counters& counters = *frame.counters;
  // Other blocks wrote these: read past this multiprocessor's cache.
  volatile Candidate* list = level.shortlist;
  const uint32_t count = *static_cast<volatile uint32_t*>(&counters.shortlisted[l]);
  const uint32_t share = level.share;
  const uint32_t capacity = frame.output_capacity;
  if (count <= 3 * share + kSpareRanked) return;

  const auto descending = [&](uint32_t i) { return ~list[i].key; };
  const auto position = [&](uint32_t i) { return static_cast<uint32_t>(list[i].position); };
  const auto all = [](uint32_t) { return true; };
  const uint32_t worst = ~SelectSmallest(count, share - 1, descending, all, bins, scratch);
  const auto ties = [&](uint32_t i) { return list[i].key == worst; };

  if (threadIdx.x < 2) scratch[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const uint32_t key = list[i].key;
    if (key > worst) atomicAdd(&scratch[0], 1u);
    if (key == worst) atomicAdd(&scratch[1], 1u);
  }
  __syncthreads();
  const uint32_t better = scratch[0];
  const uint32_t tied = scratch[1];
  __syncthreads();
  uint32_t last_position = 0xffffffffu;
  const uint32_t room = capacity - better;  // better < share <= capacity
  if (tied > room) last_position = SelectSmallest(count, room - 1, position, ties, bins, scratch);

  if (threadIdx.x == 0) scratch[0] = 0;
  for (uint32_t first = 0; first < count; first += kThreads) {
    const uint32_t i = first + threadIdx.x;
    Candidate c{};
    bool keep = false;
    if (i < count) {
      c.position = list[i].position;
      c.key = list[i].key;
      keep = c.key > worst || (c.key == worst && c.position <= last_position);
    }
    __syncthreads();  // all of this stretch is read, and no place beyond it is written
    if (keep) {
      const uint32_t place = atomicAdd(&scratch[0], 1u);
      list[place].position = c.position;
      list[place].key = c.key;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    counters.shortlisted[l] = scratch[0];
    counters.dropped[l] = better + tied - scratch[0];
  }
  __syncthreads();
}

template <bool kRescore, bool kHarrisKeys>
__global__ void __launch_bounds__(kThreads) ShortlistKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  __shared__ int cut[kMaxLevels];
  __shared__ uint32_t queue[kThreads];  // position
  __shared__ uint8_t queue_level[kThreads];
  __shared__ uint32_t queued;
  __shared__ uint32_t scratch[2];
  __shared__ bool is_last;

  AllowSuccessor();
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  const int warp = threadIdx.x / kWarp;
  const LevelLists lists(counters.candidates, frame.levels);
  const uint32_t begin = static_cast<uint64_t>(lists.total) * blockIdx.x / gridDim.x;
  const uint32_t end = static_cast<uint64_t>(lists.total) * (blockIdx.x + 1) / gridDim.x;

  if (begin < end) {
    const int first_level = lists.Find(begin).level;
    const int last_level = lists.Find(end - 1).level;
    for (int l = first_level + warp; l <= last_level; l += kThreads / kWarp) {
      const int found = FindCut(counters.histogram[l], kHarrisKeys ? kBins : 256, frame.level[l].first_share);
      if (threadIdx.x % kWarp == 0) cut[l] = found;
    }
  }
  for (uint32_t first = begin; first < end; first += kThreads) {
    if (threadIdx.x == 0) queued = 0;
    __syncthreads();
    const uint32_t i = first + threadIdx.x;
    bool keep = false;
    int l = 0;
    Candidate c{};
    if (i < end) {
      const LevelLists::Place place = lists.Find(i);
      l = place.level;
      c = frame.level[l].candidates[place.index];
      keep = (kHarrisKeys ? HarrisBin(c.key) : static_cast<int>(c.key)) >= cut[l];
    }
    if (!kRescore) {
      const uint32_t place = AppendPlace(counters.shortlisted, l, keep);
      if (keep) frame.level[l].shortlist[place] = c;
      continue;
    }
    if (keep) {
      const uint32_t place = atomicAdd(&queued, 1u);
      queue[place] = c.position;
      queue_level[place] = static_cast<uint8_t>(l);
    }
    __syncthreads();
    constexpr int kGroups = kThreads / kHarrisLanes;
    for (uint32_t base = 0; base < queued; base += kGroups) {
      const uint32_t mine = base + threadIdx.x / kHarrisLanes;
      const bool active = mine < queued;
      const uint32_t item = active ? mine : 0;
      const uint32_t position = queue[item];
      const int item_level = queue_level[item];
      const float response = HarrisByGroup(frame.level[item_level], static_cast<int>(position & 0xffff),
                                           static_cast<int>(position >> 16), threadIdx.x % kHarrisLanes);
      const bool append = active && threadIdx.x % kHarrisLanes == 0;
      const uint32_t place = AppendPlace(counters.shortlisted, item_level, append);
      if (append) frame.level[item_level].shortlist[place] = {position, OrderedKey(response)};
    }
    __syncthreads();
  }

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&counters.finished_blocks, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int l = 0; l < frame.levels; ++l) ReduceShortlist(frame, l, queue, scratch);
}

}  // namespace

absl::Status Shortlist(StreamView stream, const Frame& frame, bool rescore, bool harris_keys, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = rescore       ? reinterpret_cast<const void*>(&ShortlistKernel<true, false>)
                  : harris_keys ? reinterpret_cast<const void*>(&ShortlistKernel<false, true>)
                                : reinterpret_cast<const void*>(&ShortlistKernel<false, false>);
  launch.block = dim3(kThreads);
  launch.grid = dim3(2 * multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the shortlist stage");
}

}  // namespace glint::cuda
