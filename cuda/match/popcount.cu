// All pairs of descriptors of any width, under any conditions, by counting bits: a thread has a query, and goes through
// its block's train descriptors, which it shares with the block.
//
// Descriptors of more than 256 bits come in parts, with the sums so far in local memory. Shared memory 2.3 KiB.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_plan.h"
#include "cuda/match/match_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWords = 8;        // of 32 bits, of a part of a descriptor: what a thread has of its query at once
constexpr int kTileTrains = 64;  // train descriptors of a tile

__device__ __forceinline__ uint32_t WarpLeast(uint32_t v) { return ~WarpMax(~v); }

// The least kKeep keys, in order.
template <int kKeep>
__device__ __forceinline__ void Insert(uint32_t key, uint32_t (&kept)[kKeep]) {
#pragma unroll
  for (int i = 0; i < kKeep; ++i) {
    const uint32_t greater = max(kept[i], key);
    kept[i] = min(kept[i], key);
    key = greater;
  }
}

// kKeep: of a query, params.plan.keep or more.
template <int kKeep, bool kLimited>
__global__ void __launch_bounds__(kThreads) CountBitsKernel(GLINT_KERNEL_ARGUMENT MatchParams params) {
  __shared__ __align__(16) uint32_t tile[kTileTrains][kWords];
  __shared__ uint32_t best_query[kTileTrains];
  AllowSuccessor();
  WaitForPredecessor();
  const int words = params.bytes / 4;  // even
  const int query = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const bool exists = query < params.queries;
  const int own = Min(query, params.queries - 1);
  const auto* own_words = reinterpret_cast<const uint32_t*>(params.query) + static_cast<size_t>(own) * words;
  const auto* train_words = reinterpret_cast<const uint32_t*>(params.train);
  const int first = static_cast<int>(blockIdx.y) * params.plan.columns_per_split;
  const int end = Min(first + params.plan.columns_per_split, params.trains);
  uint32_t* best_queries = params.best_queries + static_cast<size_t>(params.state->buffer) * params.best_queries_stride;
  uint32_t kept[kKeep];
#pragma unroll
  for (int i = 0; i < kKeep; ++i) kept[i] = kNoKey;

#pragma unroll 1
  for (int from = first; from < end; from += kTileTrains) {
    const int columns = Min(kTileTrains, end - from);
    uint16_t distance[kTileTrains];  // in local memory where there are several parts
    uint32_t part[kWords];
    const int parts = (words + kWords - 1) / kWords;
#pragma unroll 1
    for (int p = 0; p < parts; ++p) {
      const int part_words = Min(kWords, words - p * kWords);
#pragma unroll
      for (int w = 0; w < kWords; ++w) part[w] = w < part_words ? own_words[p * kWords + w] : 0;
      __syncthreads();
      for (int i = threadIdx.x; i < kTileTrains * kWords; i += kThreads) {
        const int column = i / kWords;
        const int word = i % kWords;
        const bool is_there = column < columns && word < part_words;
        tile[column][word] = is_there ? train_words[static_cast<size_t>(from + column) * words + p * kWords + word] : 0;
      }
      if (p == 0 && threadIdx.x < kTileTrains) best_query[threadIdx.x] = kNoKey;
      __syncthreads();
#pragma unroll 4
      for (int column = 0; column < columns; ++column) {
        int sum = 0;
#pragma unroll
        for (int w = 0; w < kWords; w += 4) {
          const uint4 four = *reinterpret_cast<const uint4*>(&tile[column][w]);
          sum += __popc(part[w] ^ four.x) + __popc(part[w + 1] ^ four.y) + __popc(part[w + 2] ^ four.z) +
                 __popc(part[w + 3] ^ four.w);
        }
        if (p > 0) sum += distance[column];
        if (p + 1 < parts) {
          distance[column] = static_cast<uint16_t>(sum);
          continue;
        }
        const int train = from + column;
        const bool allowed =
            exists && (!kLimited || IsAllowed(params.conditions, params.keypoints, params.options, query, train));
        Insert(allowed ? MatchKey(sum, train) : kNoKey, kept);
        if (params.options.cross_check) {
          const uint32_t least = WarpLeast(allowed ? MatchKey(sum, query) : kNoKey);
          if (threadIdx.x % kWarp == 0 && least != kNoKey) atomicMin(&best_query[column], least);
        }
      }
    }
    if (!params.options.cross_check) continue;
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += kThreads) {
      if (best_query[i] != kNoKey) atomicMin(&best_queries[from + i], best_query[i]);
    }
  }
  if (!exists) return;
  const int keep = params.plan.keep;
  uint32_t* out = params.partials + (static_cast<size_t>(blockIdx.y) * params.queries + query) * keep;
#pragma unroll
  for (int i = 0; i < kKeep; ++i) {
    if (i < keep) out[i] = kept[i];
  }
}

template <int kKeep>
const void* KernelFor(bool limited) {
  return limited ? reinterpret_cast<const void*>(&CountBitsKernel<kKeep, true>)
                 : reinterpret_cast<const void*>(&CountBitsKernel<kKeep, false>);
}

}  // namespace

absl::Status FindPairsByPopcount(StreamView stream, const MatchParams& params) {
  const bool limited = LimitsPairs(params.conditions, params.options);
  const int keep = params.plan.keep;
  KernelLaunch launch;
  launch.kernel = keep == 1   ? KernelFor<1>(limited)
                  : keep == 2 ? KernelFor<2>(limited)
                              : KernelFor<kMaxMatchK>(limited);
  launch.block = dim3(kThreads);
  launch.grid = dim3((params.queries + kThreads - 1) / kThreads, params.plan.splits);
  void* arguments[] = {const_cast<MatchParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching matching by popcount");
}

}  // namespace glint::cuda
