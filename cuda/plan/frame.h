// What the stages of one frame share: plain structures that travel to every kernel as an argument, and the layout of
// the result in host memory. Pointers are device addresses unless they say otherwise.
#ifndef GLINT_CUDA_PLAN_FRAME_H_
#define GLINT_CUDA_PLAN_FRAME_H_

#include <vector_types.h>

#include <cstddef>
#include <cstdint>

#include "cuda/plan/resize_tables.h"
#include "features/limits.h"
#include "features/math.h"
#include "features/patch.h"

namespace glint::cuda {

// A corner on its way through the stages. `key` orders by response: an unsigned integer that is larger for the better
// corner (the FAST score itself, or OrderedKey() of a float).
struct Candidate {
  uint32_t position;  // PackPosition(): within a level, compares in raster order
  uint32_t key;
};

// An entry of a shortlist; its key is in an array of its own.
struct alignas(8) ShortlistEntry {
  uint32_t position;
  float angle;  // if the shortlist stage found it
};
// Entries of a shortlist that may be read before it is known how many there are.
inline constexpr int kSpeculativeEntries = 2048;

// A kept corner, at its place in the output of its level.
struct alignas(16) RankedCorner {
  uint32_t position;
  uint32_t key;
  float angle;
  uint32_t unused;
};

inline int DivideUp(int n, int by) { return (n + by - 1) / by; }

// Level coordinates have 14 bits (kMaxImageSide), levels 4.
GLINT_HD inline uint32_t PackPosition(int level, int x, int y) {
  return static_cast<uint32_t>(level) << 28 | static_cast<uint32_t>(y) << 14 | static_cast<uint32_t>(x);
}
GLINT_HD inline int LevelOf(uint32_t position) { return static_cast<int>(position >> 28); }
GLINT_HD inline int YOf(uint32_t position) { return static_cast<int>(position >> 14 & 0x3fff); }
GLINT_HD inline int XOf(uint32_t position) { return static_cast<int>(position & 0x3fff); }

// An integer that orders as the float's bits `bits` do; no NaN, no -0.
GLINT_HD inline uint32_t OrderedKey(uint32_t bits) { return bits ^ (bits >> 31 != 0 ? 0xffffffffu : 0x80000000u); }
GLINT_HD inline uint32_t FromOrderedKey(uint32_t key) { return key ^ (key >> 31 != 0 ? 0x80000000u : 0xffffffffu); }

// Histogram of keys, finest where it matters: FAST scores have a bin each; Harris keys are binned logarithmically.
inline constexpr int kBins = 1024;
inline constexpr int kFastScores = 256;  // Score::kMaxThreshold is less
inline constexpr int kScores = 4096;     // and so is any integer score

inline constexpr int kAngleLanes = 16;   // that find an angle
inline constexpr int kRowsInFlight = 6;  // loads of such a lane before the first use, at most 8

// Written with atomics; only sums and sets come out of them, never an order. All zero before a frame: the corner stage
// clears the second half, which it does not use, the orientation stage clears the first, which is done with.
struct Counters {
  uint32_t histogram[kMaxLevels][kScores];  // Frame::score_bins of them, or kBins; with buckets, see buckets.cuh; for
                                            // Selection::kQuadtree counts of QuadtreeLevel's bins
  uint32_t candidates;
  uint32_t overflow[kMaxLevels];  // see Level::overflow
  uint32_t found[kMaxLevels];     // see QuadtreeLevel::found
  uint32_t blocks_ranking;        // of orient_buckets.cu, that need none of these any more

  uint32_t shortlisted[kMaxLevels];
  uint32_t kept[kMaxLevels];
};

struct Level {
  uint8_t* image;
  uint8_t* mask;  // null without a mask
  int width;      // 0 if the level vanished
  int height;
  int pitch;  // bytes from row to row, a multiple of 16; rows may be read up to 16 bytes beyond

  int first_row;  // what to make of it: all, unless the image comes in parts
  int end_row;

  // How to make it from the level before or the image, see resize_plan.h. FitOneWindow(): by groups of columns.
  bool one_window;
  const ColumnGroup* column_groups;
  const RowMix* row_steps;
  // Otherwise by pairs.
  bool pair_windows;  // FitPairWindows()
  const ColumnPair* column_pairs;
  const RowStep* pair_steps;
  int first_step;  // of row_steps or pair_steps, those that complete the rows to make
  int end_step;
  int mask_columns;  // entries from the image's columns and steps to the mask's, which are exact; 0: they are the same
  int mask_steps;

  // Strips or tiles of the corner stage, a whole number of blocks: the blocks of all levels follow each other.
  int first_block;
  int first_strip;  // which to search, likewise
  int end_strip;
  int strips_x;  // side by side
  int strip_x0;  // leftmost column tested by the leftmost strip

  int share;        // keypoints wanted
  int first_share;  // corners to shortlist by the first ranking
  float scale;

  // Of Selection::kTopN: buckets for candidates that come with the response that ranks them, else a shortlist.
  Candidate* buckets;  // [kBins][bucket_room], see buckets.cuh
  int bucket_room;
  Candidate* overflow;                // what they have no room for
  uint32_t* shortlist_keys;           // room for kSpeculativeEntries at least
  ShortlistEntry* shortlist_entries;  // likewise
  Candidate* shortlist;               // of other selections, see BucketSlot
  // Ranks of the level's kept corners: room for all, or for output_capacity if that is less.
  int ranked_capacity;
  RankedCorner* ranked;
  RankedCorner* result;  // the same, in memory that the host reads
  uint8_t* descriptors;  // kRbriefBytes for each, there too; null without descriptors
};

// The beginning of the memory that the host reads; each level's corners and descriptors follow.
struct alignas(64) ResultHeader {
  uint32_t kept[kMaxLevels];  // corners of the level; those beyond Level::ranked_capacity are counted but not there
};

// What a block of the corner stage takes: a strip for each of its warps, or a tile, of fewer rows for more warps where
// each has to be quick.
enum class CornerBlocks { kStrips, kTiles, kQuickTiles };

struct Frame {
  int levels;
  int corner_blocks;
  int strip_steps;  // height of a strip, see CornerTiling
  CornerBlocks corners;
  int score_bins;  // of the candidates' scores, for shortlists: kFastScores or kScores
  int threshold;
  int edge;
  int half_patch;
  bool orient;
  bool orient_early;  // angles of all of the shortlist, beside its scores, instead of those kept alone
  uint8_t half_width[kMaxHalfPatch + 1];  // of the disc's row v, at element |v|
  // The disc, whose rows are `disc_vectors` vectors of 8 bytes, as a bit for each byte, for each of the 8 columns of a
  // vector in which a row may begin and each batch of rows: [8][disc_batches][kAngleLanes]. A lane has one vector of
  // every (kAngleLanes / disc_vectors)-th row; its i-th row of a batch is bit 7 - i of the mask's bytes.
  int disc_vectors;
  int disc_batches;
  const uint2* disc_masks;
  int descriptor_reach;       // farthest turned point of the pattern, pixels
  const RbriefPair* pattern;  // kRbriefBits, null without descriptors
  Counters* counters;
  Candidate* candidates;  // of all levels that have no buckets
  uint32_t candidate_room;
  ResultHeader* result;
  Level level[kMaxLevels];
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_FRAME_H_
