// From the image's cells to the result, in one launch, where there are not too many for that, all of them stay and no
// angles are asked for. Cells are told apart by numbers of 32 bits that order them without ties: level, score, row and,
// as a row's corners of one level are in different cells of one row of cells, the cell's rank in it.
//
// Each block has all cells in registers. It counts them by the numbers' leading bits (bins), sums up, and takes those
// of its range of ranks: the bins that begin there, a handful of entries, which are compared with each other and
// written together. If very many tie for a bin, each block compares a share of the cells with all of them instead,
// which takes 4 us less than rank_ties.cuh does.
//
// Shared memory 12 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/select/fill_ranks.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kRegisterBins = 1 << kRegisterBinBits;

// The numbers' bits: from the lowest on, of the cell's rank, of the row, of the score and of the level. What is larger
// is earlier in the output. 0: an empty cell.
struct CellKeys {
  int levels;
  int column_bits;
  int row_bits;
  int score_bits;
  int level_bits;
  uint32_t column_reciprocal;  // CellReciprocal() of the cells in a row

  GLINT_HD int Bits() const { return column_bits + row_bits + score_bits + level_bits; }
  // Best first.
  __device__ __forceinline__ int BinOf(uint32_t key) const {
    return kRegisterBins - 1 - static_cast<int>(key >> (Bits() - kRegisterBinBits));
  }
  __device__ __forceinline__ int FirstBin(int level) const {
    return kRegisterBins - ((levels - level) << (kRegisterBinBits - level_bits));
  }
};

__device__ __forceinline__ Candidate CornerOfCell(const SelectionParams& params, uint64_t entry) {
  return {PositionOf(entry), KeyOf(params, RawOf(entry))};
}

// A thread's share of the cells.
template <int kPairs>
class RegisterCells {
 public:
  __device__ __forceinline__ void Load(const SelectionParams& params, uint32_t buffer) {
    const auto* pairs = reinterpret_cast<const uint4*>(params.cells + buffer * params.cell_count);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const uint32_t at = threadIdx.x + i * kRegisterRankThreads;
      pair_[i] = at < params.cell_count / 2 ? __ldcg(&pairs[at]) : make_uint4(0, 0, 0, 0);
    }
  }

  __device__ __forceinline__ void FindKeys(const SelectionParams& params, const CellKeys& keys) {
    const auto key_of = [&](uint32_t low, uint32_t high, uint32_t column) {
      const uint32_t position = ~low;
      const auto level = static_cast<uint32_t>(keys.levels - 1 - LevelOf(position));
      const uint32_t row = (1u << keys.row_bits) - 1 - static_cast<uint32_t>(YOf(position));
      const uint32_t from_right = (1u << keys.column_bits) - 1 - column;
      const uint32_t key = ((level << keys.score_bits | high) << keys.row_bits | row) << keys.column_bits | from_right;
      return high != 0 ? key : 0;
    };
    const auto cells_x = static_cast<uint32_t>(params.level[0].cells_x);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const uint32_t cell = 2 * (threadIdx.x + i * kRegisterRankThreads);
      const uint32_t above = keys.column_reciprocal == 0 ? cell : __umulhi(cell, keys.column_reciprocal);
      const uint32_t column = cell - above * cells_x;
      key_[2 * i] = key_of(pair_[i].x, pair_[i].y, column);
      key_[2 * i + 1] = key_of(pair_[i].z, pair_[i].w, column + 1 < cells_x ? column + 1 : 0);
    }
  }

  // Calls f(key, entry, cell) for those that are not empty.
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const uint32_t cell = 2 * (threadIdx.x + i * kRegisterRankThreads);
      if (key_[2 * i] != 0) f(key_[2 * i], static_cast<uint64_t>(pair_[i].y) << 32 | pair_[i].x, cell);
      if (key_[2 * i + 1] != 0) f(key_[2 * i + 1], static_cast<uint64_t>(pair_[i].w) << 32 | pair_[i].z, cell + 1);
    }
  }

  __device__ __forceinline__ int CountGreater(uint32_t key) const {
    int greater = 0;
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) greater += key_[i] > key ? 1 : 0;
    return greater;
  }

 private:
  uint4 pair_[kPairs];
  uint32_t key_[2 * kPairs];
};

constexpr int kThreads = kRegisterRankThreads;
constexpr uint32_t kShare = kRegisterRankShare;  // ranks of a block, or cells
constexpr uint32_t kLargestBin = 128;            // else all are compared
constexpr uint32_t kMostListed = kShare + kLargestBin;
constexpr int kCompareLanes = 8;  // that compare an entry with what is listed

struct RegisterMemory {
  BinSums<kRegisterBins> bins;
  // Of what is listed, or of the block's cells.
  uint32_t key[kMostListed];
  uint64_t entry[kMostListed];
  union {
    uint64_t sorted[kMostListed];
    uint32_t greater[kShare];
  };
  uint32_t listed;
  bool has_large;  // bins of more than kLargestBin entries
};

// All threads must call.
template <int kPairs>
__device__ __forceinline__ void FillRanks(const Frame& frame, const SelectionParams& params, const CellKeys& keys,
                                          const RegisterCells<kPairs>& own, RegisterMemory& memory) {
  const uint32_t begin = blockIdx.x * kShare;
  if (begin < memory.bins.total()) memory.bins.FindRange<kThreads>(begin, begin + kShare, kLargestBin);
  __syncthreads();
  const RankRange range = memory.bins.range;
  own.ForEach([&](uint32_t key, uint64_t entry, uint32_t) {
    const int bin = keys.BinOf(key);
    if (bin < range.low || bin > range.high) return;
    const uint32_t at = atomicAdd(&memory.listed, 1u);
    memory.key[at] = key;
    memory.entry[at] = entry;
  });
  __syncthreads();
  const uint32_t listed = memory.listed;
  constexpr uint32_t kAtOnce = kThreads / kCompareLanes;
#pragma unroll 1
  for (uint32_t of_warp = threadIdx.x / kWarp * (kWarp / kCompareLanes); of_warp < listed; of_warp += kAtOnce) {
    const uint32_t i = of_warp + threadIdx.x % kWarp / kCompareLanes;
    const uint32_t greater = CountGreater<kCompareLanes>(memory.key, 0, listed, memory.key[i]);
    if (threadIdx.x % kCompareLanes == 0 && i < listed) memory.sorted[greater] = memory.entry[i];
  }
  __syncthreads();
  if (threadIdx.x >= listed) return;
  const Candidate c = CornerOfCell(params, memory.sorted[threadIdx.x]);
  Write(frame, keys, memory.bins, c, range.first + threadIdx.x, -1.0f);
}

// Where entries of a bin are very many. All threads must call.
template <int kPairs>
__device__ __forceinline__ void CompareAll(const Frame& frame, const SelectionParams& params, const CellKeys& keys,
                                           const RegisterCells<kPairs>& own, RegisterMemory& memory) {
  const uint32_t begin = blockIdx.x * kShare;
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
  if (i >= kShare || memory.key[i] == 0) return;
  Write(frame, keys, memory.bins, CornerOfCell(params, memory.entry[i]), memory.greater[i], -1.0f);
}

template <int kPairs>
__global__ void __launch_bounds__(kThreads)
    RankInRegistersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params,
                          GLINT_KERNEL_ARGUMENT CellKeys keys) {
  __shared__ RegisterMemory memory;
  AllowSuccessor();
  memory.bins.Clear<kThreads>();
  if (threadIdx.x < kMostListed) memory.key[threadIdx.x] = 0;  // no entry
  if (threadIdx.x == 0) {
    memory.listed = 0;
    memory.bins.range = {0, -1, 0, 0};
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
  own.FindKeys(params, keys);
  own.ForEach([&](uint32_t key, uint64_t, uint32_t) { atomicAdd(&memory.bins.begin[keys.BinOf(key)], 1u); });
  __syncthreads();
  if (memory.bins.Sum<kThreads>(kLargestBin)) memory.has_large = true;
  __syncthreads();
  if (!memory.has_large) {
    FillRanks(frame, params, keys, own, memory);
  } else {
    CompareAll(frame, params, keys, own, memory);
  }
  if (blockIdx.x != 0) return;
  WriteKept(frame, keys, memory.bins);
  if (threadIdx.x == 0) params.counters->next_buffer = buffer ^ 1;
}

CellKeys KeysOf(const Frame& frame, const SelectionParams& params) {
  const int cells_x = params.level[0].cells_x;
  return {frame.levels,
          BitsBelow(cells_x),
          BitsBelow(frame.level[0].height),
          ScoreBits(params.score),
          BitsBelow(frame.levels),
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
