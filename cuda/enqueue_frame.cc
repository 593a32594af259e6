#include "cuda/enqueue_frame.h"

#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// The frame as the ranking sees it: where the result follows, it writes Level::ranked alone.
Frame RankingFrame(const Schedule& schedule, Frame frame) {
  for (Level& level : frame.level) level.result = schedule.result_follows ? level.ranked : level.result;
  return frame;
}

}  // namespace

absl::Status EnqueueLaunch(StreamView stream, const Schedule& schedule, const Launch& launch,
                           const PlacedFrame& placed) {
  const Frame& frame = placed.frame;
  const SelectionParams& params = placed.params;
  const auto ranking = [&] { return RankingFrame(schedule, frame); };
  switch (launch.kernel) {
    case Kernel::kLevel:
      return BuildLevel(stream, launch, frame);
    case Kernel::kLevelsByPairs:
      return BuildLevelsByPairs(stream, launch, frame);
    case Kernel::kSmallLevels:
      return BuildSmallLevels(stream, launch, frame, placed.small);
    case Kernel::kHalfLevels:
      return BuildHalfLevels(stream, launch, frame);
    case Kernel::kCorners:
      return FindCorners(stream, launch, frame);
    case Kernel::kBoundedCorners:
      return FindBoundedCorners(stream, launch, frame, params);
    case Kernel::kCellCorners:
      return FindCellCorners(stream, launch, frame, placed.quadtree);
    case Kernel::kSmooth:
      return SmoothImage(stream, launch, frame, params);
    case Kernel::kDenseHarris:
      return FindDenseHarris(stream, launch, frame, params);
    case Kernel::kShortlist:
      return Shortlist(stream, launch, frame);
    case Kernel::kQuadtree:
      return SelectByQuadtree(stream, launch, frame, placed.quadtree);
    case Kernel::kAggregate:
      return Aggregate(stream, launch, frame, params);
    case Kernel::kThreshold:
      return ThresholdCandidates(stream, launch, frame, params);
    case Kernel::kRankCells:
      return RankCells(stream, launch, ranking(), params);
    case Kernel::kRankInRegisters:
      return RankInRegisters(stream, launch, ranking(), params);
    case Kernel::kRankBuckets:
      return RankBuckets(stream, launch, ranking(), params);
    case Kernel::kOrient:
      return Orient(stream, launch, ranking());
    case Kernel::kOrientBuckets:
      return OrientBuckets(stream, launch, ranking());
    case Kernel::kArcMidpoints:
      return FindArcMidpoints(stream, launch, frame, params);
    case Kernel::kBandSums:
      return SumBands(stream, launch, frame, params);
    case Kernel::kBandsAbove:
      return SumBandsAbove(stream, launch, frame, params);
    case Kernel::kBfrost:
      return DescribeBfrost(stream, launch, frame, params);
    case Kernel::kRbrief:
      return DescribeRbrief(stream, launch, frame);
  }
  return absl::InternalError("a launch of no kernel");
}

absl::Status EnqueueStage(StreamView stream, const Schedule& schedule, Stage stage, const PlacedFrame& placed) {
  const Range range(NameOf(stage));
  for (const Launch& launch : schedule.launches) {
    if (launch.stage == stage) GLINT_RETURN_IF_ERROR(EnqueueLaunch(stream, schedule, launch, placed));
  }
  return absl::OkStatus();
}

absl::Status EnqueueFrame(StreamView stream, const Schedule& schedule, const PlacedFrame& placed,
                          const std::function<absl::Status()>& mark) {
  GLINT_RETURN_IF_ERROR(mark());
  for (Stage stage : {Stage::kPyramid, Stage::kCorners, Stage::kSelect, Stage::kDescribe}) {
    GLINT_RETURN_IF_ERROR(EnqueueStage(stream, schedule, stage, placed));
    GLINT_RETURN_IF_ERROR(mark());
  }
  return absl::OkStatus();
}

}  // namespace glint::cuda
