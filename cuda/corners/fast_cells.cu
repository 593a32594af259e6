// Corners of all levels for Selection::kQuadtree, in one launch: FAST in cells at two thresholds, each cell as if
// nothing were around its rings.
//
// A block takes a tile: whole cells side by side, up to 125 columns, and their rows. Its warps test four rows each, a
// lane four neighbouring pixels (fast.cuh), and share what is to score. Suppression sees the pixel's own cell alone.
//
// One search does for both thresholds: of a corner that the greater one finds, a neighbour that only the lesser one
// finds has a lower score. What is left at the lesser threshold, if it reaches the greater one, is what that leaves; a
// cell with any such corner has no others.
//
// Corners go to their level's list, and are counted by the quadtree's bins.
#include "cuda/common/append.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/common/suppression.cuh"
#include "cuda/corners/strip.cuh"
#include "cuda/select/quadtree_rounds.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Where things are in a block's shared memory, CellTileBytes() for its warps.
struct CellTileMemory {
  uint8_t* pixels;    // rows of kPitch, from kFastRadius above the tile on
  uint8_t* response;  // rows of kTestedColumns, from the one above the tile on; 0: not a corner
  uint16_t* list;     // warp << 10 | column << 3 | row of the warp's
  int* listed;
  uint32_t* reached;  // bit of each cell that has a corner at the greater threshold

  __device__ __forceinline__ CellTileMemory(uint8_t* memory, int warps) {
    const int rows = warps * kCellTileWarpRows;
    pixels = memory;
    response = pixels + (rows + 2 * kFastRadius) * kPitch;
    list = reinterpret_cast<uint16_t*>(response + (rows + 2) * kTestedColumns);
    listed = reinterpret_cast<int*>(list + rows * kTestedColumns);
    reached = reinterpret_cast<uint32_t*>(listed + 1);
  }
};

// All methods are called by all threads of the block together.
class CellSearch {
 public:
  __device__ __forceinline__ CellSearch(const Frame& frame, const QuadtreeParams& params, int l, int tile,
                                        uint8_t* memory)
      : counters_(*frame.counters),
        params_(params),
        level_(frame.level[l]),
        tree_(params.level[l]),
        l_(l),
        lane_(threadIdx.x % kWarp),
        warp_(threadIdx.x / kWarp),
        warps_(blockDim.x / kWarp),
        memory_(memory, warps_) {
    cell_x_ = tile % tree_.tiles_x * tree_.tile_cells;
    cell_y_ = tile / tree_.tiles_x;
    left_ = kQuadtreeEdge + cell_x_ * tree_.across.cell;
    top_ = kQuadtreeEdge + cell_y_ * tree_.down.cell;
    width_ = Min(tree_.tile_cells * tree_.across.cell, level_.width - kQuadtreeEdge - left_);
    height_ = Min(tree_.down.cell, level_.height - kQuadtreeEdge - top_);
    x0_ = left_ & ~3;
    loaded_x_ = (x0_ - 4) & ~(kVector - 1);
  }

  __device__ __forceinline__ void Run() {
    Load();
    List(Test());
    __syncthreads();
    const int listed = *memory_.listed;
    if (listed == 0) return;
    const int corners = Score(listed);
    __syncthreads();
    const int maxima = Suppress(corners);
    __syncthreads();
    Append(maxima);
  }

 private:
  // Until pixels are there and no responses.
  __device__ __forceinline__ void Load() {
    const int vectors = (height_ + 2 * kFastRadius) * kRowVectors;
    for (int k = threadIdx.x; k < vectors; k += blockDim.x) {
      const int row = k / kRowVectors;
      const int vector = k - row * kRowVectors;
      const int y = top_ - kFastRadius + row;
      const int x = Clamp(loaded_x_ + vector * kVector, 0, level_.pitch - kVector);
      CopyAsync16(memory_.pixels + row * kPitch + vector * kVector,
                  level_.image + static_cast<size_t>(y) * level_.pitch + x);
    }
    auto* responses = reinterpret_cast<uint4*>(memory_.response);
    const int zeros = (warps_ * kCellTileWarpRows + 2) * kTestedColumns / static_cast<int>(sizeof(uint4));
    for (int i = threadIdx.x; i < zeros; i += blockDim.x) responses[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x == 0) {
      *memory_.listed = 0;
      *memory_.reached = 0;
    }
    WaitForCopies();
    __syncthreads();
  }

  // Bit r of byte i: the lane's i-th pixel of the warp's row r may be a corner.
  __device__ __forceinline__ uint32_t Test() const {
    const uint32_t margin = CompassMargin(params_.min_threshold);
    const int first_row = warp_ * kCellTileWarpRows;
    const uint8_t* own = memory_.pixels + (first_row + kFastRadius) * kPitch + x0_ - loaded_x_ + 4 * lane_;
    Window window;
#pragma unroll
    for (int j = -kFastRadius; j < kFastRadius; ++j) window.Load(j + kFastRadius, own + j * kPitch);
    uint32_t marks = 0;
#pragma unroll
    for (int r = 0; r < kCellTileWarpRows; ++r) {
      window.Load((r + 2 * kFastRadius) % kStep, own + (r + kFastRadius) * kPitch);
      const uint32_t passed = window.Test((r + kFastRadius) % kStep, margin);
      marks |= (passed & kTopBits) >> (7 - r);
    }
    return marks & ColumnMask(x0_ + lane_ * 4, left_, left_ + width_) & RowMask(first_row, 0, height_);
  }

  __device__ __forceinline__ void List(uint32_t marks) {
    if (!__any_sync(kFullWarp, marks != 0)) return;
    const int up_to = SumUpTo(__popc(marks));
    int first = 0;
    if (lane_ == kWarp - 1) first = atomicAdd(memory_.listed, up_to);
    first = __shfl_sync(kFullWarp, first, kWarp - 1);
    uint16_t* to = memory_.list + first + up_to - __popc(marks);
    const int of_lane = static_cast<int>(threadIdx.x) << 5;
    while (marks != 0) {
      const int bit = __ffs(static_cast<int>(marks)) - 1;
      marks &= marks - 1;
      *to++ = static_cast<uint16_t>(of_lane + bit);
    }
  }

  // The warps take a full warp's entries of the list each, one warp after the other. Into the entries that a warp has
  // taken goes what it keeps, one after the other: its i-th is there.
  __device__ __forceinline__ int IndexOf(int i) const { return (i / kWarp * warps_ + warp_) * kWarp + i % kWarp; }

  // Of the warp's `count` entries, keeps those for which keep(entry, exists); how many.
  template <typename Keep>
  __device__ __forceinline__ int Filter(int count, Keep keep) {
    int kept = 0;
    for (int first = 0; first < count; first += kWarp) {
      const int entry = memory_.list[IndexOf(Min(first + lane_, count - 1))];
      __syncwarp();  // read by all before the first is written to their place
      const bool keeps = keep(entry, first + lane_ < count);
      const unsigned lanes = __ballot_sync(kFullWarp, keeps);
      if (keeps) memory_.list[IndexOf(kept + LanesBelow(lanes))] = static_cast<uint16_t>(entry);
      kept += __popc(lanes);
    }
    __syncwarp();
    return kept;
  }

  // Finds the corners among what is listed, and writes their responses; how many this warp has found.
  __device__ __forceinline__ int Score(int listed) {
    // Of the list, what this warp has: whole warps' entries but for the last.
    const int whole = listed / kWarp;
    const int mine =
        (whole / warps_ + (warp_ < whole % warps_ ? 1 : 0)) * kWarp + (whole % warps_ == warp_ ? listed % kWarp : 0);
    return Filter(mine, [&](int entry, bool exists) {
      const int score = PackedFastScore<kMinArcLength, kPitch>(PixelAt(entry));
      const bool is_corner = exists && score >= params_.min_threshold;
      if (is_corner) *ResponseAt(entry) = static_cast<uint8_t>(score);
      return is_corner;
    });
  }

  // Leaves maxima; how many of this warp's corners are.
  __device__ __forceinline__ int Suppress(int corners) {
    return Filter(corners, [&](int entry, bool exists) {
      if (!exists) return false;
      const CellColumn column = CellOf(entry);
      const uint8_t* const own = ResponseAt(entry);
      int neighbours = 0;
#pragma unroll
      for (int v = -1; v <= 1; ++v) {
        const uint8_t* const row = own + v * kTestedColumns;
        if (v != 0) neighbours = Max(neighbours, row[0]);
        if (column.x > 0) neighbours = Max(neighbours, row[-1]);
        if (column.x + 1 < tree_.across.cell) neighbours = Max(neighbours, row[1]);
      }
      const int score = *own;
      if (score <= neighbours) return false;
      if (score >= params_.ini_threshold) atomicOr(memory_.reached, 1u << column.cell);
      return true;
    });
  }

  // Of maxima, those that their cells and the mask leave to the level's list.
  __device__ __forceinline__ void Append(int maxima) {
    const uint32_t reached = *memory_.reached;
    const int count = Filter(maxima, [&](int entry, bool exists) {
      if (!exists) return false;
      if (*ResponseAt(entry) < params_.ini_threshold && (reached >> CellOf(entry).cell & 1) != 0) return false;
      if (level_.mask == nullptr) return true;
      const int y = top_ + RowOf(entry);
      return level_.mask[static_cast<size_t>(y) * level_.pitch + x0_ + ColumnOf(entry)] != 0;
    });
    if (count == 0) return;
    uint32_t base = 0;
    if (lane_ == 0) base = atomicAdd(&counters_.found[l_], static_cast<uint32_t>(count));
    base = __shfl_sync(kFullWarp, base, 0);
    for (int i = lane_; i < count; i += kWarp) {
      const int entry = memory_.list[IndexOf(i)];
      const CellColumn column = CellOf(entry);
      const uint32_t place = PackPlace(cell_x_ + column.cell, cell_y_, column.x, RowOf(entry));
      const uint32_t bin = QuadtreeBinOf(tree_, PlaceX(place, tree_.across.cell), PlaceY(place, tree_.down.cell));
      tree_.found[base + i] = {place, bin << 8 | *ResponseAt(entry)};
      atomicAdd(&counters_.histogram[l_][bin], 1u);
    }
  }

  // Of an entry of the list: its row of the tile, its column of those tested.
  __device__ __forceinline__ static int RowOf(int entry) { return (entry >> 10) * kCellTileWarpRows + (entry & 7); }
  __device__ __forceinline__ static int ColumnOf(int entry) { return entry >> 3 & (kTestedColumns - 1); }
  struct CellColumn {
    int cell;  // of the tile
    int x;     // in it
  };
  __device__ __forceinline__ CellColumn CellOf(int entry) const {
    const int column = ColumnOf(entry) - (left_ - x0_);
    const int cell = column / tree_.across.cell;
    return {cell, column - cell * tree_.across.cell};
  }
  __device__ __forceinline__ const uint8_t* PixelAt(int entry) const {
    return memory_.pixels + (RowOf(entry) + kFastRadius) * kPitch + x0_ - loaded_x_ + ColumnOf(entry);
  }
  __device__ __forceinline__ uint8_t* ResponseAt(int entry) const {
    return memory_.response + (RowOf(entry) + 1) * kTestedColumns + ColumnOf(entry);
  }

  Counters& counters_;
  const QuadtreeParams& params_;
  const Level& level_;
  const QuadtreeLevel& tree_;
  const int l_;
  const int lane_;
  const int warp_;
  const int warps_;
  const CellTileMemory memory_;
  int cell_x_, cell_y_;              // the tile's first cell
  int left_, top_, width_, height_;  // pixels of the level, centres
  int x0_;                           // leftmost column tested
  int loaded_x_;
};

__global__ void __launch_bounds__(kWarp* kMaxCellTileWarps)
    FindCellCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT QuadtreeParams params) {
  extern __shared__ __align__(16) uint8_t memory[];
  AllowSuccessor();
  ClearRankCounters(frame);
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_tile) ++l;
  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  if (params.level[l].tiles_x == 0) return;
  CellSearch(frame, params, l, static_cast<int>(blockIdx.x) - params.level[l].first_tile, memory).Run();
}

}  // namespace

absl::Status FindCellCorners(StreamView stream, const Launch& launch, const Frame& frame,
                             const QuadtreeParams& params) {
  return Enqueue(stream, launch, FindCellCornersKernel, frame, params);
}

}  // namespace glint::cuda
