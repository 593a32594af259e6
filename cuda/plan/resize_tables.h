// What the kernels of the cascaded pyramid read: plain structures and tables that the host makes once per shape.
#ifndef GLINT_CUDA_PLAN_RESIZE_TABLES_H_
#define GLINT_CUDA_PLAN_RESIZE_TABLES_H_

#include <vector_types.h>

#include <cstdint>

#include "features/limits.h"

namespace glint::cuda {

inline constexpr int kGroup = 4;  // columns of a ColumnGroup

// How four neighbouring columns of a level come from a row of the level before. They lie within eight bytes.
struct alignas(16) ColumnGroup {
  uint32_t weights[4];  // of the left pixel in the low half, of the right one in the high half; see resize_plan.h
  uint32_t pairs[2];    // byte selectors: the pixels of columns 0, 1 and of 2, 3
  int32_t word;         // the first one read of a row
  uint32_t shift;       // bits from there to the first byte
};

// One row of a level, and how it is mixed. Weights of rows: for INTER_LINEAR_EXACT the bits of a float, the weight of
// the lower input row, 0..256, of which the upper one has the rest; for INTER_LINEAR the upper row's in the low half,
// the lower one's in the high half.
struct alignas(8) RowMix {
  int32_t row;
  uint32_t weights;
};

// Two neighbouring columns, of whatever factor.
struct alignas(16) ColumnPair {
  uint32_t weights[2];  // as ColumnGroup's
  uint32_t select;      // byte selectors within two words: the pixels of column 0, those of column 1
  uint32_t words;       // the first one read of a row for column 0; << 16: for column 1
};

// An input row on the way down that makes a level by pairs, in the order in which they are needed.
struct alignas(8) RowStep {
  uint16_t from;
  int16_t row;       // made of the step before and this one, or -1
  uint32_t weights;  // likewise
};

inline constexpr int kSmallLevelsBatch = 6;  // most input rows that a thread asks about at once, an even number

// A level of SmallLevels, see below.
struct SmallLevel {
  uint8_t* image;
  uint8_t* mask;
  int pitch;
  int words;             // across the widest tile
  uint32_t inverse;      // of `words`, see Divided()
  int steps_per_thread;  // of the highest tile
  int columns;           // of the tile's tables: place in shared memory of ColumnGroup[words]
  int steps;             // of RowMix[], a row of the tile or -1 for each input row
  int pixels;            // place of the tile itself; of the last level none
};

// The smallest levels, made by one launch: each block makes its tile of all of them, and beside it what the next level
// needs of its neighbours' tiles.
struct SmallLevels {
  int first;   // level
  int levels;  // 0: there are none
  int tiles_x;
  int tiles_y;
  int shared_bytes;
  // A tile column's and a tile row's tables, side by side: SmallLevelSpan[levels], then ColumnGroup or RowMix of each
  // level.
  const uint4* column_tables;
  const uint4* row_tables;
  int column_vectors;  // of one tile column
  int row_vectors;     // of one tile row
  SmallLevel level[kMaxLevels];
};

// What a tile has of a level along an axis, in words (4 columns) or rows.
struct alignas(16) SmallLevelSpan {
  int32_t start;
  int32_t size;
  int32_t own_start;  // what it writes, from `start`
  int32_t own_size;
  // Rows alone: the input rows it is made from, of the image for the first level, of the tile for the others.
  int32_t first_step;
  int32_t steps;
  int32_t last_input;  // the last one there is
  int32_t unused;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_RESIZE_TABLES_H_
