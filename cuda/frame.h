// What the stages of one frame share: plain structures that travel to every kernel as an argument, and the layout of
// the result in host memory. Pointers are device addresses unless they say otherwise.
#ifndef GLINT_CUDA_FRAME_H_
#define GLINT_CUDA_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "features/limits.h"
#include "features/patch.h"

namespace glint::cuda {

// A corner on its way through the stages. `key` orders by response: an unsigned integer that is larger for the better
// corner (the FAST score itself, or OrderedKey() of a float).
struct Candidate {
  uint32_t position;  // y << 16 | x, level coordinates: compares in raster order
  uint32_t key;
};

struct RankedCorner {
  uint32_t position;
  uint32_t key;
  float angle;
};

// Histogram of keys, finest where it matters: FAST scores have a bin each; Harris keys are binned logarithmically.
inline constexpr int kBins = 1024;

// Written with atomics; only sums and sets come out of them, never an order. All zero before a frame: the corner
// stage clears the second half, which it does not use, the ranking stage clears the first, which it is done with.
struct Counters {
  uint32_t candidates[kMaxLevels];
  uint32_t histogram[kMaxLevels][kBins];

  uint32_t shortlisted[kMaxLevels];
  uint32_t kept[kMaxLevels];
  uint32_t dropped[kMaxLevels];  // keypoints of a level that cannot fit into the output, whatever the other levels hold
  uint32_t finished_blocks;
};

// at | next_weight << 16, see ResizeTap.
using PackedTap = uint32_t;

struct Level {
  uint8_t* image;
  uint8_t* mask;  // null without a mask
  int width;      // 0 if the level vanished
  int height;
  int pitch;  // bytes from row to row, a multiple of 16; rows may be read up to 16 bytes beyond

  // How to make it from the level before: `width` and `height` taps.
  const PackedTap* column_taps;
  const PackedTap* row_taps;
  bool narrow_taps;  // any four neighbouring output columns lie within eight input columns

  // Tiles of the corner stage: the numbers of all levels follow each other.
  int first_tile;
  int tiles_x;
  int tile_x0;  // leftmost column tested by the leftmost tile

  int share;        // keypoints wanted
  int first_share;  // corners to shortlist by the first ranking
  float scale;

  Candidate* candidates;
  Candidate* shortlist;
  RankedCorner* ranked;  // output_capacity elements
};

// The result, in memory that the host reads: this header, then arrays of ResultStride(capacity) elements each: x, y,
// size, angle, response (float), octave (int32), then descriptors of kRbriefBytes each.
struct ResultHeader {
  uint32_t count;      // written
  uint32_t truncated;  // 1 if more were found
  uint32_t reserved[14];
};
inline constexpr int kResultArrays = 6;
constexpr size_t ResultStride(int capacity) { return (static_cast<size_t>(capacity) + 15) / 16 * 16; }

struct Frame {
  int levels;
  int tiles;
  int threshold;
  int edge;
  int patch_size;
  int half_patch;
  bool orient;
  bool key_is_response;  // the response is the key itself (a FAST score), not a float's OrderedKey()
  int output_capacity;
  int descriptor_reach;                    // farthest turned point of the pattern, pixels
  uint8_t half_height[kMaxHalfPatch + 1];  // of the disc's column u, at element |u|
  const RbriefPair* pattern;               // kRbriefBits, null without descriptors
  Counters* counters;
  uint8_t* result;
  Level level[kMaxLevels];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_FRAME_H_
