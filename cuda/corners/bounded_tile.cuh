// A tile of a level as the corner stage has it in shared memory, and what a warp reads of it: pixels, ring by ring, and
// the scores of corners.
#ifndef GLINT_CUDA_CORNERS_BOUNDED_TILE_CUH_
#define GLINT_CUDA_CORNERS_BOUNDED_TILE_CUH_

#include <cstddef>
#include <type_traits>

#include "cuda/common/append.cuh"
#include "cuda/corners/ring.cuh"
#include "cuda/corners/segment_test.cuh"
#include "cuda/plan/tiling.h"

namespace glint::cuda {

// The polarity in which a listed pixel is to be tested: darker neighbours instead of brighter ones.
inline constexpr int kDark = 1;
// Whether a pixel is tested in one polarity at a time. For that score and arc, both at once are no slower, and the
// first test passes more pixels in both.
template <int kArc, Score kScore>
inline constexpr bool kOnePolarity = kArc != 9 || kScore != Score::kMaxThreshold;
// Arcs of nine may leave room for four even pixels of the other polarity.
template <int kArc, Score kScore>
inline constexpr bool kMayBeBoth = kArc == 9 && kOnePolarity<kArc, kScore>;

template <Score kScore, BoundedTiles kTiles>
struct Tile {
  static constexpr int kRowsPerWarp = ShapeOf(kScore, kTiles).rows;
  static constexpr int kWarps = ShapeOf(kScore, kTiles).warps;
  static constexpr int kTestedRows = kRowsPerWarp * kWarps;
  static constexpr int kResponsePitch = BoundedResponsePitch(kTiles);
  // Harris: OrderedKeys.
  using Response = std::conditional_t<kScore == Score::kHarris, uint32_t, uint16_t>;

  alignas(16) uint8_t pixels[kTestedRows + 2 * kFastRadius][kBoundedPitch];
  alignas(16) Response response[kTestedRows][kResponsePitch];  // 0: not a corner
  // What is marked: warp << 11 | lane << 6 | column of the lane << 4 | row of the warp << 1 | kDark; later
  // row << 7 | column.
  uint16_t list[kTestedRows * kBoundedTestedColumns];
  uint32_t listed;
  uint32_t tests_both;  // a bit for each warp whose pixels are to be tested in both polarities
  // See tile_cells.cuh.
  uint32_t best[kMaxTileCells];
  uint8_t row_cell[kTestedRows];
  uint8_t column_cell[kBoundedTestedColumns];
  uint32_t histogram[kBins];  // of the tile's candidates; last: for CornerOutput::kList
};

// The score of the pixel at `centre`, 0 if it is no corner: with kOnePolarity, with brighter or, `dark`, darker
// neighbours.
template <int kArc, Score kScore>
__device__ __forceinline__ uint32_t ScoreAt(const uint8_t* centre, bool dark, int threshold, int max_arc) {
  if (!kOnePolarity<kArc, kScore>) {
    const int score = PackedFastScore<kArc, kBoundedPitch>(centre);
    if (score < threshold) return 0;
    if (max_arc < kFastRing && (Runs(Ring::At<kBoundedPitch>(centre, false).Beyond(threshold), max_arc + 1) |
                                Runs(Ring::At<kBoundedPitch>(centre, true).Beyond(threshold), max_arc + 1)) != 0) {
      return 0;
    }
    return static_cast<uint32_t>(score);
  }
  const Ring ring = Ring::At<kBoundedPitch>(centre, dark);
  if (kScore == Score::kMaxThreshold) {
    const int score = ring.MaxThreshold<kArc>();
    if (score < threshold) return 0;
    if (max_arc < kFastRing && Runs(ring.Beyond(threshold), max_arc + 1) != 0) return 0;
    return static_cast<uint32_t>(score);
  }
  const RingBits beyond = ring.Beyond(threshold);
  const uint32_t runs = Runs(beyond, kArc);
  if (runs == 0) return 0;
  if (max_arc < kFastRing && Runs(beyond, max_arc + 1) != 0) return 0;
  if (kScore == Score::kSadCircle) return ring.SumOfDifferences();
  if (kScore == Score::kSadArc) return ring.SumOfDifferences(Cover(runs, kArc));
  return 1;  // Harris follows
}

// Rows q of a lane's column of words, halved and aligned to the ring's columns; row 0 is three above the first tested
// row. The words beside a lane's come from the lanes beside it, and beyond the warp's columns are arbitrary.
template <int kRows>
struct AlignedRows {
  static constexpr int kCount = kRows + 2 * kFastRadius;
  uint32_t left3[kCount], left2[kCount], centre[kCount], right2[kCount], right3[kCount];

  __device__ __forceinline__ void Load(const uint8_t* pixels, int q) {
    const uint32_t here = HalvePixels(*reinterpret_cast<const uint32_t*>(pixels + q * kBoundedPitch));
    const uint32_t before = __shfl_up_sync(kFullWarp, here, 1);
    const uint32_t after = __shfl_down_sync(kFullWarp, here, 1);
    left3[q] = __funnelshift_l(before, here, 24);
    left2[q] = __funnelshift_l(before, here, 16);
    centre[q] = here;
    right2[q] = __funnelshift_r(here, after, 16);
    right3[q] = __funnelshift_r(here, after, 24);
  }
  // Of the pixels in row q.
  __device__ __forceinline__ EvenRing RingOf(int q) const {
    return {
        {centre[q + 3], right2[q + 2], right3[q], right2[q - 2], centre[q - 3], left2[q - 2], left3[q], left2[q + 2]}};
  }
};

// What may be a corner among a lane's four columns of kRows rows, at the first of which `pixels` points: bit r of each
// byte for row r.
template <int kArc, int kRows>
__device__ __forceinline__ SegmentMarks MarkRows(const uint8_t* pixels, int threshold) {
  const SegmentMargins margins(threshold);
  SegmentMarks marks = {0, 0};
  AlignedRows<kRows> rows;
#pragma unroll
  for (int q = 0; q < 2 * kFastRadius; ++q) rows.Load(pixels, q);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int q = r + kFastRadius;
    rows.Load(pixels, q + kFastRadius);
    const SegmentMarks row = SegmentTest<kArc>(rows.RingOf(q), SegmentBounds(rows.centre[q], margins));
    marks.bright = marks.bright >> 1 | (row.bright & kTopBits);
    marks.dark = marks.dark >> 1 | (row.dark & kTopBits);
  }
  return {marks.bright >> (8 - kRows), marks.dark >> (8 - kRows)};
}

// Adds what is marked in a warp's rows to the tile's list; with kMayBeBoth, what is marked in both polarities once for
// each or, if a warp has very many of those, once, to be tested in both, so that there is room for all.
template <int kArc, Score kScore, BoundedTiles kTiles>
__device__ __forceinline__ void ListMarked(const SegmentMarks& marks, Tile<kScore, kTiles>& tile) {
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  uint32_t any = marks.bright | marks.dark;
  uint32_t both = kMayBeBoth<kArc, kScore> ? marks.bright & marks.dark : 0;
  const uint32_t dark = kOnePolarity<kArc, kScore> ? marks.dark & ~marks.bright : 0;
  int own = __popc(any) + __popc(both);
  int sum = SumUpTo(own);
  int all = __shfl_sync(kFullWarp, sum, kWarp - 1);
  if (kMayBeBoth<kArc, kScore> && all > Tile<kScore, kTiles>::kRowsPerWarp * kBoundedTestedColumns) {
    if (lane == 0) atomicOr(&tile.tests_both, 1u << warp);
    both = 0;
    own = __popc(any);
    sum = SumUpTo(own);
    all = __shfl_sync(kFullWarp, sum, kWarp - 1);
  }
  uint32_t base = 0;
  if (lane == 0) base = atomicAdd(&tile.listed, static_cast<uint32_t>(all));
  uint16_t* to = tile.list + __shfl_sync(kFullWarp, base, 0) + sum - own;
  const uint32_t word = static_cast<uint32_t>(warp << 11 | lane << 6);
#pragma unroll 4
  while (any != 0) {
    const int bit = kWarp - 1 - __clz(static_cast<int>(any));
    any ^= 1u << bit;
    *to++ = static_cast<uint16_t>(word + 2 * bit + (dark >> bit & kDark));
  }
#pragma unroll 1
  while (both != 0) {
    const int bit = kWarp - 1 - __clz(static_cast<int>(both));
    both ^= 1u << bit;
    *to++ = static_cast<uint16_t>(word + 2 * bit + kDark);
  }
}

// Begins to load the pixels from row y0 on, of the tested columns, which begin at x0, a multiple of 8; where the tile
// leaves the level they do not matter.
template <int kThreads, int kRows>
__device__ __forceinline__ void LoadTile(const Level& level, int x0, int y0, uint8_t (&pixels)[kRows][kBoundedPitch]) {
  constexpr int kVectors = kBoundedTestedColumns / 8;
  static_assert(kThreads % kVectors == 0);
  const int vector = threadIdx.x % kVectors;
  const uint8_t* column = level.image + Clamp(x0 + 8 * vector, 0, level.pitch - 8);
#pragma unroll
  for (int first = 0; first < kRows; first += kThreads / kVectors) {
    const int row = first + static_cast<int>(threadIdx.x) / kVectors;
    if (row >= kRows) break;
    const int y = Clamp(y0 + row, 0, level.height - 1);
    CopyAsync8(&pixels[row][8 * vector], column + static_cast<size_t>(y) * level.pitch);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_BOUNDED_TILE_CUH_
