// What the stages of one frame share beyond Frame when the detector is not of cv::ORB's kind (IsOrbKind()). Pointers
// are device addresses.
#ifndef GLINT_CUDA_MAP_FRAME_H_
#define GLINT_CUDA_MAP_FRAME_H_

#include <cstdint>

#include "cuda/frame.h"
#include "features/bfrost.h"
#include "features/options.h"

namespace glint::cuda {

// Where the corner stage leaves what survived suppression.
enum class Sink {
  kList,        // in the candidates
  kImageCells,  // in the cells of the image that they fall in, of which each keeps its best (Selection::kGrid)
  kLevelCells,  // in the cells of their level, likewise (Selection::kPyca)
};

// An image pixel that corners of any level fall on (Selection::kPyca): an entry of a hash table. All zero: free.
struct Gathered {
  uint32_t pixel;  // its y << 14 | x, plus 1
  uint32_t total;  // number of corners << kTotalShift | sum of their scores; larger precedes
  uint64_t best;   // CellEntry() of the strongest corner
};
inline constexpr int kTotalShift = 20;

// A corner as a number that is larger the earlier it is preferred: by raw score, lower octave, smaller y, smaller x.
// Never 0.
GLINT_HD inline uint64_t CellEntry(uint32_t position, uint32_t raw) {
  return static_cast<uint64_t>(raw) << 32 | static_cast<uint32_t>(~position);
}
GLINT_HD inline uint32_t RawOf(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
GLINT_HD inline uint32_t PositionOf(uint64_t entry) { return ~static_cast<uint32_t>(entry); }

// Written with atomics, as Counters. All zero before a frame; the cut's second half clears them.
struct MapCounters {
  uint32_t edges[kMaxLevels];  // candidates in the bin in which a group's cut falls
  uint32_t greatest;           // OrderedKey of the level's greatest Harris measure
};

// x / cell is the high word of x * CellReciprocal(cell), for x < 2^14 and cell <= 2^9: the product is too large by less
// than 2^23.
GLINT_HD inline uint32_t CellReciprocal(int cell) {
  return cell == 1 ? 0 : static_cast<uint32_t>((uint64_t{1} << 32) / static_cast<uint32_t>(cell) + 1);
}

struct MapLevel {
  // Tiles of the corner stage: the numbers of all levels follow each other.
  int first_tile;
  int tiles_x;
  int tile_x0;  // leftmost column tested
  int tile_y0;
  // Cells that a corner of this level falls in: of the level for Sink::kLevelCells, else of the image.
  int first_cell;
  int cells_x;
  uint32_t cell_width_reciprocal;  // see CellReciprocal()
  uint32_t cell_height_reciprocal;

  uint32_t first_edge;  // of its group, see MapFrame::edges
  int first_block;      // of this level in a launch over all levels: direct pyramid, integral image

  // Integral image in bands of kBandRows rows. sums: of the pixels at or above and left of each, in its band;
  // bands: of those in the bands above. Null without Descriptor::kBfrost.
  int integral_pitch;  // elements
  int first_band;
  uint32_t* sums;
  uint32_t* bands;
};
inline constexpr int kBandRows = 16;

// Keys of candidates are OrderedKey()s of floats: Harris measures, or integer scores times key_scale, a power of 2 that
// brings them below 1, where HarrisBin() tells them apart.
struct MapFrame {
  Sink sink;
  Pyramid pyramid;
  Score score;
  bool is_dense;      // CornerTest::kEveryPixel
  bool cut_by_level;  // else by image
  bool cut;           // there may be more candidates than are wanted
  int tiles;
  int max_arc;
  int arc_length;
  int radius;       // of suppression
  int reach;        // of the aggregation's suppression, pixels of the image
  uint32_t wanted;  // of the image
  float key_scale;
  uint32_t cell_count;
  uint32_t slot_count;  // a power of 2, or 0
  int bands;            // of the integral images of all levels
  int direct_blocks;

  // Dense Harris.
  int block_radius;
  int strip_rows;  // rows that a strip answers for
  int strips_x;
  int strips;
  float harris_k;
  float harris_scale4;
  float response_threshold;
  bool is_fraction;
  const uint8_t* harris_image;  // level 0, or its smoothed copy
  uint8_t* smooth;              // null if it is not smoothed

  MapCounters* counters;
  uint64_t* cells;  // CellEntry()s, 0: empty; zero between frames
  Gathered* slots;
  Candidate* edges;
  const BfrostRegion* bfrost;  // of pattern half h, region i: at element h * kBfrostRegions + i
  MapLevel level[kMaxLevels];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_FRAME_H_
