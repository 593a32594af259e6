// All pairs of 256-bit descriptors by tensor cores: one operation counts the common bits of 16 queries and 8 train
// descriptors, and distance = bits(query) + bits(train) - 2 * common. What is left to do for a pair limits the speed:
// minima of its distance with its place, along the query's row and the train descriptor's column.
//
// For that, distances become 16-bit keys, two in a word, of neighbouring columns:
//   row key     (bits(train) - 2 * common + 256) * 2^n + tile, without the query's bits, which a row has in common
//   column key  row key + (bits(query) - 256) * 2^n + row of the warp, with the tile, which a column has in common
// where n = 6, and two instructions make both keys of a word from the counts. Without 16-bit integer minima (before
// compute capability 9.0) n = 5: the keys then order as the half floats with their bits.
//
// A warp has 2^n queries in registers and goes through its block's columns, 8 (a tile) at a time; 2^n tiles are a
// window, after which row keys become 32-bit keys with the column's index. Column keys of 64 columns are reduced over
// the lanes at once by exchanging halves, then in shared memory, then in global memory.
//
// Shared memory: 4 bytes for each column of a block, at most 16 KiB.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kTileColumns = 8;
constexpr int kGroupTiles = kColumnGroup / kTileColumns;
constexpr int kBits = 256;            // of a descriptor
constexpr int kVectors = kBits / 64;  // of a descriptor
constexpr uint32_t kBoth = 0x10001;

// Of 16 rows, those that a warp has.
constexpr int RowTiles(int index_bits) { return (1 << index_bits) / 16; }

// Common bits of rows g and g + 8 (of `a`) and columns 2 t and 2 t + 1 (of `b`), for lane 4 g + t: (g, 2t), (g, 2t +
// 1), (g + 8, 2t), (g + 8, 2t + 1). Lane 4 g + t holds words 2 t and 2 t + 1 of the rows and of column g: in another
// order than the instruction's, which does not matter as long as both have it.
__device__ __forceinline__ void CountCommonBits(const uint32_t (&a)[4], uint2 b, int (&common)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=r"(common[0]), "=r"(common[1]), "=r"(common[2]), "=r"(common[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(0));
#else
  __trap();  // PlanMatch() does not choose it
#endif
}

// Minima and maxima of keys, by halves of a word.
template <int kIndexBits>
struct Keys;

template <>
struct Keys<6> {
  static constexpr uint32_t kLargest = 0xffff;
  static constexpr uint32_t kNoRow = 32700;  // added to row keys: larger than any column key
  static __device__ __forceinline__ uint32_t Least(uint32_t a, uint32_t b) { return __vminu2(a, b); }
  static __device__ __forceinline__ uint32_t Least(uint32_t a, uint32_t b, uint32_t c) {
    return __vimin3_u16x2(a, b, c);
  }
  static __device__ __forceinline__ uint32_t Greatest(uint32_t a, uint32_t b) { return __vmaxu2(a, b); }
  // For AddAndLeast(): a half's addend, modulo 2^16.
  static __device__ __forceinline__ uint32_t Addend(int value) {
    return (static_cast<uint32_t>(value) & 0xffff) * kBoth;
  }
  static __device__ __forceinline__ uint32_t AddAndLeast(uint32_t key, uint32_t addend, uint32_t b) {
    return __viaddmin_u16x2(key, addend, b);
  }
};

template <>
struct Keys<5> {
  static constexpr uint32_t kLargest = 0x7bff;  // largest finite half float
  static constexpr uint32_t kNoRow = 15000;
  static __device__ __forceinline__ uint32_t Least(uint32_t a, uint32_t b) {
    uint32_t least = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("min.f16x2 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
#endif
    return least;
  }
  static __device__ __forceinline__ uint32_t Least(uint32_t a, uint32_t b, uint32_t c) { return Least(Least(a, b), c); }
  static __device__ __forceinline__ uint32_t Greatest(uint32_t a, uint32_t b) {
    uint32_t greatest = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("max.f16x2 %0, %1, %2;" : "=r"(greatest) : "r"(a), "r"(b));
#endif
    return greatest;
  }
  // The same to both halves of a word, as one sum: no half of a sum is negative.
  static __device__ __forceinline__ uint32_t Addend(int value) { return static_cast<uint32_t>(value) * kBoth; }
  static __device__ __forceinline__ uint32_t AddAndLeast(uint32_t key, uint32_t addend, uint32_t b) {
    return Least(key + addend, b);
  }
};

// The least keys of a row, by halves of a word; `second` only if kSecond.
template <int kIndexBits, bool kSecond>
__device__ __forceinline__ void Insert(uint32_t one, uint32_t other, uint32_t* best, uint32_t* second) {
  using K = Keys<kIndexBits>;
  if (!kSecond) {
    *best = K::Least(*best, one, other);
    return;
  }
  const uint32_t least = K::Least(one, other);
  *second = K::Least(*second, K::Greatest(one, other), K::Greatest(*best, least));
  *best = K::Least(*best, least);
}

template <bool kSecond>
__device__ __forceinline__ void Insert(uint32_t key, uint32_t* best, uint32_t* second) {
  if (kSecond) *second = min(*second, max(*best, key));
  *best = min(*best, key);
}

// One of the halves of `keys`, which order a lane's columns of a window from `column` on, as a 32-bit key whose
// distance lacks the query's bits.
template <int kIndexBits>
__device__ __forceinline__ uint32_t Widen(uint32_t keys, int half, int column) {
  constexpr uint32_t kTiles = 1u << kIndexBits;
  const uint32_t key = half == 0 ? keys & 0xffff : keys >> 16;
  if (key >= (Keys<kIndexBits>::kLargest & ~(kTiles - 1))) return kNoKey;
  return MatchKey(static_cast<int>(key >> kIndexBits),
                  column + kTileColumns * static_cast<int>(key & (kTiles - 1)) + half);
}

// The least of each of the 8 over the lanes with the same t, that of tile g in lane 4 g + t.
template <int kIndexBits>
__device__ __forceinline__ uint32_t LeastOfTiles(uint32_t (&tile)[kGroupTiles]) {
#pragma unroll
  for (int count = kGroupTiles / 2; count > 0; count /= 2) {
    const bool upper = (threadIdx.x & (4 * count)) != 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const uint32_t mine = upper ? tile[i + count] : tile[i];
      const uint32_t other = __shfl_xor_sync(kFullWarp, upper ? tile[i] : tile[i + count], 4 * count);
      tile[i] = Keys<kIndexBits>::Least(mine, other);
    }
  }
  return tile[0];
}

// Compares the warp's rows with the columns of a group: updates the rows' least keys of the window and gives the least
// column key of each tile if kCrossCheck. kWhole: all columns of the group are before `end`.
template <int kIndexBits, bool kSecond, bool kCrossCheck, bool kWhole>
__device__ __forceinline__ void CompareGroup(const uint32_t (&a)[RowTiles(kIndexBits)][4],
                                             const uint32_t (&row_addend)[RowTiles(kIndexBits)][2], const uint2* trains,
                                             int group, int end, uint32_t group_tile,
                                             uint32_t (&row_best)[RowTiles(kIndexBits)][2],
                                             uint32_t (&row_second)[RowTiles(kIndexBits)][2],
                                             uint32_t (&least)[kGroupTiles]) {
  using K = Keys<kIndexBits>;
  constexpr uint32_t kStep = 1u << kIndexBits;  // of a key, for a bit
  const int lane = threadIdx.x % kWarp;
  const int g = lane / 4;
  const int t = lane % 4;
  const uint32_t all[4] = {~0u, ~0u, ~0u, ~0u};
  const uint2* own = trains + static_cast<size_t>(group + g) * kVectors + t;
#pragma unroll
  for (int j = 0; j < kGroupTiles; j += 2) {
    uint2 b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int tile = j + i;
      const bool is_there = kWhole || group + kTileColumns * tile + g < end;
      b[i] = is_there ? own[kTileColumns * tile * kVectors] : make_uint2(0, 0);
    }
    uint32_t base[2];  // of the row keys
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      int bits[4];
      CountCommonBits(all, b[i], bits);
      const uint32_t tile = group_tile + j + i;
      base[i] = static_cast<uint32_t>(bits[0]) * kStep + static_cast<uint32_t>(bits[1]) * (kStep << 16) +
                (kBits * kStep + tile) * kBoth;
      if (!kWhole) {
        const int column = group + kTileColumns * (j + i) + 2 * t;
        const uint32_t none = (K::kLargest & ~(kStep - 1)) + tile;
        if (column + 1 >= end) base[i] = (column < end ? base[i] & 0xffff : none) | none << 16;
      }
      least[j + i] = K::kLargest * kBoth;
    }
#pragma unroll
    for (int m = 0; m < RowTiles(kIndexBits); ++m) {
      int common[2][4];
      CountCommonBits(a[m], b[0], common[0]);
      CountCommonBits(a[m], b[1], common[1]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint32_t key[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          key[i] = base[i] - static_cast<uint32_t>(common[i][2 * h]) * (2 * kStep) -
                   static_cast<uint32_t>(common[i][2 * h + 1]) * (2 * kStep << 16);
          if (kCrossCheck) least[j + i] = K::AddAndLeast(key[i], row_addend[m][h], least[j + i]);
        }
        Insert<kIndexBits, kSecond>(key[0], key[1], &row_best[m][h], &row_second[m][h]);
      }
    }
  }
}

template <int kIndexBits, bool kSecond, bool kCrossCheck>
__global__ void __launch_bounds__(kThreads, 4) FindPairsKernel(GLINT_KERNEL_ARGUMENT MatchParams params) {
  using K = Keys<kIndexBits>;
  constexpr int kRows = 1 << kIndexBits;  // of a warp
  constexpr int kRowTiles = RowTiles(kIndexBits);
  constexpr uint32_t kStep = 1u << kIndexBits;  // of a key, for a bit
  constexpr int kWindow = kTileColumns << kIndexBits;
  extern __shared__ uint32_t best_query[];
  AllowSuccessor();
  const int lane = threadIdx.x % kWarp;
  const int g = lane / 4;
  const int t = lane % 4;
  const int first_row = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp) * kRows;
  const int first = static_cast<int>(blockIdx.y) * params.plan.columns_per_split;
  const int end = Min(first + params.plan.columns_per_split, params.trains);
  if (kCrossCheck) {
    for (int i = threadIdx.x; i < end - first; i += kThreads) best_query[i] = kNoKey;
    __syncthreads();
  }
  WaitForPredecessor();
  const auto* queries = reinterpret_cast<const uint2*>(params.query);
  const auto* trains = reinterpret_cast<const uint2*>(params.train);

  uint32_t a[kRowTiles][4];
  uint32_t row_addend[kRowTiles][2];
  uint32_t best[kRowTiles][2], second[kRowTiles][2];
#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = Min(first_row + 16 * m + 8 * h + g, params.queries - 1);
      const uint2 words = queries[static_cast<size_t>(row) * kVectors + t];
      a[m][h] = words.x;
      a[m][2 + h] = words.y;
      best[m][h] = second[m][h] = kNoKey;
    }
    int bits[4];
    CountCommonBits(a[m], make_uint2(~0u, ~0u), bits);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = 16 * m + 8 * h + g;
      const int addend = (bits[2 * h] - kBits) * static_cast<int>(kStep) + row;
      row_addend[m][h] = K::Addend(first_row + row < params.queries ? addend : static_cast<int>(K::kNoRow));
    }
  }
#pragma unroll 1
  for (int window = first; window < end; window += kWindow) {
    uint32_t row_best[kRowTiles][2], row_second[kRowTiles][2];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) row_best[m][h] = row_second[m][h] = K::kLargest * kBoth;
    }
    const int window_end = Min(window + kWindow, end);
#pragma unroll 1
    for (int group = window; group < window_end; group += kColumnGroup) {
      const auto group_tile = static_cast<uint32_t>((group - window) / kTileColumns);
      uint32_t least[kGroupTiles];
      if (group + kColumnGroup <= end) {
        CompareGroup<kIndexBits, kSecond, kCrossCheck, true>(a, row_addend, trains, group, end, group_tile, row_best,
                                                             row_second, least);
      } else {
        CompareGroup<kIndexBits, kSecond, kCrossCheck, false>(a, row_addend, trains, group, end, group_tile, row_best,
                                                              row_second, least);
      }
      if (!kCrossCheck) continue;
      const uint32_t of_tile = LeastOfTiles<kIndexBits>(least);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int column = group + 2 * lane + half;  // tile g, columns 2 t and 2 t + 1 of it
        const uint32_t key = (half == 0 ? of_tile & 0xffff : of_tile >> 16) - (group_tile + g);
        if (column >= end || key >= (kBits + 1) * kStep) continue;
        const int row = first_row + static_cast<int>(key & (kStep - 1));
        atomicMin(&best_query[column - first], MatchKey(static_cast<int>(key >> kIndexBits), row));
      }
    }
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          Insert<kSecond>(Widen<kIndexBits>(row_best[m][h], half, window + 2 * t), &best[m][h], &second[m][h]);
          if (kSecond)
            Insert<true>(Widen<kIndexBits>(row_second[m][h], half, window + 2 * t), &best[m][h], &second[m][h]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      uint32_t one = best[m][h], two = second[m][h];
#pragma unroll
      for (int step = 1; step < 4; step *= 2) {
        const uint32_t other_one = __shfl_xor_sync(kFullWarp, one, step);
        const uint32_t other_two = __shfl_xor_sync(kFullWarp, two, step);
        if (kSecond) two = min(max(one, other_one), min(two, other_two));
        one = min(one, other_one);
      }
      const int row = 16 * m + 8 * h + g;
      if (t != (2 * m + h) % 4 || first_row + row >= params.queries) continue;
      // The query's bits, which the keys lack, and 256, which they have too much.
      const int missing = (static_cast<int16_t>(row_addend[m][h] & 0xffff) - row) / static_cast<int>(kStep);
      const uint32_t addend = static_cast<uint32_t>(missing) << cuda::kIndexBits;
      const size_t at = static_cast<size_t>(blockIdx.y) * params.queries + first_row + row;
      one = one == kNoKey ? kNoKey : one + addend;
      two = two == kNoKey ? kNoKey : two + addend;
      if (kSecond) {
        reinterpret_cast<uint2*>(params.partials)[at] = make_uint2(one, two);
      } else {
        params.partials[at] = one;
      }
    }
  }
  if (!kCrossCheck) return;
  __syncthreads();
  uint32_t* best_queries =
      params.best_queries + static_cast<size_t>(params.state->buffer) * params.best_queries_stride + first;
  for (int i = threadIdx.x; i < end - first; i += kThreads) {
    if (best_query[i] != kNoKey) atomicMin(&best_queries[i], best_query[i]);
  }
}

template <int kIndexBits, bool kSecond>
const void* KernelFor(bool cross_check) {
  return cross_check ? reinterpret_cast<const void*>(&FindPairsKernel<kIndexBits, kSecond, true>)
                     : reinterpret_cast<const void*>(&FindPairsKernel<kIndexBits, kSecond, false>);
}
template <int kIndexBits>
const void* KernelFor(bool second, bool cross_check) {
  return second ? KernelFor<kIndexBits, true>(cross_check) : KernelFor<kIndexBits, false>(cross_check);
}

}  // namespace

absl::Status FindPairsByTensorCores(StreamView stream, const MatchParams& params) {
  const MatchPlan& plan = params.plan;
  const bool cross_check = params.options.cross_check;
  const int rows = kWarps << plan.index_bits;  // of a block
  KernelLaunch launch;
  launch.kernel =
      plan.index_bits == 6 ? KernelFor<6>(plan.keep > 1, cross_check) : KernelFor<5>(plan.keep > 1, cross_check);
  launch.block = dim3(kThreads);
  launch.grid = dim3((params.queries + rows - 1) / rows, plan.splits);
  launch.shared_bytes = cross_check ? plan.columns_per_split * sizeof(uint32_t) : 0;
  void* arguments[] = {const_cast<MatchParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching matching by tensor cores");
}

}  // namespace glint::cuda
