// Table of contents of the CUDA backend: the launchers of all stages, in the order in which a frame runs them.
//
// A launcher enqueues on the stream and returns; it neither allocates nor waits. Errors are those of a kernel launch,
// by ToStatus(). Parameters travel to the kernels by value. Kernels read each other's output: they run in this order.
#ifndef GLINT_CUDA_STAGES_H_
#define GLINT_CUDA_STAGES_H_

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// --- pyramid/: images of all levels but the first, and their masks if there are any

// cascaded.cu: the frame's rows of all levels from the ones before; `small`: the smallest ones, if any.
absl::Status BuildCascade(StreamView stream, const Frame& frame, const SmallLevels& small, int multiprocessors);
// The frame's rows of level[index].image, and of .mask if there is one, from the level before. 1 <= index < levels.
absl::Status BuildLevel(StreamView stream, const Frame& frame, int index, int multiprocessors);

// pairs.cu: the same, for BuildLevel() to call where Level::one_window is not set.
absl::Status BuildLevelByPairs(StreamView stream, const Frame& frame, int index, int multiprocessors);
// All levels of Pyramid::kDirect from the image, images alone.
absl::Status BuildDirectLevels(StreamView stream, const Frame& frame, int multiprocessors);

// small_levels.cu: the frame's rows of the smallest levels of the cascaded pyramid, in one launch.
absl::Status BuildSmallLevels(StreamView stream, const Frame& frame, const SmallLevels& small);

// half.cu: three levels of Pyramid::kHalf from level `from` on.
absl::Status BuildHalfLevels(StreamView stream, const Frame& frame, int from);

// --- corners/: corner test, score, suppression, border, mask

// fast_tiles.cu: for SelectsTopNPerLevel(): candidates of the frame's strips of all levels and the histogram of their
// keys. FAST and its score, or Harris at every corner: then the candidates are in buckets, see select/buckets.cuh.
struct CornerTiling {
  int strips_per_block;
  int width;      // of the region that a strip owns, pixels of the level
  int margin_x;   // columns tested beyond it, at each side; of rows, one
  int step_rows;  // a strip tests a whole number of these
  int tile_rows;  // that a tile tests
  int quick_tile_rows;
  int reach;  // rows read beyond those tested, at each side
};
CornerTiling GetCornerTiling();
absl::Status PrepareCorners(Api* api);  // once per device, before the first FindCorners
absl::Status FindCorners(StreamView stream, const Frame& frame, int arc_length, bool harris, int multiprocessors);
// Whether the frame's strips or tiles leave most of the device idle, so that each has to be quick.
bool HasFewStrips(const Frame& frame, int multiprocessors);

// fast_bounded.cu: FAST with bounded arcs, any score, suppression of any radius, into SelectionParams::output.
struct BoundedTiling {
  int width, height;  // pixels that a tile tests
  int margin_x;       // columns that it tests beyond the region it owns, at each side; rows: the radius
  int alignment;      // of the first tested column
};
BoundedTiling GetBoundedTiling(int radius);    // of the suppression
absl::Status PrepareBoundedCorners(Api* api);  // once per device
absl::Status FindBoundedCorners(StreamView stream, const Frame& frame, const SelectionParams& params,
                                int multiprocessors);
// Whether FindBoundedCorners() ranks as well, so that RankCells() is not needed.
bool CornersRank(const Frame& frame, const SelectionParams& params, int multiprocessors);

// dense_harris.cu: maxima of the Harris measure at every pixel into the buckets, and the greatest measure.
absl::Status FindDenseHarris(StreamView stream, const Frame& frame, const SelectionParams& params);
struct DenseTiling {
  int strips_x;   // side by side, which own all columns
  int warps;      // of a block, whose strips are below each other
  int most_rows;  // of a strip; even
};
DenseTiling GetDenseTiling(int width, int block_radius, int radius);

// --- select/: the best corners, ties included, and their ranks

// shortlist.cu: for Selection::kTopN: the best of the candidates by the first ranking, exactly, ties included. With
// `rescore`, their keys become the Harris response; otherwise they keep their keys, FAST scores. Before Orient().
absl::Status Shortlist(StreamView stream, const Frame& frame, bool rescore, int multiprocessors);

// aggregate.cu: aggregation over levels: those of the cells' corners that survive it into the buckets.
absl::Status Aggregate(StreamView stream, const Frame& frame, const SelectionParams& params, int multiprocessors);

// threshold.cu: before RankBuckets(), without SelectionParams::ranks: the best of the candidates into the buckets.
absl::Status ThresholdCandidates(StreamView stream, const Frame& frame, const SelectionParams& params,
                                 int multiprocessors);

// rank_cells.cu: from the cells to the result.
absl::Status RankCells(StreamView stream, const Frame& frame, const SelectionParams& params, int multiprocessors);
// rank_in_registers.cu: the same, if RanksInRegisters() says so; quicker.
bool RanksInRegisters(const Frame& frame, const SelectionParams& params, int multiprocessors);
absl::Status RankInRegisters(StreamView stream, const Frame& frame, const SelectionParams& params);
// rank_bin_buckets.cu: from the buckets to the result.
absl::Status RankBuckets(StreamView stream, const Frame& frame, const SelectionParams& params, int multiprocessors);

// --- describe/: angles, descriptors, result

// orient.cu: each shortlisted corner's rank among its level's by the final ranking; the angle of those kept; both into
// the result. `harris_keys`: the shortlist's keys are Harris responses.
absl::Status Orient(StreamView stream, const Frame& frame, bool harris_keys, int multiprocessors);
// orient_buckets.cu: in place of Shortlist() and Orient() where candidates come with the response that ranks them and
// are in the buckets of their level.
absl::Status OrientBuckets(StreamView stream, const Frame& frame, int multiprocessors);

// bfrost.cu: after the ranking, which leaves the result to these: angles of Orientation::kArcMidpoint.
absl::Status FindArcMidpoints(StreamView stream, const Frame& frame, const SelectionParams& params,
                              int multiprocessors);
// Before DescribeBfrost(), any time after the pyramid.
absl::Status BuildIntegrals(StreamView stream, const Frame& frame, const SelectionParams& params);
// After the ranking: angles and descriptors.
absl::Status DescribeBfrost(StreamView stream, const Frame& frame, const SelectionParams& params, int multiprocessors);

// rbrief.cu: rBRIEF descriptors into the result.
absl::Status PrepareRbrief(Api* api);  // once per device, before the first DescribeRbrief
absl::Status DescribeRbrief(StreamView stream, const Frame& frame, int multiprocessors);

// orient.cu: a kernel that does nothing, the floor of a launch.
absl::Status LaunchNothing(StreamView stream);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STAGES_H_
