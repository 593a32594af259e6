// Where the pixels of a rectified image come from. Host types without Eigen: backends include it.
#ifndef GLINT_FEATURES_CAMERA_REMAP_TABLE_H_
#define GLINT_FEATURES_CAMERA_REMAP_TABLE_H_

#include <cstdint>
#include <vector>

#include "features/types.h"

namespace glint {

// A table in blocks of neighbouring pixels, whose sources are read together: from `origin` on, kBytes of each of kRows
// rows, all of which lie inside the source.
struct RemapBlocks {
  static constexpr int kPixels = 8;
  static constexpr int kBytes = 16;
  static constexpr int kRows = 4;
  static constexpr int kGroup = 4;  // a row's blocks are a multiple: whole vectors of any width
  // A pixel, from the low bits on: fraction_x (5 bits), fraction_y (5), x (4) and y (2) beyond the origin, or
  // kNowhere: a pixel without a source, which is 0, or that `exceptions` has.
  static constexpr uint16_t kNowhere = 0xc000;
  struct Origin {
    int16_t x = 0, y = 0;
  };
  int per_row = 0;                        // 0: the source is smaller than a block; all pixels are exceptions
  std::vector<Origin> origins;            // per_row for each row
  std::vector<uint16_t> pixels;           // kPixels for each block
  std::vector<uint32_t> first_exception;  // of each row, and their number
  std::vector<uint16_t> exceptions;       // columns of pixels that are computed one by one, row by row
};

// Where each pixel of a rectified image lies in the image of the lens, in cv::remap's fixed point: 1/32 pixel.
struct RemapTable {
  static constexpr int16_t kNowhere = INT16_MIN;  // x and y of a pixel that the lens does not see
  static constexpr int kFractions = 32;

  struct Entry {
    int16_t x = kNowhere, y = kNowhere;      // the pixel up and left; it may lie outside the source
    uint8_t fraction_x = 0, fraction_y = 0;  // of the way to the next pixel, in 1/32: 0..31
  };
  Shape source;
  Shape shape;                 // of the rectified image
  std::vector<Entry> entries;  // shape.pixels(), row by row
  RemapBlocks blocks;          // the same for vectors: MakeBlocks()
  // Of no other contents in this process, so that backends know a table that they have a copy of; 0 without blocks.
  uint64_t id = 0;

  const Entry* row(int y) const { return entries.data() + static_cast<int64_t>(y) * shape.width; }
};

// Makes `table->blocks` and a new id from the rest of the table, which stays as it is from now on. Thread-safe. For
// whoever fills a table by hand; MakeRemapTable() has done it.
void MakeBlocks(RemapTable* table);

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_REMAP_TABLE_H_
