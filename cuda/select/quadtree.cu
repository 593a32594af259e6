// Selection::kQuadtree: which corners of each level a quadtree keeps (quadtree_rounds.h), into the level's shortlist,
// of which all stay. A block takes a level: it sorts the corners by bin, which takes the counts that the corner stage
// left and one pass, and then does not need the other multiprocessors' help, or a look at the host, for any of its
// rounds.
//
// Shared memory 62 KiB: where bins begin, nodes and corners if there are no more than fit.
#include "cuda/common/enqueue.h"
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/select/histogram.cuh"
#include "cuda/select/quadtree_rounds.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kQuadtreeThreads;

// As QuadtreeRounds needs it.
struct Block {
  static constexpr uint32_t kThreads = kQuadtreeThreads;
  static constexpr uint32_t kLanes = kWarp;
  static constexpr uint32_t kGroup = 8;

  uint32_t* warp_sum;  // kWarp of them, shared

  __device__ __forceinline__ uint32_t thread() const { return threadIdx.x; }
  __device__ __forceinline__ uint32_t warp() const { return threadIdx.x / kLanes; }
  __device__ __forceinline__ uint32_t lane() const { return threadIdx.x % kLanes; }
  __device__ __forceinline__ uint32_t group() const { return threadIdx.x / kGroup; }
  __device__ __forceinline__ uint32_t group_lane() const { return threadIdx.x % kGroup; }
  __device__ __forceinline__ void Sync() const { __syncthreads(); }
  __device__ __forceinline__ void SyncWarp() const { __syncwarp(); }
  __device__ __forceinline__ uint32_t Ballot(bool b) const { return __ballot_sync(kFullWarp, b); }
  __device__ __forceinline__ uint32_t LanesBelow(uint32_t lanes) const { return cuda::LanesBelow(lanes); }
  __device__ __forceinline__ uint64_t GroupMax(uint64_t v) const {
#pragma unroll
    for (uint32_t step = kGroup / 2; step > 0; step /= 2) {
      const uint64_t other = __shfl_xor_sync(kFullWarp, v, step);
      v = other > v ? other : v;
    }
    return v;
  }
  __device__ __forceinline__ uint32_t SumBefore(uint32_t v, uint32_t* total) const {
    const uint32_t before = cuda::SumBefore<kThreads>(v, warp_sum);
    const uint32_t of_warp = lane() < kThreads / kLanes ? warp_sum[lane()] : 0;
    *total = static_cast<uint32_t>(WarpSum(static_cast<int>(of_warp)));
    __syncthreads();  // before the sums are written anew
    return before;
  }
};

// Sorts `count` corners by bin. `begin` has room for what each bin begins at, and the last one ends at; 3 elements
// before a multiple of 16 bytes.
__device__ __forceinline__ void SortByBin(const uint32_t* histogram, const QuadtreeCorner* found, uint32_t count,
                                          uint32_t* begin, uint32_t* warp_sum, QuadtreeCorner* sorted) {
  constexpr int kEach = kMaxQuadtreeBins / kThreads;
  // First, the element after a bin's has where the bin begins, and counts up to where it ends.
  uint32_t* const next = begin + 1;
  uint32_t bins[kEach];
  LoadVectors(histogram + kEach * threadIdx.x, bins);
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) own += bins[i];
  uint32_t sum = SumBefore<kThreads>(own, warp_sum);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    next[kEach * threadIdx.x + i] = sum;
    sum += bins[i];
  }
  if (threadIdx.x == 0) begin[0] = 0;
  __syncthreads();
  constexpr uint32_t kAtOnce = 4;  // loads of a thread
  for (uint32_t first = threadIdx.x; first < count; first += kAtOnce * kThreads) {
    QuadtreeCorner corner[kAtOnce];
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) corner[j] = found[min(first + j * kThreads, count - 1)];
#pragma unroll
    for (uint32_t j = 0; j < kAtOnce; ++j) {
      if (first + j * kThreads >= count) break;
      sorted[atomicAdd(&next[corner[j].score_and_bin >> 8], 1u)] = corner[j];
    }
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads)
    SelectByQuadtreeKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT QuadtreeParams params) {
  extern __shared__ uint4 memory[];
  __shared__ uint32_t warp_sum[kWarp];
  __shared__ QuadtreeProgress progress;
  AllowSuccessor();
  const int l = blockIdx.x;
  const Level& level = frame.level[l];
  const QuadtreeLevel& tree = params.level[l];
  auto* const bytes = reinterpret_cast<uint8_t*>(memory);
  uint32_t* const begin = reinterpret_cast<uint32_t*>(bytes) + 3;
  uint8_t* const shared_nodes = bytes + kQuadtreeBinBytes;
  auto* const shared_corners =
      reinterpret_cast<QuadtreeCorner*>(shared_nodes + QuadtreeNodeBytes(kSharedQuadtreeNodes));
  WaitForPredecessor();
  const uint32_t count = frame.counters->found[l];
  if (count == 0) return;
  QuadtreeCorner* const corners = count <= kSharedQuadtreeCorners ? shared_corners : tree.sorted;
  SortByBin(frame.counters->histogram[l], tree.found, count, begin, warp_sum, corners);
  const Block block = {warp_sum};
  QuadtreeRounds<Block> rounds(block, tree, begin, corners, /*spare=*/tree.found,
                               PlaceQuadtreeNodes(tree.nodes != nullptr ? tree.nodes : shared_nodes, tree.room),
                               &progress);
  const uint32_t kept = rounds.Run([&](uint32_t i, const QuadtreeCorner& corner) {
    const int x = PlaceX(corner.place, tree.across.cell) + kQuadtreeBorder;
    const int y = PlaceY(corner.place, tree.down.cell) + kQuadtreeBorder;
    level.shortlist_entries[i] = {PackPosition(l, x, y), -1.0f};
    level.shortlist_keys[i] = corner.score_and_bin & 0xff;
  });
  if (threadIdx.x != 0) return;
  frame.counters->shortlisted[l] = kept;
  frame.counters->found[l] = 0;
}

}  // namespace

absl::Status PrepareQuadtree(Api* api) {
  return ToStatus(api->FuncSetSharedBytes(reinterpret_cast<const void*>(&SelectByQuadtreeKernel), kQuadtreeSharedBytes),
                  "reserving shared memory for the quadtree");
}

absl::Status SelectByQuadtree(StreamView stream, const Launch& launch, const Frame& frame,
                              const QuadtreeParams& params) {
  return Enqueue(stream, launch, SelectByQuadtreeKernel, frame, params);
}

}  // namespace glint::cuda
