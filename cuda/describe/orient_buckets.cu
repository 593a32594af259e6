// The final ranking of what is in buckets (buckets.cuh), angles and result. A block takes some ranks of one level, as
// in orient.cu, and writes them in order; but large buckets, which hold too much for that, are ranked by all of the
// level's blocks together.
//
// Shared memory 28 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/describe/orient.cuh"
#include "cuda/select/rank_buckets.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int Threads(bool orient) { return BucketRankThreads(orient); }
constexpr int BlocksPerMultiprocessor(bool orient) { return orient ? 3 : 2; }  // at once

// The buckets of a level for RankLargeBinsOfLevel().
struct LevelBuckets {
  const BucketMemory& memory;
  uint32_t largest;

  __device__ __forceinline__ uint32_t Begin(int bucket) const { return memory.bins.begin[bucket]; }
  __device__ __forceinline__ uint32_t End(int bucket) const { return memory.bins.begin[bucket + 1]; }
  __device__ __forceinline__ bool IsLarge(int bucket) const { return memory.bins.Size(bucket) > largest; }
  __device__ __forceinline__ uint32_t Better(int bucket) const { return Begin(bucket); }
  __device__ __forceinline__ uint32_t EndOfKeys(int bucket) const { return End(bucket); }
};

// The corners of a bucket: those in it, and those that it had no room for.
template <int kThreads>
class BucketCorners {
 public:
  __device__ __forceinline__ BucketCorners(const Level& level, const BucketMemory& memory, int bucket)
      : level_(level), memory_(memory), bucket_(bucket), key_(level.buckets[bucket * level.bucket_room].key) {
    // Buckets next to those that have none hold whatever is beyond.
    using Keys = BucketKeys;
    const bool is_open =
        bucket == 0 || bucket == Keys::kPositive - 1 || bucket == Keys::kPositive || bucket == kBins - 1;
    key_bits_ = is_open ? 32 : bucket < Keys::kPositive ? Keys::kShift : Keys::kNegativeShift;
  }

  __device__ __forceinline__ uint64_t Differs() const { return ~uint64_t{0} >> (32 - key_bits_); }

  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    const auto room = static_cast<uint32_t>(level_.bucket_room);
    const uint32_t size = memory_.bins.Size(bucket_);
    ForEachOf(level_.buckets + bucket_ * room, min(size, room), f);
    if (size > room) ForEachOf(level_.overflow, memory_.overflow, f);
  }

 private:
  template <typename F>
  __device__ __forceinline__ void ForEachOf(const Candidate* corners, uint32_t count, F f) const {
    constexpr uint32_t kAtOnce = kThreads > 256 ? 4 : 6;  // loads of a thread, of two corners each
#pragma unroll 1
    for (uint32_t first = 2 * threadIdx.x; first < count; first += 2 * kAtOnce * kThreads) {
      uint4 both[kAtOnce];
#pragma unroll
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const uint32_t at = first + 2 * j * kThreads;
        both[j] = *reinterpret_cast<const uint4*>(corners + (at < count ? at : 0));
      }
#pragma unroll
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const uint32_t at = first + 2 * j * kThreads;
        const Candidate one = {both[j].x, both[j].y};
        const Candidate other = {both[j].z, both[j].w};
        if (at < count && Has(one.key)) f(one);
        if (at + 1 < count && Has(other.key)) f(other);
      }
    }
  }

  __device__ __forceinline__ bool Has(uint32_t key) const {
    return key_bits_ < 32 ? (key ^ key_) >> key_bits_ == 0 : BucketOf(key) == bucket_;
  }

  const Level& level_;
  const BucketMemory& memory_;
  const int bucket_;
  const uint32_t key_;  // of one of them
  int key_bits_;        // in which others may differ from it
};

// The ranks of buckets larger than `largest`, by block `index` of the level's `parts`. Apart from the kernel, whose
// registers it would take.
template <int kThreads>
__device__ __noinline__ void RankLarge(const Frame& frame, int l, uint32_t index, uint32_t parts, uint32_t largest,
                                       BucketMemory& memory) {
  const Level& level = frame.level[l];
  RankLargeBinsOfLevel<kThreads, kBins, /*kOneKey=*/false>(
      frame, l, memory.bins.begin[kBins], static_cast<uint32_t>(level.first_share), index, parts,
      LevelBuckets{memory, largest}, [&](int bucket) { return BucketCorners<kThreads>(level, memory, bucket); },
      memory.ties, memory.precedence);
}

// Which the ranking's blocks have read when they come here. By the last warp of the last block.
__device__ __forceinline__ void ClearCounters(const Frame& frame) {
  Counters& counters = *frame.counters;
  constexpr int kVectors = kBins / 4;
  for (int i = threadIdx.x % kWarp; i < frame.levels * kVectors; i += kWarp) {
    reinterpret_cast<uint4*>(counters.histogram[i / kVectors])[i % kVectors] = make_uint4(0, 0, 0, 0);
  }
  static_assert(kMaxLevels <= kWarp);
  if (threadIdx.x % kWarp < kMaxLevels) counters.overflow[threadIdx.x % kWarp] = 0;
  if (threadIdx.x % kWarp == 0) counters.blocks_ranking = 0;
}

template <bool kOrient>
__global__ void __launch_bounds__(Threads(kOrient), BlocksPerMultiprocessor(kOrient))
    OrientBucketsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  constexpr int kThreads = Threads(kOrient);
  __shared__ BucketMemory memory;
  AllowSuccessor();
  const int l = blocks.LevelOf(blockIdx.x, frame.levels);
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.first_share);
  const uint32_t parts = blocks.first[l + 1] - blocks.first[l];
  const uint32_t part = (share + parts - 1) / parts;
  const uint32_t index = blockIdx.x - blocks.first[l];
  BucketRanking<kThreads> ranking(level, index, part, memory);
  __syncthreads();
  WaitForPredecessor();
  ranking.Load(frame.counters->histogram[l], &frame.counters->overflow[l]);
  ranking.FindBuckets();
  // All threads of the block have what they need of the counters, so that they may be cleared. What the atomic says is
  // looked at in the end alone: nothing waits for it.
  constexpr int kLastLane = kThreads - 1;
  uint32_t blocks_before = 0;
  if (threadIdx.x == kLastLane) blocks_before = atomicAdd(&frame.counters->blocks_ranking, 1u);

  const uint32_t count = ranking.count();
  if (index == 0 && count <= share && threadIdx.x == 0) Tell(frame, l, count);
  if (ranking.HasRanks()) {
    ranking.Rank([&](uint32_t kept) { Tell(frame, l, kept); });
    WriteRanked<kThreads>(frame, level, kOrient, memory.ranked, ranking.first(), ranking.length());
  }
  if (threadIdx.x / kWarp == kLastLane / kWarp) {
    if (__shfl_sync(kFullWarp, blocks_before, kWarp - 1) == gridDim.x - 1) ClearCounters(frame);
  }
  // Last, so that what is executed otherwise lies together.
  if (!memory.has_large) return;
  RankLarge<kThreads>(frame, l, index, parts, ranking.largest(), memory);
}

}  // namespace

absl::Status OrientBuckets(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, launch.orients ? OrientBucketsKernel<true> : OrientBucketsKernel<false>, frame,
                 launch.blocks);
}

}  // namespace glint::cuda
