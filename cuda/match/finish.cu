// From the candidates that each block of train descriptors brings to the matches: the best of all, then ratio, cross
// check and distance; and the histogram of rotations.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRotationThreads = 1024;

// That merge a query's candidates.
constexpr int Lanes(int keep) { return keep <= 2 ? 8 : 1; }

template <int kKeep>
__device__ __forceinline__ void Insert(uint32_t key, uint32_t (&kept)[kKeep]) {
#pragma unroll
  for (int i = 0; i < kKeep; ++i) {
    const uint32_t greater = max(kept[i], key);
    kept[i] = min(kept[i], key);
    key = greater;
  }
}

// Rules 4 and 5 for a query with these candidates.
template <int kKeep>
__device__ __forceinline__ bool HasMatches(const MatchParams& params, const uint32_t* best_queries, int query,
                                           const uint32_t (&kept)[kKeep]) {
  if (kept[0] == kNoKey) return false;
  if (kKeep > 1 && params.options.ratio > 0 && kept[kKeep > 1 ? 1 : 0] != kNoKey &&
      !PassesRatio(DistanceIn(kept[0]), DistanceIn(kept[kKeep > 1 ? 1 : 0]), params.options.ratio)) {
    return false;
  }
  return !params.options.cross_check || IndexIn(best_queries[IndexIn(kept[0])]) == query;
}

// Clears the other call's best queries. The last block makes them this one's for the next call.
__device__ __forceinline__ void ChangeBuffers(const MatchParams& params, uint32_t buffer) {
  MatchState& state = *params.state;
  uint32_t* other = params.best_queries + static_cast<size_t>(buffer ^ 1) * params.best_queries_stride;
  const uint32_t used = state.used[buffer ^ 1];
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < used; i += gridDim.x * kThreads) other[i] = kNoKey;
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&state.blocks_done, 1u) + 1 != gridDim.x) return;
  state.used[buffer] = static_cast<uint32_t>(params.trains);
  state.used[buffer ^ 1] = 0;
  state.buffer = buffer ^ 1;
  state.blocks_done = 0;
}

// kKeep: of a query, params.plan.keep or more.
template <int kKeep>
__global__ void __launch_bounds__(kThreads) FinishKernel(GLINT_KERNEL_ARGUMENT MatchParams params) {
  constexpr int kLanes = Lanes(kKeep);
  AllowSuccessor();
  const int query = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / kLanes);
  const int lane = threadIdx.x % kLanes;
  const int own = Min(query, params.queries - 1);
  const int keep = params.plan.keep;
  WaitForPredecessor();
  const uint32_t buffer = params.state->buffer;
  const uint32_t* best_queries = params.best_queries + static_cast<size_t>(buffer) * params.best_queries_stride;
  uint32_t kept[kKeep];
#pragma unroll
  for (int i = 0; i < kKeep; ++i) kept[i] = kNoKey;
#pragma unroll 4
  for (int split = lane; split < params.plan.splits; split += kLanes) {
    const uint32_t* from = params.partials + (static_cast<size_t>(split) * params.queries + own) * keep;
#pragma unroll
    for (int i = 0; i < kKeep; ++i) {
      if (i < keep) Insert(from[i], kept);
    }
  }
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) {
    uint32_t other[kKeep];
#pragma unroll
    for (int i = 0; i < kKeep; ++i) other[i] = __shfl_xor_sync(kFullWarp, kept[i], step);
#pragma unroll
    for (int i = 0; i < kKeep; ++i) Insert(other[i], kept);
  }
  if (query < params.queries && lane == 0) {
    const bool has = HasMatches(params, best_queries, query, kept);
    const int k = params.options.k;
#pragma unroll
    for (int i = 0; i < kKeep; ++i) {
      if (i >= k) break;
      const bool is_match = has && kept[i] != kNoKey && DistanceIn(kept[i]) <= params.options.max_distance;
      const size_t at = static_cast<size_t>(query) * k + i;
      params.index[at] = is_match ? IndexIn(kept[i]) : kNoMatch;
      params.distance[at] = is_match ? DistanceIn(kept[i]) : kNoMatch;
    }
  }
  if (params.options.cross_check) ChangeBuffers(params, buffer);
}

__global__ void __launch_bounds__(kRotationThreads) KeepUsualRotationsKernel(GLINT_KERNEL_ARGUMENT MatchParams params) {
  __shared__ int32_t count[kRotationBins];
  __shared__ uint32_t kept;
  if (threadIdx.x < kRotationBins) count[threadIdx.x] = 0;
  __syncthreads();
  WaitForPredecessor();
  const auto bin_of = [&](int query) {
    return RotationBin(params.conditions.angle[query], params.keypoints.angle[params.index[query]]);
  };
  for (int q = threadIdx.x; q < params.queries; q += kRotationThreads) {
    if (params.index[q] != kNoMatch) atomicAdd(&count[bin_of(q)], 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) kept = KeptRotationBins(count);
  __syncthreads();
  for (int q = threadIdx.x; q < params.queries; q += kRotationThreads) {
    if (params.index[q] == kNoMatch || (kept >> bin_of(q) & 1) != 0) continue;
    params.index[q] = kNoMatch;
    params.distance[q] = kNoMatch;
  }
}

}  // namespace

absl::Status FinishMatches(StreamView stream, const MatchParams& params) {
  const int keep = params.plan.keep;
  KernelLaunch launch;
  launch.kernel = keep == 1   ? reinterpret_cast<const void*>(&FinishKernel<1>)
                  : keep == 2 ? reinterpret_cast<const void*>(&FinishKernel<2>)
                              : reinterpret_cast<const void*>(&FinishKernel<kMaxMatchK>);
  const int queries = kThreads / Lanes(keep);  // of a block
  launch.block = dim3(kThreads);
  launch.grid = dim3((params.queries + queries - 1) / queries);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<MatchParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the end of matching");
}

absl::Status KeepUsualRotations(StreamView stream, const MatchParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&KeepUsualRotationsKernel);
  launch.block = dim3(kRotationThreads);
  launch.grid = dim3(1);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<MatchParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the histogram of rotations");
}

}  // namespace glint::cuda
