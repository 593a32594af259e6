// Table of contents of the CUDA backend: the launchers of all stages, in the order in which a frame runs them.
//
// A launcher enqueues `launch` on the stream and returns; it decides nothing, and neither allocates nor waits. Errors
// are those of a kernel launch, by ToStatus(). Parameters travel to the kernels by value. A kernel reads what the ones
// before it wrote: launches have the order of Kernel. Which there are, and how they are divided, plan/schedule.h says;
// what a launcher reads of its launch beyond grid and block stands in brackets.
#ifndef GLINT_CUDA_STAGES_H_
#define GLINT_CUDA_STAGES_H_

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/launch.h"
#include "cuda/plan/quadtree_params.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// --- pyramid/: images of all levels but the first, and their masks if there are any: the frame's rows of them

// cascaded.cu: a level from the one before. [level, from, steps, linear]
absl::Status BuildLevel(StreamView stream, const Launch& launch, const Frame& frame);
// pairs.cu: levels whose columns lie too far apart for that (Level::one_window); all of Pyramid::kDirect, without
// masks. [level, levels, from, steps, column_pairs, linear]
absl::Status BuildLevelsByPairs(StreamView stream, const Launch& launch, const Frame& frame);
// small_levels.cu: the smallest levels of the cascaded pyramid, together. [from, linear]
absl::Status BuildSmallLevels(StreamView stream, const Launch& launch, const Frame& frame, const SmallLevels& small);
// half.cu: up to three levels of Pyramid::kHalf. [from, levels]
absl::Status BuildHalfLevels(StreamView stream, const Launch& launch, const Frame& frame);

// --- corners/: corner test, score, suppression, border, mask

// fast_tiles.cu: if SelectsTopNPerLevel(): candidates of the frame's strips or tiles of all levels and the histogram of
// their keys. FAST and its score, or Harris at every corner: then the candidates are in buckets, see
// select/buckets.cuh. [arc_length, harris]
absl::Status FindCorners(StreamView stream, const Launch& launch, const Frame& frame);
absl::Status PrepareCorners(Api* api);  // once per device, before the first
// fast_bounded.cu: FAST with bounded arcs, any score, suppression of any radius, into SelectionParams::output.
// [arc_length, bounded_tiles]
absl::Status FindBoundedCorners(StreamView stream, const Launch& launch, const Frame& frame,
                                const SelectionParams& params);
absl::Status PrepareBoundedCorners(Api* api);  // once per device, before the first
// fast_cells.cu: FAST in cells at two thresholds, into the lists of the quadtree.
absl::Status FindCellCorners(StreamView stream, const Launch& launch, const Frame& frame, const QuadtreeParams& params);
// dense_harris.cu: the smoothed image.
absl::Status SmoothImage(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
// Maxima of the Harris measure at every pixel into the buckets, and the greatest measure.
absl::Status FindDenseHarris(StreamView stream, const Launch& launch, const Frame& frame,
                             const SelectionParams& params);

// --- select/: the best corners, ties included, and their ranks

// shortlist.cu: the best of each level's candidates by the first ranking, exactly, ties included. Their keys become the
// Harris response or stay FAST scores. [rescores, orients]
absl::Status Shortlist(StreamView stream, const Launch& launch, const Frame& frame);
// quadtree.cu: the corners that the quadtrees keep, into the levels' shortlists.
absl::Status SelectByQuadtree(StreamView stream, const Launch& launch, const Frame& frame,
                              const QuadtreeParams& params);
absl::Status PrepareQuadtree(Api* api);  // once per device, before the first
// aggregate.cu: aggregation over levels: those of the cells' corners that survive it into the buckets. [lanes]
absl::Status Aggregate(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
// threshold.cu: the best of the image's candidates into the buckets.
absl::Status ThresholdCandidates(StreamView stream, const Launch& launch, const Frame& frame,
                                 const SelectionParams& params);
// rank_cells.cu: from the cells to the result.
absl::Status RankCells(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
// rank_in_registers.cu: the same, quicker, for a few thousand cells. [cell_pairs]
absl::Status RankInRegisters(StreamView stream, const Launch& launch, const Frame& frame,
                             const SelectionParams& params);
// rank_bin_buckets.cu: from the buckets to the result. [orients]
absl::Status RankBuckets(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);

// --- describe/: angles, descriptors, result

// orient.cu: each shortlisted corner's rank among its level's by the final ranking; the angle of those kept; both into
// the result. [orients, harris_keys, blocks]
absl::Status Orient(StreamView stream, const Launch& launch, const Frame& frame);
// orient_buckets.cu: the same where candidates come with the response that ranks them and are in the buckets of their
// level. [orients, blocks]
absl::Status OrientBuckets(StreamView stream, const Launch& launch, const Frame& frame);
// bfrost.cu: angles of Orientation::kArcMidpoint, and the result.
absl::Status FindArcMidpoints(StreamView stream, const Launch& launch, const Frame& frame,
                              const SelectionParams& params);
// The integral images in bands, then over the bands.
absl::Status SumBands(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
absl::Status SumBandsAbove(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
// BFROST descriptors, those angles and the result.
absl::Status DescribeBfrost(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params);
// rbrief.cu: rBRIEF descriptors into the result. [fixed_blur]
absl::Status DescribeRbrief(StreamView stream, const Launch& launch, const Frame& frame);
absl::Status PrepareRbrief(Api* api);  // once per device, before the first

// orient.cu: a kernel that does nothing, the floor of a launch.
absl::Status LaunchNothing(StreamView stream);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STAGES_H_
