// What becomes of a corner: whether it is a maximum and unmasked, and its cell.
#ifndef GLINT_CUDA_SELECT_CELLS_CUH_
#define GLINT_CUDA_SELECT_CELLS_CUH_

#include <cstddef>

#include "cuda/common/append.cuh"
#include "cuda/common/suppression.cuh"

namespace glint::cuda {

__device__ __forceinline__ bool IsUnmasked(const Frame& frame, const SelectionParams& params, const Level& level, int x,
                                           int y) {
  if (level.mask == nullptr) return true;
  if (params.pyramid == Pyramid::kCascaded) return level.mask[static_cast<size_t>(y) * level.pitch + x] != 0;
  const Level& image = frame.level[0];
  const int image_y = ImagePosition(y, level.scale, image.height);
  return image.mask[static_cast<size_t>(image_y) * image.pitch + ImagePosition(x, level.scale, image.width)] != 0;
}

template <int kPitch, typename Response>
__device__ __forceinline__ bool IsMaximum(const Response* own, int radius) {
  if (radius == 1) return IsMaximum<kPitch>(own);
  Response neighbours = Response{0};
#pragma unroll 1
  for (int v = -radius; v <= radius; ++v) {
#pragma unroll 1
    for (int u = -radius; u <= radius; ++u) {
      if (u != 0 || v != 0) neighbours = max(neighbours, own[v * kPitch + u]);
    }
  }
  return *own > neighbours;
}

__device__ __forceinline__ int DivideByCell(int at, uint32_t reciprocal) {
  return reciprocal == 0 ? at : static_cast<int>(__umulhi(static_cast<uint32_t>(at), reciprocal));
}

// Of a cell: its number in its row and in its column, for pixels of level `l`.
__device__ __forceinline__ int CellColumn(const Frame& frame, const SelectionParams& params, int l, int x) {
  if (l > 0 && params.output == CornerOutput::kImageCells)
    x = ImagePosition(x, frame.level[l].scale, frame.level[0].width);
  return DivideByCell(x, params.level[l].cell_width_reciprocal);
}
__device__ __forceinline__ int CellRow(const Frame& frame, const SelectionParams& params, int l, int y) {
  if (l > 0 && params.output == CornerOutput::kImageCells)
    y = ImagePosition(y, frame.level[l].scale, frame.level[0].height);
  return DivideByCell(y, params.level[l].cell_height_reciprocal);
}

__device__ __forceinline__ uint32_t CellAt(const Frame& frame, const SelectionParams& params, int l, int x, int y) {
  const LevelParams& cells = params.level[l];
  return static_cast<uint32_t>(cells.first_cell + CellRow(frame, params, l, y) * cells.cells_x +
                               CellColumn(frame, params, l, x));
}

// Offers a corner to its cell.
__device__ __forceinline__ void UpdateCellMax(const Frame& frame, const SelectionParams& params, uint64_t* cells, int l,
                                              int x, int y, uint32_t raw) {
  AtomicMax(&cells[CellAt(frame, params, l, x, y)], CellEntry(PackPosition(l, x, y), raw));
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_CELLS_CUH_
