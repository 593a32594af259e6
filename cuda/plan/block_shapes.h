// Threads of a block, and what else a launch is divided by: shared by the kernels and by the schedule.
//
// "Wanted" numbers are blocks for each multiprocessor.
#ifndef GLINT_CUDA_PLAN_BLOCK_SHAPES_H_
#define GLINT_CUDA_PLAN_BLOCK_SHAPES_H_

namespace glint::cuda {

inline constexpr int kWarp = 32;

// pyramid/cascaded.cu: small blocks, so that small levels spread over the device.
inline constexpr int kLevelThreads = 128;
inline constexpr int kLevelColumns = 8;  // of a thread
// pyramid/pairs.cu
inline constexpr int kPairThreads = 128;
inline constexpr int kFewPairs = 2;   // of columns, a thread's
inline constexpr int kManyPairs = 4;  // where there is more than enough to do
// pyramid/small_levels.cu
inline constexpr int kSmallLevelsThreads = 512;
// pyramid/half.cu
inline constexpr int kHalfWarps = 4;
inline constexpr int kHalfSide = 8;        // pixels that a thread reads, squared
inline constexpr int kHalfLevelsMost = 3;  // of a launch

// corners/dense_harris.cu
inline constexpr int kSmoothRows = 8;  // of a block, a warp wide

// select/shortlist.cu: larger blocks where there are angles to find: then fewer read the histograms.
constexpr int ShortlistThreads(bool orient) { return orient ? 512 : 256; }
inline constexpr int kShortlistThreadsWanted = 1024;
// select/aggregate.cu
inline constexpr int kAggregateThreads = 256;
inline constexpr int kAggregateLanes = 8;     // that take a cell
inline constexpr int kAggregateFewLanes = 2;  // where there is more than enough to do
inline constexpr int kMostWindowBytes = 48 * 1024 - 2048;
// select/threshold.cu
inline constexpr int kThresholdThreads = 256;
inline constexpr int kThresholdBlocksWanted = 4;
// select/rank_cells.cu, rank_bin_buckets.cu: ranking over the levels together.
inline constexpr int kImageRankThreads = 1024;
inline constexpr int kSmallestRankShare = 64;  // ranks of a block
// select/rank_in_registers.cu
inline constexpr int kRegisterRankThreads = 1024;
inline constexpr int kRegisterRankShare = 64;  // ranks of a block, or cells
inline constexpr int kMostRegisterPairs = 4;   // of neighbouring cells, of a thread
inline constexpr int kRegisterBinBits = 11;
// select/quadtree.cu: a level.
inline constexpr int kQuadtreeThreads = 1024;

// select/rank.cuh, describe/orient.cu: ranking of a level's shortlist. Each block counts its level's whole shortlist,
// so that few are better unless they have angles to find or compare with all of a short list.
inline constexpr int kRankThreads = 256;
inline constexpr int kWideRankThreads = 512;  // where shortlists are long
inline constexpr int kEntriesPerThread = 4;   // of the shortlist at a time: a vector
inline constexpr int kRanksAtATime = 1024;    // with their bins they fit, unless many tie
inline constexpr int kRankingBlocks = 2;
inline constexpr int kOrientingBlocks = 3;
inline constexpr int kShortRankingBlocks = 4;
inline constexpr int kWideRankingBlocks = 1;
inline constexpr int kSmallestPart = 8;  // entries of the shortlist for a block
inline constexpr unsigned kShortList = kEntriesPerThread * kRankThreads;
inline constexpr unsigned kShortPart = 64;  // of it for a block, else counting bins is less work
// Whether a kernel ranks short lists by comparing all (select/rank_short.cuh).
constexpr bool ForShortLists(bool harris_keys, bool orient, int threads) {
  return harris_keys && !orient && threads == kRankThreads;
}
// describe/orient_buckets.cu
constexpr int BucketRankThreads(bool orient) { return orient ? 256 : 512; }
constexpr int BucketRankBlocksWanted(bool orient) { return orient ? 3 : 1; }
inline constexpr int kBucketRanks = 1024;       // ranked at once
inline constexpr int kSmallestBucketPart = 16;  // ranks for a block
inline constexpr int kLargestBucketPart = kBucketRanks / 2;

// describe/bfrost.cu
inline constexpr int kBfrostThreads = 256;
inline constexpr int kBfrostBlocksWanted = 8;
// describe/rbrief.cu
inline constexpr int kRbriefThreads = 128;
inline constexpr int kRbriefBlocksWanted = 6;

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_BLOCK_SHAPES_H_
