// From the image's cells to the result, in one launch, where there are not too many for that, all of them stay and no
// angles are asked for. Cells are told apart by numbers of 32 bits that order them without ties: level, score, row and,
// as a row's corners of one level are in different cells of one row of cells, the cell's rank in it.
//
// Each block has all cells in registers. It counts them by the numbers' leading bits (bins), sums up, and takes those
// of its range of ranks: the bins that begin there, a handful of entries, which are compared with each other and
// written together. If very many tie for a bin, each block compares a share of the cells with all of them instead.
//
// Shared memory 12 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/common/sort_key.cuh"
#include "cuda/select/cells_in_registers.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kRegisterRankThreads;
constexpr int kWarps = kThreads / kWarp;
constexpr int kOwnBins = kRegisterBins / kThreads;  // of a thread
static_assert(kOwnBins == 2 && kWarps == kWarp);
constexpr uint32_t kShare = kRegisterRankShare;  // ranks of a block, or cells
constexpr uint32_t kLargestBin = 128;            // else all are compared
constexpr uint32_t kMostListed = kShare + kLargestBin;
constexpr uint32_t kCompareLanes = 8;  // that compare an entry with what is listed

struct Memory {
  alignas(16) uint32_t before[kRegisterBins];  // entries in the bin, then in those before it
  // Of what is listed, or of the block's cells.
  uint32_t key[kMostListed];
  uint64_t entry[kMostListed];
  union {
    uint64_t sorted[kMostListed];
    uint32_t greater[kShare];
  };
  uint32_t listed;
  uint32_t first;  // place of what is listed
  uint32_t warp_sum[kWarps];
  uint32_t total;
  bool has_large;  // bins of more than kLargestBin entries
};

// memory.before from counts to sums. `begin`: the first of the block's ranks. All threads must call.
__device__ __forceinline__ void SumBins(uint32_t begin, Memory& memory) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  auto* own = reinterpret_cast<uint2*>(&memory.before[kOwnBins * threadIdx.x]);
  const uint2 count = *own;
  if (max(count.x, count.y) > kLargestBin) memory.has_large = true;
  const uint32_t sum = SumUpTo(count.x + count.y);
  if (lane == kWarp - 1) memory.warp_sum[warp] = sum;
  __syncthreads();
  const auto of_warp = static_cast<int>(memory.warp_sum[lane]);
  const uint32_t end = static_cast<uint32_t>(WarpSum(lane < warp ? of_warp : 0)) + sum;
  const uint32_t second = end - count.y;
  const uint32_t first = second - count.x;
  *own = make_uint2(first, second);
  if (count.x != 0 && first - begin < kShare) atomicMin(&memory.first, first);
  if (count.y != 0 && second - begin < kShare) atomicMin(&memory.first, second);
  if (threadIdx.x == kThreads - 1) memory.total = end;
}

// `rank`: in the order of all levels.
__device__ __forceinline__ void Write(const Frame& frame, const SelectionParams& params, const CellKeys& keys,
                                      const Memory& memory, uint64_t entry, uint32_t rank) {
  const uint32_t position = PositionOf(entry);
  const int l = LevelOf(position);
  const Level& level = frame.level[l];
  if (l > 0) rank -= memory.before[keys.FirstBin(l, frame.levels)];
  if (rank >= static_cast<uint32_t>(level.ranked_capacity)) return;
  const uint4 record = {position, KeyOf(params, RawOf(entry)), __float_as_uint(-1.0f), 0};
  *reinterpret_cast<uint4*>(&level.result[rank]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[rank]) = record;
}

// All threads must call.
template <int kPairs>
__device__ __forceinline__ void FillRanks(const Frame& frame, const SelectionParams& params, const CellKeys& keys,
                                          const RegisterCells<kPairs>& own, uint32_t begin, Memory& memory) {
  own.ForEach([&](uint32_t key, uint64_t entry, uint32_t) {
    if (memory.before[keys.BinOf(key)] - begin >= kShare) return;
    const uint32_t at = atomicAdd(&memory.listed, 1u);
    memory.key[at] = key;
    memory.entry[at] = entry;
  });
  __syncthreads();
  const uint32_t listed = memory.listed;
  const uint32_t part = threadIdx.x % kCompareLanes;
  constexpr uint32_t kWarpEntries = kWarp / kCompareLanes;
#pragma unroll 1
  for (uint32_t of_warp = threadIdx.x / kWarp * kWarpEntries; of_warp < listed; of_warp += kWarps * kWarpEntries) {
    const uint32_t i = of_warp + threadIdx.x % kWarp / kCompareLanes;
    const uint32_t key = memory.key[i];
    uint32_t greater = 0;
#pragma unroll 4
    for (uint32_t k = part; k < listed; k += kCompareLanes) greater += memory.key[k] > key ? 1 : 0;
#pragma unroll
    for (uint32_t step = 1; step < kCompareLanes; step *= 2) greater += __shfl_xor_sync(kFullWarp, greater, step);
    if (part == 0 && i < listed) memory.sorted[greater] = memory.entry[i];
  }
  __syncthreads();
  if (threadIdx.x < listed) {
    Write(frame, params, keys, memory, memory.sorted[threadIdx.x], memory.first + threadIdx.x);
  }
}

// Where entries of a bin are very many. All threads must call.
template <int kPairs>
__device__ __forceinline__ void CompareAll(const Frame& frame, const SelectionParams& params, const CellKeys& keys,
                                           const RegisterCells<kPairs>& own, uint32_t begin, Memory& memory) {
  if (threadIdx.x < kShare) memory.greater[threadIdx.x] = 0;
  own.ForEach([&](uint32_t key, uint64_t entry, uint32_t cell) {
    if (cell - begin >= kShare) return;
    memory.key[cell - begin] = key;
    memory.entry[cell - begin] = entry;
  });
  __syncthreads();
#pragma unroll 1
  for (uint32_t i = 0; i < kShare; ++i) {
    if (memory.key[i] == 0) continue;
    const int greater = WarpSum(own.CountGreater(memory.key[i]));
    if (threadIdx.x % kWarp == 0 && greater > 0) atomicAdd(&memory.greater[i], static_cast<uint32_t>(greater));
  }
  __syncthreads();
  const uint32_t i = threadIdx.x;
  if (i < kShare && memory.key[i] != 0) Write(frame, params, keys, memory, memory.entry[i], memory.greater[i]);
}

template <int kPairs>
__global__ void __launch_bounds__(kThreads)
    RankInRegistersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params,
                          GLINT_KERNEL_ARGUMENT CellKeys keys) {
  __shared__ Memory memory;
  AllowSuccessor();
  *reinterpret_cast<uint2*>(&memory.before[kOwnBins * threadIdx.x]) = make_uint2(0, 0);
  if (threadIdx.x < kMostListed) memory.key[threadIdx.x] = 0;  // no entry
  if (threadIdx.x == 0) {
    memory.listed = 0;
    memory.first = ~0u;
    memory.has_large = false;
  }
  // It becomes the frame's buffer, and is changed no earlier than at the ranking's end: most likely the cells need not
  // wait for the number that says whose they are.
  uint32_t buffer = __ldcg(&params.counters->next_buffer);
  __syncthreads();
  WaitForPredecessor();
  RegisterCells<kPairs> own;
  for (;;) {
    const uint32_t now = __ldcg(&params.counters->buffer);
    own.Load(params, buffer);
    if (now == buffer) break;
    buffer = now;
  }
  own.FindKeys(frame.levels, params, keys);
  own.ForEach([&](uint32_t key, uint64_t, uint32_t) { atomicAdd(&memory.before[keys.BinOf(key)], 1u); });
  __syncthreads();
  const uint32_t begin = blockIdx.x * kShare;
  SumBins(begin, memory);
  __syncthreads();
  if (!memory.has_large) {
    FillRanks(frame, params, keys, own, begin, memory);
  } else {
    CompareAll(frame, params, keys, own, begin, memory);
  }
  if (blockIdx.x != 0) return;
  const auto l = static_cast<int>(threadIdx.x);
  if (l < frame.levels) {
    const uint32_t from = l > 0 ? memory.before[keys.FirstBin(l, frame.levels)] : 0;
    const uint32_t to = l + 1 < frame.levels ? memory.before[keys.FirstBin(l + 1, frame.levels)] : memory.total;
    frame.counters->kept[l] = to - from;
    frame.result->kept[l] = to - from;
  }
  if (threadIdx.x == 0) params.counters->next_buffer = buffer ^ 1;
}

CellKeys KeysOf(const Frame& frame, const SelectionParams& params) {
  const int cells_x = params.level[0].cells_x;
  return {BitsBelow(cells_x), BitsBelow(frame.level[0].height), ScoreBits(params.score), BitsBelow(frame.levels),
          CellReciprocal(cells_x)};
}

}  // namespace

absl::Status RankInRegisters(StreamView stream, const Launch& launch, const Frame& frame,
                             const SelectionParams& params) {
  const auto kernel = launch.cell_pairs == 1   ? RankInRegistersKernel<1>
                      : launch.cell_pairs == 2 ? RankInRegistersKernel<2>
                                               : RankInRegistersKernel<kMostRegisterPairs>;
  return Enqueue(stream, launch, kernel, frame, params, KeysOf(frame, params));
}

}  // namespace glint::cuda
