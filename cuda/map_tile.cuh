// A tile of a level as the corner stage has it in shared memory, and what a warp reads of it: pixels, ring by ring, and
// the scores of corners.
#ifndef GLINT_CUDA_MAP_TILE_CUH_
#define GLINT_CUDA_MAP_TILE_CUH_

#include <cstddef>
#include <type_traits>

#include "cuda/map_device.cuh"
#include "cuda/ring.cuh"
#include "cuda/segment.cuh"

namespace glint::cuda {

inline constexpr int kTestedRows = 32;
inline constexpr int kTestedColumns = kWarp * 4;
inline constexpr int kMarginX = 4;  // tested but not answered for: one word
static_assert(kMarginX >= kMaxSuppressionRadius);
inline constexpr int kColumns = kTestedColumns - 2 * kMarginX;
inline constexpr int kPadX = 8;  // columns loaded beyond the tested ones, at each side: a vector load
inline constexpr int kPitch = kTestedColumns + 2 * kPadX;
inline constexpr int kLoadedRows = kTestedRows + 2 * kFastRadius;
inline constexpr int kListed = kTestedRows * kTestedColumns;
template <Score kScore>
struct Tile {
  // Harris: OrderedKeys.
  using Response = std::conditional_t<kScore == Score::kHarris, uint32_t, uint16_t>;
  alignas(16) uint8_t pixels[kLoadedRows][kPitch];
  alignas(16) Response response[kTestedRows][kTestedColumns];  // 0: not a corner
  // What is marked: warp << 10 | lane << 5 | column of the lane << 3 | row of the warp; later row << 7 | column.
  uint16_t list[kListed];
  uint32_t listed;
  uint32_t histogram[kBins];  // of the tile's candidates; last: not with MapFrame::ranks
};

// The score of the pixel at `centre`, 0 if it is no corner.
template <int kArc, Score kScore>
__device__ __forceinline__ uint32_t ScoreAt(const uint8_t* centre, int threshold, int max_arc) {
  if (kScore == Score::kMaxThreshold) {
    const int score = PackedFastScore<kArc, kPitch>(centre);
    if (score < threshold) return 0;
    if (max_arc < kFastRing && RingAt<kPitch>(centre).HasRun(threshold, max_arc + 1)) return 0;
    return static_cast<uint32_t>(score);
  }
  const RingPixels ring = RingAt<kPitch>(centre);
  const RingBits brighter = ring.Brighter(threshold);
  const RingBits darker = ring.Darker(threshold);
  const uint32_t bright = Runs(brighter, kArc);
  const uint32_t dark = Runs(darker, kArc);
  if ((bright | dark) == 0) return 0;
  if (max_arc < kFastRing && (Runs(brighter, max_arc + 1) | Runs(darker, max_arc + 1)) != 0) return 0;
  if (kScore == Score::kSadCircle) return ring.SumOfDifferences();
  if (kScore == Score::kSadArc) return ring.SumOfDifferences(Cover(bright | dark, kArc));
  return 1;  // Harris follows
}

// Rows q of a lane's column of words, halved and aligned to the ring's columns; row 0 is three above the first tested
// row.
template <int kRows>
struct AlignedRows {
  static constexpr int kCount = kRows + 2 * kFastRadius;
  uint32_t left3[kCount], left2[kCount], centre[kCount], right2[kCount], right3[kCount];

  __device__ __forceinline__ void Load(const uint8_t* pixels, int q) {
    const auto* word = reinterpret_cast<const uint32_t*>(pixels + q * kPitch);
    const uint32_t before = HalvePixels(word[-1]);
    const uint32_t here = HalvePixels(word[0]);
    const uint32_t after = HalvePixels(word[1]);
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
// byte for row r. columns: those that matter, as ColumnMask().
template <int kArc, int kRows>
__device__ __forceinline__ uint32_t MarkRows(const uint8_t* pixels, int threshold, uint32_t columns) {
  const uint32_t margin = static_cast<uint32_t>((threshold + 1) >> 1) * 0x01010101u;
  uint32_t marks = 0;
  AlignedRows<kRows> rows;
#pragma unroll
  for (int q = 0; q < 2 * kFastRadius; ++q) rows.Load(pixels, q);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int q = r + kFastRadius;
    rows.Load(pixels, q + kFastRadius);
    const SegmentBounds bounds(rows.centre[q], margin);
    marks |= (SegmentTest<kArc>(rows.RingOf(q), bounds) & columns & kTopBits) >> (7 - r);
  }
  return marks;
}

// Pixels from (x0, y0) on, x0 a multiple of 8; where the tile leaves the level they do not matter.
template <int kThreads>
__device__ __forceinline__ void LoadTile(const Level& level, int x0, int y0, uint8_t (&pixels)[kLoadedRows][kPitch]) {
  constexpr int kVectors = kPitch / 8;
  constexpr int kRowsAtOnce = kThreads / kVectors;
  const int vector = threadIdx.x % kVectors;
  const uint8_t* column = level.image + Clamp(x0 + 8 * vector, 0, level.pitch - 8);
  if (static_cast<int>(threadIdx.x) < kRowsAtOnce * kVectors) {
#pragma unroll
    for (int first = 0; first < kLoadedRows; first += kRowsAtOnce) {
      const int row = first + static_cast<int>(threadIdx.x) / kVectors;
      if (row >= kLoadedRows) break;
      const int y = Clamp(y0 + row, 0, level.height - 1);
      CopyAsync8(&pixels[row][8 * vector], column + static_cast<size_t>(y) * level.pitch);
    }
  }
  WaitForCopies();
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_TILE_CUH_
