// Corners of all levels in one launch, for any score, bounded arcs and suppression of any radius; what survives goes to
// the candidates or, in the same pass, to the cells that it falls in.
//
// A block tests a tile of 128 x 32 pixels of one level and answers for the 120 x (32 - 2 radius) in the middle; where
// tiles are few they have 24 rows. A lane owns one word of four neighbouring pixels and walks down the rows of its warp
// with the ring's rows in registers; a conservative test of the ring's even pixels (segment.cuh), four pixels at once,
// marks what may be a corner, by polarity. The marked pixels of the block are listed, and the list is shared out among
// its warps, which decide exactly and score with all lanes (ring.cuh). Survivors of suppression are listed again; those
// that fall in one cell meet in the warp (match, maximum of the lanes) before one of them goes to the cell by a 64-bit
// atomic maximum, which makes the winner independent of order.
//
// Shared memory, dynamic: pixels (pitch 144), scores, list, and for Selection::kTopN a histogram: 26 KiB, with Harris
// 34 KiB, less 4 KiB without the histogram.
#include <cstddef>

#include "cuda/map_cells.cuh"
#include "cuda/map_stages.h"
#include "cuda/map_tile.cuh"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kThreadsPerMultiprocessor = 1024;

template <int kArc, Score kScore, int kRowsPerWarp>
__global__ void __launch_bounds__(Tile<kScore, kRowsPerWarp>::kWarps* kWarp,
                                  (kScore == Score::kHarris ? 640 : kThreadsPerMultiprocessor) /
                                      (Tile<kScore, kRowsPerWarp>::kWarps * kWarp))
    FindMapCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  extern __shared__ __align__(16) uint8_t memory[];
  using TileType = Tile<kScore, kRowsPerWarp>;
  using Response = typename TileType::Response;
  auto& tile = *reinterpret_cast<TileType*>(memory);
  constexpr int kTestedRows = TileType::kTestedRows;
  constexpr int kWarps = TileType::kWarps;
  constexpr int kThreads = kWarps * kWarp;

  AllowSuccessor();
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= map.level[l + 1].first_tile) ++l;
  const Level& level = frame.level[l];
  const MapLevel& tiles = map.level[l];
  const int number = blockIdx.x - tiles.first_tile;
  const int radius = map.radius;
  const int border = Max(frame.edge, kFastRadius);
  const int x0 = tiles.tile_x0 + number % tiles.tiles_x * kColumns;
  const int y0 = tiles.tile_y0 + number / tiles.tiles_x * (kTestedRows - 2 * radius);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;

  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  LoadTile<kThreads>(level, x0 - kPadX, y0 - kFastRadius, tile.pixels);

  // While the pixels are on their way.
  auto* responses = reinterpret_cast<uint4*>(&tile.response[0][0]);
#pragma unroll 4
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(tile.response) / sizeof(uint4)); i += kThreads) {
    responses[i] = make_uint4(0, 0, 0, 0);
  }
  if (!map.ranks) {
#pragma unroll 1
    for (int i = threadIdx.x; i < kBins; i += kThreads) tile.histogram[i] = 0;
  }
  if (threadIdx.x == 0) tile.listed = 0;
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  const uint32_t turn = BeginTurn(map);
  WaitForCopies();
  __syncthreads();

  // A pixel matters if it can be a corner and lies in the region or within the radius of it.
  const int x_low = Max(kFastRadius, Max(border, x0 + kMarginX) - radius);
  const int x_high = Min(level.width - Max(kFastRadius, border - radius), x0 + kMarginX + kColumns + radius);
  const int y_low = Max(kFastRadius, border - radius);
  const int y_high = level.height - y_low;
  const uint32_t matters = ColumnMask(x0 + lane * 4, x_low, x_high) & RowMask(y0 + warp * kRowsPerWarp, y_low, y_high);
  const SegmentMarks may_be =
      MarkRows<kArc, kRowsPerWarp>(&tile.pixels[warp * kRowsPerWarp][kPadX + 4 * lane], frame.threshold);
  ListMarked<kArc>({may_be.bright & matters, may_be.dark & matters}, tile);
  __syncthreads();

  // Each warp's part of the list: whole warps full.
  const auto turns = static_cast<int>((tile.listed + kWarp - 1) / kWarp);
  uint16_t* list = tile.list + warp * turns / kWarps * kWarp;
  const int listed =
      Min((warp + 1) * turns / kWarps * kWarp, static_cast<int>(tile.listed)) - warp * turns / kWarps * kWarp;

  // Rows and columns that the tile answers for.
  const int top = Max(radius, frame.edge - y0);
  const int left = Max(kMarginX, frame.edge - x0);
  const auto rows = static_cast<unsigned>(Max(Min(kTestedRows - radius, level.height - frame.edge - y0) - top, 0));
  const auto columns = static_cast<unsigned>(Max(Min(kMarginX + kColumns, level.width - frame.edge - x0) - left, 0));
  const unsigned below = (1u << lane) - 1;
  // Decide and score; corners that the tile answers for move to the front of the list.
  int corners = 0;
#pragma unroll 1
  for (int first = 0; first < listed; first += kWarp) {
    const int mark = list[Min(first + lane, listed - 1)];
    const int row = (mark >> 12) * kRowsPerWarp + (mark >> 2 & 7);
    const int column = mark >> 5 & 127;
    const uint8_t* centre = &tile.pixels[row + kFastRadius][column + kPadX];
    uint32_t score = 0;
    bool is_dark = (mark & kDark) != 0;
    for (;;) {
      if (score == 0) score = ScoreAt<kArc, kScore>(centre, is_dark, frame.threshold, map.max_arc);
      if (!kMayBeBoth<kArc, kScore>) break;
      const bool again = score == 0 && !is_dark && (mark & kAlsoDark) != 0;
      if (!__any_sync(kFullWarp, again)) break;
      is_dark = is_dark || again;
    }
    if (first + lane >= listed) score = 0;
    if (kScore == Score::kHarris && score != 0) {
      score = OrderedKey(__float_as_uint(HarrisAt(level, x0 + column, y0 + row)));
    }
    if (score != 0) tile.response[row][column] = static_cast<Response>(score);
    const bool answers =
        score != 0 && static_cast<unsigned>(row - top) < rows && static_cast<unsigned>(column - left) < columns;
    const unsigned lanes = __ballot_sync(kFullWarp, answers);
    __syncwarp();
    if (answers) list[corners + __popc(lanes & below)] = static_cast<uint16_t>(row << 7 | column);
    corners += __popc(lanes);
    __syncwarp();
  }
  __syncthreads();

  // Suppress.
  int kept = 0;
#pragma unroll 1
  for (int first = 0; first < corners; first += kWarp) {
    const uint16_t entry = list[Min(first + lane, corners - 1)];
    const int row = entry >> 7;
    const int column = entry & 127;
    const bool keep = first + lane < corners && IsMaximum(&tile.response[row][column], radius) &&
                      IsUnmasked(frame, map, level, x0 + column, y0 + row);
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    __syncwarp();
    if (keep) list[kept + __popc(lanes & below)] = entry;
    kept += __popc(lanes);
    __syncwarp();
  }
  if (map.sink != Sink::kList) {
#pragma unroll 1
    for (int first = 0; first < kept; first += kWarp) {
      const uint16_t entry = list[Min(first + lane, kept - 1)];
      const int row = entry >> 7;
      const int column = entry & 127;
      OfferToCells(map.cells + turn * map.cell_count, first + lane < kept, CellAt(frame, map, l, x0 + column, y0 + row),
                   tile.response[row][column], PackPosition(l, x0 + column, y0 + row));
      __syncwarp();
    }
    return;
  }

  uint32_t base = 0;
  uint32_t* count = map.ranks ? &map.counters->list[turn].count[l] : &frame.counters->candidates;
  Candidate* candidates = map.ranks ? level.shortlist : frame.candidates;
  if (lane == 0 && kept > 0) base = atomicAdd(count, static_cast<uint32_t>(kept));
  base = __shfl_sync(kFullWarp, base, 0);
#pragma unroll 1
  for (int i = lane; i < kept; i += kWarp) {
    const int row = list[i] >> 7;
    const int column = list[i] & 127;
    const uint32_t key = KeyOf(map, tile.response[row][column]);
    candidates[base + i] = {PackPosition(l, x0 + column, y0 + row), key};
    if (!map.ranks) atomicAdd(&tile.histogram[HarrisBin(key)], 1u);
  }
  if (map.ranks) return;
  __syncthreads();
  uint32_t* histogram = frame.counters->histogram[GroupOf(map, l)];
#pragma unroll 1
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    const uint32_t n = tile.histogram[i];
    if (n != 0) atomicAdd(&histogram[i], n);
  }
}

template <Score kScore, int kRows>
const void* KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<9, kScore, kRows>);
    case 10:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<10, kScore, kRows>);
    case 11:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<11, kScore, kRows>);
    default:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<12, kScore, kRows>);
  }
}

template <int kRows>
const void* KernelFor(int arc_length, Score score) {
  switch (score) {
    case Score::kMaxThreshold:
      return KernelFor<Score::kMaxThreshold, kRows>(arc_length);
    case Score::kSadCircle:
      return KernelFor<Score::kSadCircle, kRows>(arc_length);
    case Score::kSadArc:
      return KernelFor<Score::kSadArc, kRows>(arc_length);
    default:
      return KernelFor<Score::kHarris, kRows>(arc_length);
  }
}

const void* KernelFor(int arc_length, Score score, int rows) {
  return rows == kFewRows ? KernelFor<kFewRows>(arc_length, score) : KernelFor<kUsualRows>(arc_length, score);
}

template <int kRows>
size_t TileBytes(Score score) {
  return score == Score::kHarris ? sizeof(Tile<Score::kHarris, kRows>) : sizeof(Tile<Score::kSadCircle, kRows>);
}

// The histogram is at the end, and left out where it is not used.
int SharedBytes(Score score, int rows, bool histogram) {
  const size_t bytes = rows == kFewRows ? TileBytes<kFewRows>(score) : TileBytes<kUsualRows>(score);
  return static_cast<int>(bytes - (histogram ? 0 : kBins * sizeof(uint32_t)));
}

// With tiles of kFewRows instead of the usual ones.
MapFrame InLowTiles(const Frame& frame, MapFrame map) {
  const int answered = TestedRows(kFewRows) - 2 * map.radius;
  const int usual_tiles = map.tiles;
  map.tiles = 0;
  for (int l = 0; l < frame.levels; ++l) {
    const int usual_end = l + 1 < frame.levels ? map.level[l + 1].first_tile : usual_tiles;
    const bool has_tiles = map.level[l].first_tile < usual_end;
    map.level[l].first_tile = map.tiles;
    const int rows = Max(frame.level[l].height - 2 * Max(frame.edge, kFastRadius), 1);
    if (has_tiles) map.tiles += map.level[l].tiles_x * ((rows + answered - 1) / answered);
  }
  return map;
}

}  // namespace

MapTiling GetMapTiling() { return {kTestedColumns, TestedRows(kUsualRows), kMarginX, 8}; }

absl::Status PrepareMapCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (int rows : {kFewRows, kUsualRows}) {
        GLINT_RETURN_IF_ERROR(
            ToStatus(api->FuncSetSharedBytes(KernelFor(arc, score, rows), SharedBytes(score, rows, /*histogram=*/true)),
                     "reserving shared memory for the corner stage"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status FindMapCorners(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  const bool few = map.tiles <= multiprocessors;
  const int rows = few ? kFewRows : kUsualRows;
  const MapFrame tiled = few ? InLowTiles(frame, map) : map;
  KernelLaunch launch;
  launch.kernel = KernelFor(map.arc_length, map.score, rows);
  launch.block = dim3(TestedRows(rows) / rows * kWarp);
  launch.grid = dim3(tiled.tiles);
  launch.shared_bytes = SharedBytes(map.score, rows, /*histogram=*/!map.ranks);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&tiled)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
