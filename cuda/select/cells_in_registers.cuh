// The cells of an image as rank_in_registers.cu ranks them: as numbers, in registers.
#ifndef GLINT_CUDA_SELECT_CELLS_IN_REGISTERS_CUH_
#define GLINT_CUDA_SELECT_CELLS_IN_REGISTERS_CUH_

#include "cuda/common/append.cuh"

namespace glint::cuda {

inline constexpr int kRegisterBins = 1 << kRegisterBinBits;

// The numbers' bits: from the lowest on, of the cell's rank, of the row, of the score and of the level. What is larger
// is earlier in the output. 0: an empty cell.
struct CellKeys {
  int column_bits;
  int row_bits;
  int score_bits;
  int level_bits;
  uint32_t column_reciprocal;  // CellReciprocal() of the cells in a row

  GLINT_HD int Bits() const { return column_bits + row_bits + score_bits + level_bits; }
  // What is earlier has lower bins.
  __device__ __forceinline__ uint32_t BinOf(uint32_t key) const {
    return kRegisterBins - 1 - (key >> (Bits() - kRegisterBinBits));
  }
  __device__ __forceinline__ uint32_t FirstBin(int level, int levels) const {
    return kRegisterBins - (static_cast<uint32_t>(levels - level) << (kRegisterBinBits - level_bits));
  }
};

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

  __device__ __forceinline__ void FindKeys(int levels, const SelectionParams& params, const CellKeys& keys) {
    const auto key_of = [&](uint32_t low, uint32_t high, uint32_t column) {
      const uint32_t position = ~low;
      const auto level = static_cast<uint32_t>(levels - 1 - LevelOf(position));
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

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_CELLS_IN_REGISTERS_CUH_
