// The stages of the CPU backend as a table of functions, one table per SIMD target. Internal to Glint: Pipeline strings
// them together, tests compare each with features/reference, and benchmarks time each on its own:
//   const Stages stages = StagesFor(BestSimdTarget());
//   stages.fast_raw(job, scratch, where)        cv::FAST without suppression
//   stages.fast_suppressed(job, scratch, ...)   cv::FAST with suppression
//   stages.fast_scored(job, scratch, ...)       FAST with other scores and suppression of any radius
//   stages.fast_cells(job, scratch, ...)        the best FAST corner of each cell
//
// Every image given to a stage is at least kWideImage pixels wide, or has kReadMargin readable bytes after each row:
// only then may a stage read whole vectors. No stage allocates. All are pure functions: thread-safe.
#ifndef GLINT_CPU_COMMON_STAGES_H_
#define GLINT_CPU_COMMON_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/limits.h"
#include "features/options.h"
#include "features/patch.h"
#include "features/types.h"

namespace glint::cpu {

inline constexpr int kWideImage = 128;  // pixels: the widest vector of bytes, 64, and any stage's halo
inline constexpr int kReadMargin = 64;  // bytes

// Half-open: x0 <= x < x1, y0 <= y < y1.
struct Rect {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;
  bool empty() const { return x0 >= x1 || y0 >= y1; }
};

// A pixel of a level in 32 bits; their order is raster order.
inline uint32_t PackPoint(int x, int y) { return static_cast<uint32_t>(y) << 16 | static_cast<uint32_t>(x); }
inline int PointX(uint32_t point) { return static_cast<int>(point & 0xffff); }
inline int PointY(uint32_t point) { return static_cast<int>(point >> 16); }

// ---- FAST

struct FastJob {
  ImageView image;
  Rect region;    // of the corners to report; at least kFastRadius inside the image
  int threshold;  // 1..254
  int arc;        // 9..12
};

// Lists of corners are written in short fixed runs, of which only the first elements may count.
inline constexpr size_t kListSlack = 16;

// The most corners that survive 3x3 suppression in a region: no two are neighbours.
inline size_t MaxSuppressedCorners(Rect r) {
  return r.empty() ? 0 : static_cast<size_t>((r.x1 - r.x0 + 1) / 2) * static_cast<size_t>((r.y1 - r.y0 + 1) / 2);
}

// Scratch: three rows of scores, each with margins of zeros, or a word for each vector of a row; and six lists of the
// vectors of a row, with one element to spare.
inline constexpr size_t kFastScratchMargin = 64;
inline size_t FastScratchPitch(int width) {
  return (static_cast<size_t>(width) + 63) / 64 * 64 + 3 * kFastScratchMargin;
}
inline size_t FastListElements(int width) { return static_cast<size_t>(width) / 16 + 2; }
inline size_t FastScratchBytes(int width) {
  return 3 * FastScratchPitch(width) + 6 * FastListElements(width) * sizeof(uint16_t);
}

struct ScoredJob {
  FastJob fast;
  Score score;          // any but kHarris
  int max_arc;          // fast.arc..16
  int radius;           // 0..kMaxSuppressionRadius
  int cell_width = 0;   // more than 0, only without suppression: keep the best of each cell of the job's rows
  int cell_height = 0;  // likewise
};

// Scratch: bytes of scores, whether they are of dark corners, by how much they are above limits; rows of 16-bit scores;
// lists of the vectors of a row. Then, for cells, a key for each column and two rows.
inline size_t ScoredRowsBytes(int width) {
  constexpr size_t kRows = 2 * static_cast<size_t>(kMaxSuppressionRadius) + 1;
  const size_t bytes = FastScratchPitch(width) * (3 + kRows * sizeof(int16_t)) +
                       (kRows + 5) * FastListElements(width) * sizeof(uint16_t);
  return (bytes + 63) / 64 * 64;
}
inline size_t ScoredScratchBytes(int width) {
  return ScoredRowsBytes(width) + FastScratchPitch(width) * (sizeof(uint64_t) + 2 * sizeof(int16_t));
}

// Which cells a level's pixels are in: those of a cell are a rectangle, which may be empty.
struct CellMap {
  std::vector<uint16_t> of_column;     // the number of a column's cells in their row
  std::vector<uint16_t> of_row;        // of a row's cells
  std::vector<uint16_t> first_column;  // of each cell of a row, and the level's width
  size_t across = 0;                   // cells in a row

  size_t Cell(uint32_t where) const {
    return of_row[static_cast<size_t>(PointY(where))] * across + of_column[static_cast<size_t>(PointX(where))];
  }
};

struct CellsJob {
  FastJob fast;
  int max_arc;  // fast.arc..16
  int radius;   // of suppression, 0..kMaxSuppressionRadius
  const CellMap* cells;
  const uint16_t* floor;  // threshold of each cell, row after row: only corners with greater sums are kept

  static constexpr size_t kOpenRows = kMaxSuppressionRadius + 1;
};

// Scratch: that of scored corners; for each column a key, a corner and its score, a limit, and for rows of cells a
// place and a sum.
inline size_t CellsScratchBytes(int width) {
  return ScoredScratchBytes(width) +
         FastScratchPitch(width) * (sizeof(uint64_t) + sizeof(uint32_t) + sizeof(float) + 1 +
                                    CellsJob::kOpenRows * (sizeof(uint32_t) + sizeof(uint16_t)));
}

// ---- resizing

// Across, 8 neighbouring output pixels are a group: bytes from_x[0][group] + 0..15 of the input row are shuffled into 8
// pairs, which are weighted (each pair's weights add up to 256) and added. Where 16 bytes do not hold all pairs, the
// last 4 are shuffled from bytes from_x[1][group] + 0..15.
struct ResizeTables {
  Shape from;
  Shape to;
  int loads = 0;                    // of 16 bytes per group, 1 or 2; 0: only at_x and weight_x are of use
  std::vector<int32_t> from_x[2];   // per group
  std::vector<uint8_t> shuffle[2];  // 16 per group
  std::vector<uint8_t> weight;      // 16 per group
  std::vector<int32_t> at_x;        // per output column: the first pixel, and the weight of the next
  std::vector<uint16_t> weight_x;
  std::vector<int32_t> at_y;  // per output row
  std::vector<uint16_t> weight_y;
};
// Fills the tables for a pair of shapes, `to` at most `from` on both axes; allocates only beyond the largest so far.
void MakeResizeTables(Shape from, Shape to, ResizeTables* tables);

// Two rows of horizontally mixed pixels.
inline size_t ResizeScratchPitch(int to_width) { return (static_cast<size_t>(to_width) + 63) / 64 * 64; }
inline size_t ResizeScratchElements(int to_width) { return 2 * ResizeScratchPitch(to_width); }

// ---- orientation

// The disc as weights of bytes, one pair per column and |v|: the first of a pair is for the pixel in row v, the second
// for the one in row -v (in row 0, only the first counts). Outside the disc both are 0. Columns are -16..15, in the
// order in which interleaving two rows leaves them: as they are in vectors of 16 bytes; in vectors of 32, whose halves
// are interleaved each on its own, by eights in the order 0, 2, 1, 3.
struct CentroidTable {
  static constexpr int kMaxHalf = 15;  // beyond, sums need more than 16 bits: use the scalar loop
  static constexpr int kLanes = 32;
  struct Weights {
    alignas(64) int8_t sum[kMaxHalf + 1][kLanes][2] = {};         // 1, 1
    alignas(64) int8_t difference[kMaxHalf + 1][kLanes][2] = {};  // v, -v
  };
  int half = 0;
  Weights by_16;
  Weights by_32;
  PatchDisc disc;
};
CentroidTable MakeCentroidTable(const PatchDisc& disc);

// ---- blur

// A level is blurred where descriptors read it, in runs of rows that are a block wide.
inline constexpr int kBlurBlock = 16;
inline constexpr int kBlurRows = 64;  // of a run, at most

struct BlurJob {
  ImageView image;
  int x;   // the block's first column, a multiple of kBlurBlock
  int y0;  // rows [y0, y1)
  int y1;
  uint8_t* out;  // the whole level's; its rows have room for whole blocks
  ptrdiff_t out_stride;
};
// Pixels of a row that are read for a block, from the third before it on.
inline constexpr int kBlurPixels = kBlurBlock + 8;

// ---- descriptors

// The pattern's coordinates as floats: the first points of all pairs, then the second.
struct PatternTable {
  alignas(64) float x[2][kRbriefBits];
  alignas(64) float y[2][kRbriefBits];
  int reach = 0;  // greatest distance of a rotated point in x or y, rounded; at most 46

  // With a reach of at most kMaxTableReach: the rows of a patch are in tables of 128 bytes, three in each. Which table
  // row v is in, and where in it the row's middle is, at v & 63.
  static constexpr int kTableRow = 42;
  static constexpr int kMaxTableReach = (kTableRow - 1) / 2;
  alignas(64) uint8_t table_of_row[64] = {};
  alignas(64) uint8_t place_of_row[64] = {};
};
PatternTable MakePatternTable(const RbriefPattern& pattern);

// ---- Harris measure at every pixel

struct DenseHarrisJob {
  ImageView image;
  int block;  // 3..15, odd
  float k;
  float threshold;
};
// Elements of a scratch row, with margins on both sides; also of a row of the map.
inline constexpr size_t kDenseHarrisMargin = 64;
inline size_t DenseHarrisPitch(int width) {
  return (static_cast<size_t>(width) + 63) / 64 * 64 + 2 * kDenseHarrisMargin;
}
struct DenseRow {
  float* responses;  // DenseHarrisPitch() from -kDenseHarrisMargin on; least of all floats on both sides of the row
  uint16_t* active;  // DenseActiveElements(): where blocks of columns begin that may be over the threshold
  size_t active_count;
  float max_response;  // the greatest
};
inline size_t DenseActiveElements(int width) { return static_cast<size_t>(width) / 8 + 2; }
// Four rows of 16 bits; of 32 bits three for each row of a window.
inline size_t DenseHarrisScratchElements(int width, int block) {
  return (2 + 3 * static_cast<size_t>(block)) * DenseHarrisPitch(width);
}

// ---- the table

struct Stages {
  // Corners without suppression, in raster order. Returns their number. `where` has room for kListSlack more than
  // there are pixels in the region.
  // `scratch`: FastScratchBytes(image.width), 64-byte aligned.
  size_t (*fast_raw)(const FastJob& job, uint8_t* scratch, uint32_t* where);

  // Corners with 3x3 suppression by score, in raster order, and their scores. `scratch` as above. `where` and `score`
  // have room for kListSlack more than MaxSuppressedCorners(region).
  size_t (*fast_suppressed)(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score);

  // Corners that are greater than every other within the radius, or the first of the greatest of each cell, in raster
  // order. `scratch`: ScoredScratchBytes(image.width), 64-byte aligned. `where` and `response` have room for
  // kListSlack more than what can survive.
  size_t (*fast_scored)(const ScoredJob& job, uint8_t* scratch, uint32_t* where, float* response);

  // Of the corners that are greater than every other within the radius by Score::kSadCircle, the first of the greatest
  // of each cell, as far as its pixels are in the region, in raster order. `scratch`: CellsScratchBytes(image.width),
  // 64-byte aligned. `where` and `response` as above.
  size_t (*fast_cells)(const CellsJob& job, uint8_t* scratch, uint32_t* where, float* response);

  // Rows [y0, y1) of `image` resized. `out` rows have room for 64 more bytes. `scratch`:
  // ResizeScratchElements(to.width)
  void (*resize)(const ResizeTables& tables, const ImageView& image, int y0, int y1, uint8_t* out, ptrdiff_t out_stride,
                 int16_t* scratch);

  // HarrisResponse of each point; reads reflections outside the image.
  void (*harris)(const ImageView& image, const uint32_t* where, size_t count, float* response);

  // Adds row y to the window. Once the window is complete, with y as its last row, computes HarrisResponse of each
  // pixel of its middle row, y - block / 2; until then `out` is null. Rows must be added in order, from -block / 2 at
  // the least to height - 1 + block / 2 at the most: those outside the image are reflections, as are columns outside,
  // of products of gradients. `scratch`: DenseHarrisScratchElements, 64-byte aligned, zero when it was new.
  void (*dense_harris)(const DenseHarrisJob& job, int y, int32_t* scratch, DenseRow* out);
  // The columns of [x0, x1) in active blocks that are over the threshold, and their number. With the responses above
  // and below, only those that exceed all 8 neighbours. `columns` has room for x1 - x0.
  size_t (*dense_maxima)(const DenseRow& row, const float* above, const float* below, int x0, int x1, float threshold,
                         uint32_t* columns);
  // Fills a row with the responses of points of one y, in order, and the least float elsewhere. Outside its active
  // blocks the row must hold the least float already.
  void (*dense_scatter)(const uint32_t* where, const float* response, size_t count, DenseRow* row);
  // Rows [y0, y1) smoothed by 1 2 1 both ways. `out` rows have room for 64 more bytes. `scratch`: DenseHarrisPitch.
  void (*smooth)(const ImageView& image, int y0, int y1, int16_t* scratch, uint8_t* out, ptrdiff_t out_stride);

  // Degrees; reads reflections outside the image.
  void (*centroid)(const ImageView& image, const CentroidTable& table, const uint32_t* where, size_t count,
                   float* angle);

  // Gaussian 7x7, sigma 2.
  void (*blur)(const BlurJob& job);

  // One descriptor, kRbriefBytes, around the pixel `centre` of an image whose pixels within the pattern's reach are
  // all there.
  void (*describe)(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle,
                   uint8_t* descriptor);
};

// The targets that this build has and this processor can run, best first: bits as in Highway's HWY_TARGETS.
std::vector<int64_t> SimdTargets();
const char* SimdTargetName(int64_t target);
// The best, or the one that GLINT_SIMD names if there is such a one.
int64_t BestSimdTarget();

Stages StagesFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_COMMON_STAGES_H_
