#include "cuda/enqueue.h"

#include <algorithm>

#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

absl::Status EnqueuePyramid(StreamView stream, const DetectorOptions& options, const Frame& frame,
                            const SmallLevels& small, int multiprocessors) {
  switch (options.pyramid) {
    case Pyramid::kCascaded:
      return BuildCascade(stream, frame, small, multiprocessors);
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
                              const SelectionParams& params, int multiprocessors) {
  if (params.output == CornerOutput::kLevelCells)
    GLINT_RETURN_IF_ERROR(Aggregate(stream, frame, params, multiprocessors));
  if (options.selection == Selection::kTopN) return SelectTopN(stream, options, frame, multiprocessors);
  if (RanksInRegisters(frame, params, multiprocessors)) return RankInRegisters(stream, frame, params);
  if (params.output == CornerOutput::kImageCells) return RankCells(stream, frame, params, multiprocessors);
  if (!params.ranks) GLINT_RETURN_IF_ERROR(ThresholdCandidates(stream, frame, params, multiprocessors));
  return RankBuckets(stream, frame, params, multiprocessors);
}

}  // namespace

absl::Status SelectTopN(StreamView stream, const DetectorOptions& options, const Frame& frame, int multiprocessors) {
  if (frame.level[0].buckets != nullptr) return OrientBuckets(stream, frame, multiprocessors);
  const bool rescore = options.ranking == Ranking::kHarris;
  GLINT_RETURN_IF_ERROR(Shortlist(stream, frame, rescore, multiprocessors));
  return Orient(stream, frame, rescore, multiprocessors);
}

absl::Status EnqueueStages(StreamView stream, const DetectorOptions& options, const Frame& frame,
                           const SmallLevels& small, const SelectionParams& params, int multiprocessors,
                           const std::function<absl::Status()>& mark) {
  GLINT_RETURN_IF_ERROR(EnqueuePyramid(stream, options, frame, small, multiprocessors));
  GLINT_RETURN_IF_ERROR(mark());
  GLINT_RETURN_IF_ERROR(params.is_dense ? FindDenseHarris(stream, frame, params)
                                        : FindBoundedCorners(stream, frame, params, multiprocessors));
  GLINT_RETURN_IF_ERROR(mark());
  const bool finds_arcs = options.descriptor == Descriptor::kBfrost || options.orientation == Orientation::kArcMidpoint;
  Frame selection = frame;
  // Where angles come later, so does the result, which is then written once.
  for (Level& level : selection.level) level.result = finds_arcs ? level.ranked : level.result;
  if (!CornersRank(frame, params, multiprocessors)) {
    GLINT_RETURN_IF_ERROR(EnqueueSelection(stream, options, selection, params, multiprocessors));
  }
  GLINT_RETURN_IF_ERROR(mark());
  if (options.descriptor == Descriptor::kBfrost) {
    GLINT_RETURN_IF_ERROR(BuildIntegrals(stream, frame, params));
    return DescribeBfrost(stream, frame, params, multiprocessors);
  }
  if (options.orientation == Orientation::kArcMidpoint) {
    GLINT_RETURN_IF_ERROR(FindArcMidpoints(stream, frame, params, multiprocessors));
  }
  if (options.descriptor == Descriptor::kRbrief) return DescribeRbrief(stream, frame, multiprocessors);
  return absl::OkStatus();
}

int CountStageLaunches(const DetectorOptions& options, const Frame& frame, const SmallLevels& small,
                       const SelectionParams& params, int multiprocessors) {
  int levels = 0;  // made from others
  for (int l = 1; l < frame.levels; ++l) levels += frame.level[l].width > 0 ? 1 : 0;
  int launches = options.pyramid == Pyramid::kCascaded ? levels - std::max(0, small.levels - 1)
                 : options.pyramid == Pyramid::kHalf   ? (levels + 2) / 3
                                                       : std::min(levels, 1);
  launches += 1 + (params.smooth != nullptr ? 1 : 0);
  launches += params.output == CornerOutput::kLevelCells ? 1 : 0;
  if (!CornersRank(frame, params, multiprocessors)) {
    launches += params.ranks || params.output == CornerOutput::kBuckets ? 1 : 2;
  }
  if (options.descriptor == Descriptor::kBfrost) return launches + 3;
  launches += options.orientation == Orientation::kArcMidpoint ? 1 : 0;
  return launches + (options.descriptor == Descriptor::kRbrief ? 1 : 0);
}

}  // namespace glint::cuda
