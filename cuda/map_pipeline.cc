#include "cuda/map_pipeline.h"

#include <algorithm>

#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

absl::Status EnqueuePyramid(StreamView stream, const DetectorOptions& options, const Frame& frame, const Tail& tail,
                            int multiprocessors) {
  switch (options.pyramid) {
    case Pyramid::kCascaded:
      return BuildCascade(stream, frame, tail, multiprocessors);
    case Pyramid::kDirect:
      return BuildDirectLevels(stream, frame, multiprocessors);
    case Pyramid::kHalf:
      for (int l = 0; l + 1 < frame.levels; l += 3) GLINT_RETURN_IF_ERROR(BuildHalfLevels(stream, frame, l));
      return absl::OkStatus();
  }
  return absl::InternalError("pyramid stage: kind");
}

// From corners to the result.
absl::Status EnqueueSelection(StreamView stream, const DetectorOptions& options, const Frame& frame,
                              const MapFrame& map, int multiprocessors) {
  if (map.sink == Sink::kLevelCells) GLINT_RETURN_IF_ERROR(Aggregate(stream, frame, map, multiprocessors));
  if (RanksFew(frame, map, multiprocessors)) return RankFew(stream, frame, map);
  if (map.sink == Sink::kImageCells) return RankMap(stream, frame, map, multiprocessors);
  if (!map.ranks) GLINT_RETURN_IF_ERROR(CutCandidates(stream, frame, map, multiprocessors));
  if (map.ranks || !map.cut_by_level) return RankBuckets(stream, frame, map, multiprocessors);
  if (options.ranking == Ranking::kHarris) GLINT_RETURN_IF_ERROR(RescoreShortlists(stream, frame, multiprocessors));
  return Orient(stream, frame, /*harris_keys=*/true, multiprocessors);
}

}  // namespace

absl::Status EnqueueMap(StreamView stream, const DetectorOptions& options, const Frame& frame, const Tail& tail,
                        const MapFrame& map, int multiprocessors, const std::function<absl::Status()>& mark) {
  GLINT_RETURN_IF_ERROR(EnqueuePyramid(stream, options, frame, tail, multiprocessors));
  GLINT_RETURN_IF_ERROR(mark());
  GLINT_RETURN_IF_ERROR(map.is_dense ? FindDenseHarris(stream, frame, map)
                                     : FindMapCorners(stream, frame, map, multiprocessors));
  GLINT_RETURN_IF_ERROR(mark());
  const bool finds_arcs = options.descriptor == Descriptor::kBfrost || options.orientation == Orientation::kArcMidpoint;
  Frame selection = frame;
  // Where angles come later, so does the result, which is then written once.
  for (Level& level : selection.level) level.result = finds_arcs ? level.ranked : level.result;
  if (!CornersRank(frame, map, multiprocessors)) {
    GLINT_RETURN_IF_ERROR(EnqueueSelection(stream, options, selection, map, multiprocessors));
  }
  GLINT_RETURN_IF_ERROR(mark());
  if (options.descriptor == Descriptor::kBfrost) {
    GLINT_RETURN_IF_ERROR(BuildIntegrals(stream, frame, map));
    return DescribeBfrost(stream, frame, map, multiprocessors);
  }
  if (options.orientation == Orientation::kArcMidpoint) {
    GLINT_RETURN_IF_ERROR(FindArcMidpoints(stream, frame, map, multiprocessors));
  }
  if (options.descriptor == Descriptor::kRbrief) return Describe(stream, frame, multiprocessors);
  return absl::OkStatus();
}

int CountMapLaunches(const DetectorOptions& options, const Frame& frame, const Tail& tail, const MapFrame& map,
                     int multiprocessors) {
  int levels = 0;  // made from others
  for (int l = 1; l < frame.levels; ++l) levels += frame.level[l].width > 0 ? 1 : 0;
  int launches = options.pyramid == Pyramid::kCascaded ? levels - std::max(0, tail.levels - 1)
                 : options.pyramid == Pyramid::kHalf   ? (levels + 2) / 3
                                                       : std::min(levels, 1);
  launches += 1 + (map.smooth != nullptr ? 1 : 0);
  launches += map.sink == Sink::kLevelCells ? 1 : 0;
  if (!CornersRank(frame, map, multiprocessors)) {
    launches += map.ranks ? 1 : !map.cut_by_level ? 2 : options.ranking == Ranking::kHarris ? 4 : 3;
  }
  if (options.descriptor == Descriptor::kBfrost) return launches + 3;
  launches += options.orientation == Orientation::kArcMidpoint ? 1 : 0;
  return launches + (options.descriptor == Descriptor::kRbrief ? 1 : 0);
}

}  // namespace glint::cuda
