// The launchers of the detectors that are not of cv::ORB's kind, in the order in which a frame runs them, as
// cuda/stages.h has them for those that are. Corner stages feed the candidates or cells.
#ifndef GLINT_CUDA_MAP_STAGES_H_
#define GLINT_CUDA_MAP_STAGES_H_

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// map_pyramid.cu: three levels of Pyramid::kHalf from level `from` on. kDirect and kCascaded: see stages.h.
absl::Status BuildHalfLevels(StreamView stream, const Frame& frame, int from);

// map_corners.cu: FAST with bounded arcs, any score, suppression of any radius, border, mask, into the sink.
struct MapTiling {
  int width, height;  // pixels that a tile tests
  int margin_x;       // columns that it tests but does not answer for, at each side; rows: the radius
  int alignment;      // of the first tested column
};
MapTiling GetMapTiling(int radius);        // of the suppression
absl::Status PrepareMapCorners(Api* api);  // once per device
absl::Status FindMapCorners(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);
// Whether FindMapCorners() ranks as well, so that RankMap() is not needed.
bool CornersRank(const Frame& frame, const MapFrame& map, int multiprocessors);

// dense_harris.cu: maxima of the Harris measure at every pixel into the buckets, and the greatest measure.
absl::Status FindDenseHarris(StreamView stream, const Frame& frame, const MapFrame& map);
struct DenseTiling {
  int strips_x;   // side by side, which answer for all columns
  int warps;      // of a block, whose strips are below each other
  int most_rows;  // of a strip; even
};
DenseTiling GetDenseTiling(int width, int block_radius, int radius);

// cells.cu: aggregation over levels: those of the cells' corners that survive it into the buckets.
absl::Status Aggregate(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);

// map_rank.cu: from the cells to the result.
absl::Status RankMap(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);
// map_rank_buckets.cu: from the buckets to the result. Without MapFrame::ranks after a cut by image.
absl::Status RankBuckets(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);

// map_rank_few.cu: the same for cells, if RanksFew() says so; quicker.
bool RanksFew(const Frame& frame, const MapFrame& map, int multiprocessors);
absl::Status RankFew(StreamView stream, const Frame& frame, const MapFrame& map);

// cut.cu: before RankBuckets() or, if it is by level, Orient(): the best of the candidates into the buckets or, then
// exactly, ties included, the shortlists.
absl::Status CutCandidates(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);
// The shortlists' keys become Harris measures.
absl::Status RescoreShortlists(StreamView stream, const Frame& frame, int multiprocessors);

// bfrost.cu: after the ranking, which leaves the result to these: angles of Orientation::kArcMidpoint.
absl::Status FindArcMidpoints(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);
// Before DescribeBfrost(), any time after the pyramid.
absl::Status BuildIntegrals(StreamView stream, const Frame& frame, const MapFrame& map);
// After the ranking: angles and descriptors.
absl::Status DescribeBfrost(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_STAGES_H_
