// Geometry of launches, of the corner stage above all: what a block tests, which region of it it owns, and the memory
// that it shares.
//
// A strip or a tile tests its owned region and a halo around it: suppression at the region's border needs the scores
// beyond. Owned regions cover a level without overlap. Kernels and plan both read this; where a kernel's structure has
// the memory, it asserts that the bytes are these.
#ifndef GLINT_CUDA_PLAN_TILING_H_
#define GLINT_CUDA_PLAN_TILING_H_

#include <cstdint>

#include "cuda/plan/block_shapes.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "features/math.h"
#include "features/options.h"
#include "features/quadtree.h"

namespace glint::cuda {

constexpr int RoundUpTo(int n, int to) { return (n + to - 1) / to * to; }

inline constexpr int kTestedColumns = kWarp * 4;  // of a strip or a tile: a word for each lane

// --- pairs.cu: threads of a level across, its first step, on an even one for vectors of two, and threads in all

inline int PairGroups(const Level& level, int column_pairs) { return DivideUp(level.width, 2 * column_pairs); }
inline int FirstPairStep(const Level& level) { return level.first_step & ~1; }
inline int PairThreads(const Level& level, int column_pairs, int steps) {
  return PairGroups(level, column_pairs) * DivideUp(level.end_step - FirstPairStep(level), steps);
}

// --- fast_tiles.cu: 3x3 suppression

inline constexpr int kHaloX = 2;                                   // columns at each side; of rows, one
inline constexpr int kOwnedColumns = kTestedColumns - 2 * kHaloX;  // the next strip begins at a whole word
inline constexpr int kStripWarps = 4;                              // of a block, with a strip each
inline constexpr int kStep = 2 * kFastRadius + 1;                  // rows that a strip tests at a time
inline constexpr int kVector = 16;                                 // bytes that a lane loads at once
inline constexpr int kPitch = 11 * kVector;                        // of rows of pixels, in different banks
inline constexpr int kBufferedCorners = 2 * kWarp;                 // that a warp keeps until it writes them out
// Tiles that a multiprocessor has room for.
inline constexpr int kTilesAtOnce = 9;
inline constexpr int kHarrisTilesAtOnce = 6;
constexpr int TileWarps(bool quick) { return quick ? 8 : 4; }
constexpr int TileWarpRows(bool quick) { return quick ? 4 : kStep; }  // that a warp tests
constexpr int TileRows(bool quick) { return TileWarps(quick) * TileWarpRows(quick); }

constexpr int StripBlockBytes() {
  const int pixels = (kStep + 2 * kFastRadius) * kPitch;
  const int responses = (kStep + 2) * kTestedColumns;
  const int list = (kStep + 1) * kTestedColumns * static_cast<int>(sizeof(uint16_t));
  const int corners = kBufferedCorners * static_cast<int>(sizeof(Candidate));
  return kStripWarps * RoundUpTo(pixels + responses + list + corners, 16) +
         kFastScores * static_cast<int>(sizeof(uint32_t));
}
constexpr int TileBlockBytes(bool harris, bool quick) {
  const int rows = TileRows(quick);
  const int pixels = (rows + 2 * (harris ? kHarrisRadius : kFastRadius)) * kPitch;
  const int tested = rows * kTestedColumns;
  const int responses = tested * static_cast<int>(harris ? sizeof(uint32_t) : sizeof(uint8_t));
  const int list = tested * static_cast<int>(sizeof(uint16_t));
  const int corners = TileWarps(quick) * kBufferedCorners * static_cast<int>(sizeof(Candidate));
  const int tile = RoundUpTo(pixels + responses + list + corners + static_cast<int>(sizeof(int)), 16);
  return tile + (harris ? 16 : kFastScores * static_cast<int>(sizeof(uint32_t)));
}

// --- fast_cells.cu: whole cells side by side, from any column of a word on

inline constexpr int kCellTileColumns = kTestedColumns - 3;
inline constexpr int kCellTileWarpRows = 4;  // that a warp tests
inline constexpr int kMaxCellTileWarps = (2 * kQuadtreeCell - 1 + kCellTileWarpRows - 1) / kCellTileWarpRows;
constexpr int CellTileBytes(int warps) {
  const int rows = warps * kCellTileWarpRows;
  const int pixels = (rows + 2 * kFastRadius) * kPitch;
  const int responses = (rows + 2) * kTestedColumns;
  const int list = rows * kTestedColumns * static_cast<int>(sizeof(uint16_t));
  return pixels + responses + list + 2 * static_cast<int>(sizeof(uint32_t));
}
static_assert(CellTileBytes(kMaxCellTileWarps) <= 48 * 1024, "what needs no reservation");

// --- fast_bounded.cu: suppression of any radius

inline constexpr int kBoundedTestedColumns = kTestedColumns;
inline constexpr int kBoundedPitch = kBoundedTestedColumns + 16;  // of pixels: rows begin in different banks
inline constexpr int kBoundedAlignment = 8;                       // of the first tested column

inline constexpr int kBoundedTilesAtOnce = 8;  // that a multiprocessor has room for

// Halo at each side, columns: a word, or two where that is too few for the rings of all that matters to lie within the
// tested columns. Of rows, the radius.
GLINT_HD constexpr int BoundedHaloX(int radius) { return radius <= kMaxTileCellRadius ? 4 : 8; }
static_assert(BoundedHaloX(kMaxTileCellRadius) >= kMaxTileCellRadius + kFastRadius);
static_assert(BoundedHaloX(kMaxSuppressionRadius) >= kMaxSuppressionRadius + kFastRadius);

// Rows of a warp, and warps of a tile, below each other.
struct BoundedTileShape {
  int rows;
  int warps;

  GLINT_HD constexpr int TestedRows() const { return rows * warps; }
};
GLINT_HD constexpr BoundedTileShape ShapeOf(Score score, BoundedTiles tiles) {
  // With Harris, warps need more registers.
  if (tiles == BoundedTiles::kFew) return score == Score::kHarris ? BoundedTileShape{2, 12} : BoundedTileShape{1, 24};
  return tiles == BoundedTiles::kLow ? BoundedTileShape{6, 4} : BoundedTileShape{8, 4};
}
// Of which kind the kernels with Harris are.
constexpr BoundedTiles HarrisTiles(BoundedTiles tiles) {
  return tiles == BoundedTiles::kFew ? tiles : BoundedTiles::kUsual;
}
// Elements from row to row of scores: rows begin in different banks where a warp has several.
GLINT_HD constexpr int BoundedResponsePitch(BoundedTiles tiles) {
  return kBoundedTestedColumns + (tiles == BoundedTiles::kFew ? 0 : 6);
}

// `histogram`: with that of the tile's candidates, which is last.
constexpr int BoundedTileBytes(Score score, BoundedTiles tiles, bool histogram) {
  const bool harris = score == Score::kHarris;
  const BoundedTiles kind = harris ? HarrisTiles(tiles) : tiles;
  const int rows = ShapeOf(score, kind).TestedRows();
  const int pixels = (rows + 2 * kFastRadius) * kBoundedPitch;
  const int responses =
      rows * BoundedResponsePitch(kind) * static_cast<int>(harris ? sizeof(uint32_t) : sizeof(uint16_t));
  const int list = rows * kBoundedTestedColumns * static_cast<int>(sizeof(uint16_t));
  const int cells = kMaxTileCells * static_cast<int>(sizeof(uint32_t)) + rows + kBoundedTestedColumns;
  const int counts = 2 * static_cast<int>(sizeof(uint32_t));  // Tile::listed, Tile::tests_both
  const int bins = kBins * static_cast<int>(sizeof(uint32_t));
  const int all = RoundUpTo(RoundUpTo(RoundUpTo(pixels + responses + list, 4) + counts + cells, 4) + bins, 16);
  return histogram ? all : all - bins;
}

// --- dense_harris.cu

inline constexpr int kLaneColumns = 4;
inline constexpr int kStripColumns = kLaneColumns * kWarp;

// Warps of a block, whose strips are below each other; kSuppress3x3: a radius of suppression of 1.
template <bool kSuppress3x3>
inline constexpr int kTileWarps = kSuppress3x3 ? 4 : 2;
// Rows of gradients.
template <bool kSuppress3x3>
inline constexpr int kTileRows = kSuppress3x3 ? 80 : 48;

// Lanes at each side of a strip that have columns without a measure, as the window needs more than the strip has.
GLINT_HD constexpr int SideLanes(int block_radius) { return (block_radius + 1 + kLaneColumns - 1) / kLaneColumns; }

// Columns that a strip owns, in whole lanes for aligned loads: all but those that gradient, window and suppression need
// at each side.
struct StripSpan {
  int first;  // of the owned ones
  int columns;
};
GLINT_HD constexpr StripSpan SpanOf(int block_radius, int radius) {
  const int needed = 1 + block_radius + radius;
  const int lanes = kLaneColumns * SideLanes(block_radius);
  const int side = needed < lanes ? lanes : needed;
  return {side, (kStripColumns - 2 * side) / kLaneColumns * kLaneColumns};
}

// Columns of the first strip left of the image.
GLINT_HD constexpr int LeadOf(StripSpan span) { return (span.first + kLaneColumns - 1) / kLaneColumns * kLaneColumns; }

// --- tiling.cc: how levels are divided

// Frame's strips or tiles, and with it the levels' and the blocks'; `steps`: height of strips. Where and how high they
// are best: ChooseCornerBlocks().
void DivideForCorners(const DetectorOptions& options, CornerBlocks kind, int steps, Frame* frame);
// Strips or tiles of a level that lie within its first `rows` rows, with all that they read.
int StripsIn(const DetectorOptions& options, const Frame& frame, const Level& level, int rows);
// Blocks of the corner stage for the frame's strips or tiles.
void CountBlocks(Frame* frame);

// Tiles of fast_bounded.cu: `params->tiles` and the levels'.
void DivideForBoundedCorners(const DetectorOptions& options, const Frame& frame, BoundedTiles kind,
                             SelectionParams* params);
struct DenseTiling {
  int strips_x;   // side by side, which own all columns
  int warps;      // of a block, whose strips are below each other
  int most_rows;  // of a strip; even
};
DenseTiling DenseTilingOf(int width, int block_radius, int radius);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_TILING_H_
