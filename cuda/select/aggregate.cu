// Aggregation over levels (Kumar, Park, Behera 2023): the corners that the levels' cells kept, gathered by the pixel of
// the image that they fall on; a pixel survives if none of its window precedes it.
//
// Eight lanes, or two, take a cell. Where the corners of a level can be that fall into the window around this cell's
// corner, is known: most often in a single cell of the level. So each lane looks through a level or some, and the
// window's pixels gather in shared memory what it finds there; a pixel is owned for by its strongest corner. No
// order of any kind can be seen in the outcome, and nothing is kept from frame to frame.
#include "cuda/common/append.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/common/sort_key.cuh"
#include "cuda/select/bins.cuh"
#include "cuda/select/cells.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kAggregateThreads;
constexpr int kLanes = kAggregateLanes;
constexpr int kFewLanes = kAggregateFewLanes;
// Of a pixel's total: the number of its corners is above, the sum of their scores, of at most kMaxLevels * 4080, below.
constexpr int kTotalShift = 20;

// A level's cells, in shared memory because lanes look at different ones.
struct alignas(16) Grid {
  float scale, inverse_scale;
  int width, height;  // of the level
  int first_cell;
  int cells_x;
  uint32_t cell_width_reciprocal, cell_height_reciprocal;
};

// Pixels first to last of an axis.
struct Span {
  int first, last;

  __device__ __forceinline__ bool Has(int i) const {
    return static_cast<uint32_t>(i - first) <= static_cast<uint32_t>(last - first);
  }
};

// Pixels of a level that fall on pixels low..high of the image, and perhaps some beside them. `image`, `size`: how many
// there are in the image and in the level.
__device__ __forceinline__ Span PixelsOn(int low, int high, float inverse_scale, int image, int size) {
  // ImagePosition() rounds to the nearest: half a pixel of the image is left for errors.
  const int first = __float2int_rd(static_cast<float>(low - 1) * inverse_scale);
  const int last = __float2int_rd(static_cast<float>(high + 1) * inverse_scale);
  return {Clamp(first, 0, size - 1), high >= image - 1 ? size - 1 : Min(last, size - 1)};
}

// What a level has where its pixels fall into the window around a pixel of the image.
struct Look {
  Span across, down;    // pixels of the level
  int u_first, u_last;  // cells
  int v_first, v_last;
  uint64_t entry[4];  // of two by two cells; most often there is one
};

// `cells`: of the frame.
__device__ __forceinline__ void LoadEntries(const uint64_t* cells, const Grid& grid, int u, int v, Look& look) {
  const uint64_t* at = cells + grid.first_cell + v * grid.cells_x + u;
  const bool right = u < look.u_last;
  const bool below = v < look.v_last;
  look.entry[0] = at[0];
  look.entry[1] = right ? at[1] : 0;
  look.entry[2] = below ? at[grid.cells_x] : 0;
  look.entry[3] = right && below ? at[grid.cells_x + 1] : 0;
}

__device__ __forceinline__ Look LookAt(const Frame& frame, const Grid& grid, const uint64_t* cells, int x, int y,
                                       int reach) {
  const Level& image = frame.level[0];
  Look look;
  look.across = PixelsOn(x - reach, x + reach, grid.inverse_scale, image.width, grid.width);
  look.down = PixelsOn(y - reach, y + reach, grid.inverse_scale, image.height, grid.height);
  look.u_first = DivideByCell(look.across.first, grid.cell_width_reciprocal);
  look.u_last = DivideByCell(look.across.last, grid.cell_width_reciprocal);
  look.v_first = DivideByCell(look.down.first, grid.cell_height_reciprocal);
  look.v_last = DivideByCell(look.down.last, grid.cell_height_reciprocal);
  LoadEntries(cells, grid, look.u_first, look.v_first, look);
  return look;
}

// Gathers what is there into the window around pixel (x, y) of the image; returns the greatest entry on the pixel
// itself.
__device__ __forceinline__ uint64_t Gather(const Frame& frame, const Grid& grid, const uint64_t* cells, Look& look,
                                           int x, int y, int reach, uint32_t* window) {
  const Level& image = frame.level[0];
  const int side = 2 * reach + 1;
  uint64_t best = 0;
#pragma unroll 1
  for (int v = look.v_first; v <= look.v_last; v += 2) {
#pragma unroll 1
    for (int u = look.u_first; u <= look.u_last; u += 2) {
      if (u > look.u_first || v > look.v_first) LoadEntries(cells, grid, u, v, look);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (look.entry[i] == 0) continue;
        const int its_x = XOf(PositionOf(look.entry[i]));
        const int its_y = YOf(PositionOf(look.entry[i]));
        if (!look.across.Has(its_x) || !look.down.Has(its_y)) continue;
        const int dx = ImagePosition(its_x, grid.scale, image.width) - x + reach;
        const int dy = ImagePosition(its_y, grid.scale, image.height) - y + reach;
        if (static_cast<uint32_t>(dx) >= static_cast<uint32_t>(side) ||
            static_cast<uint32_t>(dy) >= static_cast<uint32_t>(side)) {
          continue;
        }
        atomicAdd(&window[dy * side + dx], (1u << kTotalShift) + RawOf(look.entry[i]));
        if (dx == reach && dy == reach) best = look.entry[i] > best ? look.entry[i] : best;
      }
    }
  }
  return best;
}

template <int kLanesPerCell>
__global__ void __launch_bounds__(kThreads)
    AggregateKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  constexpr int kCells = kThreads / kLanesPerCell;
  constexpr int kAtOnce = kLanesPerCell == kFewLanes ? 2 : 1;  // levels of a lane
  extern __shared__ uint32_t windows[];
  __shared__ Candidate survivor[kCells];
  __shared__ Grid grids[kMaxLevels];
  const int group = threadIdx.x / kLanesPerCell;
  const int lane = threadIdx.x % kLanesPerCell;
  const int side = 2 * params.reach + 1;
  uint32_t* window = windows + group * side * side;
  for (int i = lane; i < side * side; i += kLanesPerCell) window[i] = 0;
  if (lane == 0) survivor[group] = {0, 0};
  if (static_cast<int>(threadIdx.x) < frame.levels) {
    const Level& level = frame.level[threadIdx.x];
    const LevelParams& cells = params.level[threadIdx.x];
    grids[threadIdx.x] = {level.scale,
                          1.0f / level.scale,
                          level.width,
                          level.height,
                          cells.first_cell,
                          cells.cells_x,
                          cells.cell_width_reciprocal,
                          cells.cell_height_reciprocal};
  }
  __syncthreads();
  WaitForPredecessor();
  const uint32_t buffer = params.counters->buffer;
  if (blockIdx.x == 0 && threadIdx.x == 0) params.counters->next_buffer = buffer ^ 1;
  const uint32_t cell = blockIdx.x * kCells + group;
  // The other buffer's cells are all 0.
  const uint64_t own = cell < params.cell_count ? params.cells[cell] | params.cells[params.cell_count + cell] : 0;
  uint64_t best = 0;
  if (own != 0) {
    const uint32_t position = PositionOf(own);
    const float scale = grids[LevelOf(position)].scale;
    const int x = ImagePosition(XOf(position), scale, frame.level[0].width);
    const int y = ImagePosition(YOf(position), scale, frame.level[0].height);
    const uint64_t* cells = params.cells + buffer * params.cell_count;
#pragma unroll 1
    for (int first = lane; first < frame.levels; first += kAtOnce * kLanesPerCell) {
      Look look[kAtOnce];
      bool exists[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int l = first + i * kLanesPerCell;
        exists[i] = l < frame.levels && grids[l].width > 0;
        if (exists[i]) look[i] = LookAt(frame, grids[l], cells, x, y, params.reach);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (!exists[i]) continue;
        const uint64_t found =
            Gather(frame, grids[first + i * kLanesPerCell], cells, look[i], x, y, params.reach, window);
        best = found > best ? found : best;
      }
    }
  }
  __syncwarp();
  // More levels precede, then the greater sum, then the smaller y, then x.
  const int centre = side * side / 2;
  const uint32_t total = window[centre];
  bool goes_on = own != 0 && best <= own;
  for (int i = lane; i < side * side; i += kLanesPerCell) {
    goes_on = goes_on && window[i] <= total && (window[i] != total || i >= centre);
  }
  const unsigned group_lanes = ((1u << kLanesPerCell) - 1) << (threadIdx.x % kWarp / kLanesPerCell * kLanesPerCell);
  const bool survives = (__ballot_sync(kFullWarp, goes_on) & group_lanes) == group_lanes;
  if (survives && lane == 0) survivor[group] = {PositionOf(own), KeyOf(params, total & ((1u << kTotalShift) - 1))};
  __syncthreads();
  AllowSuccessor();  // not before: its blocks would be placed where there is room now, unevenly
  if (threadIdx.x >= kCells) return;
  const Candidate c = survivor[threadIdx.x];
  AppendToBucket(frame, params, buffer, c.key != 0, c);
}

}  // namespace

absl::Status Aggregate(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, launch.lanes == kFewLanes ? AggregateKernel<kFewLanes> : AggregateKernel<kLanes>,
                 frame, params);
}

}  // namespace glint::cuda
