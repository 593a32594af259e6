// What the stages of one frame share beyond Frame when the detector selects otherwise than SelectsTopNPerLevel().
// Pointers are device addresses.
#ifndef GLINT_CUDA_PLAN_SELECTION_PARAMS_H_
#define GLINT_CUDA_PLAN_SELECTION_PARAMS_H_

#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/bfrost.h"
#include "features/options.h"

namespace glint::cuda {

// Where the corner stage leaves what survived suppression.
enum class CornerOutput {
  kList,        // in the candidates
  kShortlists,  // likewise, with integer scores, for the best of each level by those and then by Harris
  kBuckets,     // in the buckets of their level (Frame)
  kImageCells,  // in the cells of the image that they fall in, of which each keeps its best (Selection::kGrid)
  kLevelCells,  // in the cells of their level, likewise (Selection::kPyca)
};

// Which tiles the corner stage has.
enum class BoundedTiles {
  kFew,        // where there is not one for each multiprocessor: quick ones
  kLow,        // where they all run at once, and those of higher levels begin late: lower ones
  kUsual,      // as many rows a warp as a byte has bits
  kTileCells,  // as usual; where they do not all run at once, cells are updated by tile cells (corners/tile_cells.cuh)
};

// A corner as a number that is larger the earlier it is preferred: by raw score, lower octave, smaller y, smaller x.
// Never 0.
GLINT_HD inline uint64_t CellEntry(uint32_t position, uint32_t raw) {
  return static_cast<uint64_t>(raw) << 32 | static_cast<uint32_t>(~position);
}
GLINT_HD inline uint32_t RawOf(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
GLINT_HD inline uint32_t PositionOf(uint64_t entry) { return ~static_cast<uint32_t>(entry); }

inline constexpr int kRankBits = 11;         // of the ranking's bins
inline constexpr uint32_t kBucketRoom = 64;  // of a bin's entries

// What is to be ranked if that is not cells: in SelectionParams::buckets and, where these have no room, the levels'
// shortlists.
struct BucketCounts {
  uint32_t count[kMaxLevels];  // of the shortlists
  uint32_t greatest;           // OrderedKey of the level's greatest Harris measure, if it is positive; else 0
  alignas(32) uint32_t of_bin[1 << kRankBits];  // entries of the bins, see SelectionParams::spread
};

// Written with atomics, as Counters.
struct SelectionCounters {
  // Double buffer: frames alternate between 0 and 1, each with cells and a list that the corner stage before clears.
  // The corner stage reads next_buffer and sets `buffer` to it; the last stage that needs them does the opposite.
  uint32_t buffer;
  uint32_t next_buffer;
  uint32_t blocks_done;  // of the corner stage with SelectionParams::ranks_in_last_block; zero between frames
  BucketCounts list[2];
};

// x / cell is the high word of x * CellReciprocal(cell), for x < 2^14 and cell <= 2^9: the product is too large by less
// than 2^23.
GLINT_HD inline uint32_t CellReciprocal(int cell) {
  return cell == 1 ? 0 : static_cast<uint32_t>((uint64_t{1} << 32) / static_cast<uint32_t>(cell) + 1);
}

// Bits that numbers below `n` have.
inline int BitsBelow(int n) {
  int bits = 0;
  while (1 << bits < n) ++bits;
  return bits;
}
// Bits of an integer score.
inline int ScoreBits(Score score) { return score == Score::kMaxThreshold ? 8 : 12; }

struct LevelParams {
  // Tiles of the corner stage: the numbers of all levels follow each other.
  int first_tile;
  int tiles_x;
  int tile_x0;  // leftmost column tested
  int tile_y0;
  // Cells that a corner of this level falls in: of the level for CornerOutput::kLevelCells, else of the image.
  int first_cell;
  int cells_x;
  uint32_t cell_width_reciprocal;  // see CellReciprocal()
  uint32_t cell_height_reciprocal;
  int tile_cells_x;  // cells across that a tile may touch, if the corner stage tells all of a tile's apart; else 0

  // Integral image in bands of kBandRows rows. sums: of the pixels at or above and left of each, in its band;
  // bands: of those in the bands above. Null without Descriptor::kBfrost.
  int integral_pitch;  // elements
  int first_band;
  uint32_t* sums;
  uint32_t* bands;
};
inline constexpr int kBandRows = 16;

// Cells of a tile that the corner stage tells apart, and of an image that it ranks at once.
inline constexpr int kMaxTileCells = 128;
inline constexpr int kMaxLastBlockCells = 512;
// Where cells are told apart; up to it, the rings of what matters in a tile lie within the columns that it tests.
inline constexpr int kMaxTileCellRadius = 1;  // of suppression

inline constexpr uint32_t kKeyOfOne = 0xbf800000;  // OrderedKey() of 1.0

// Keys of candidates are OrderedKey()s of floats: Harris measures, or integer scores times key_scale, a power of 2 that
// brings them below 1, where HarrisBin() tells them apart.
struct SelectionParams {
  CornerOutput output;
  Pyramid pyramid;
  Score score;
  bool is_dense;             // CornerTest::kEveryPixel
  bool ranks;                // without a cut of the candidates first
  bool by_tile_cells;        // some level's LevelParams::tile_cells_x is not 0
  bool ranks_in_last_block;  // of the corner stage, without RankCells()
  int tiles;
  int max_arc;
  int arc_length;
  int radius;       // of suppression
  int reach;        // of the aggregation's suppression, pixels of the image
  uint32_t wanted;  // of the image
  uint32_t most;    // cells or candidates there can be
  int level_bits;   // the ranking has 2^level_bits bins for each level, and
  int rank_shift;   // takes a key's bits from this one on;
  bool by_score;    // or whole scores below 256, and for each 2^tie_bits bins of rows, of 2^tie_shift rows;
  float per_score;  // then 1 / key_scale, else 0
  int tie_bits, tie_shift;
  // Counts of neighbouring bins are 2^spread apart: 3 where so many add to them at the same time that they must be in
  // different sectors of memory, else 0, so that a warp adds to some at once.
  int spread;
  float key_scale;
  uint32_t cell_count;
  uint32_t list_words;  // of BucketCounts, that are used
  int bands;            // of the integral images of all levels

  // Dense Harris.
  int block_radius;
  int strip_rows;  // rows that a strip owns, even
  int strips_x;
  float harris_k;
  float harris_scale4;
  float response_threshold;
  bool is_fraction;
  const uint8_t* harris_image;  // level 0, or its smoothed copy
  uint8_t* smooth;              // null if it is not smoothed

  SelectionCounters* counters;
  uint64_t* cells;             // CellEntry()s, 0: empty; cell_count for each buffer
  Candidate* buckets;          // kBucketRoom for each of the ranking's bins; only where RankBuckets() is
  const BfrostRegion* bfrost;  // of pattern half h, region i: at element h * kBfrostRegions + i
  LevelParams level[kMaxLevels];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_SELECTION_PARAMS_H_
