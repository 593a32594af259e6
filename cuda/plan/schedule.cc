#include "cuda/plan/schedule.h"

#include "cuda/plan/block_shapes.h"
#include "cuda/plan/patch_shape.h"

namespace glint::cuda {
namespace {

// Images of so many pixels come in parts: smaller ones arrive before a part's launches are done.
constexpr int64_t kPixelsInParts = 2'000'000;
// Of the shortlist, for each multiprocessor: with no more, to find all angles beside the scores ends sooner than to
// find those of the kept half after the ranking.
constexpr int kOrientedEarly = 100;

bool FindsArcs(const DetectorOptions& options) {
  return options.descriptor == Descriptor::kBfrost || options.orientation == Orientation::kArcMidpoint;
}

// What follows the ranking. BFROST's launches do not overlap their predecessors: blocks would be placed where there is
// room while those run, on few multiprocessors.
void AddDescribe(const ScheduleInput& in, std::vector<Launch>* launches) {
  Launch launch;
  launch.stage = Stage::kDescribe;
  launch.block.x = kBfrostThreads;
  if (in.options.descriptor == Descriptor::kBfrost) {
    launch.kernel = Kernel::kBandSums;
    launch.grid.x = in.params->bands;
    launches->push_back(launch);
    launch.kernel = Kernel::kBandsAbove;
    launch.grid = {DivideUp(in.frame.level[0].width, kWarp), in.frame.levels, 1};
    launch.block.x = kWarp;
    launches->push_back(launch);
    launch.kernel = Kernel::kBfrost;
    launch.grid = {kBfrostBlocksWanted * in.multiprocessors, 1, 1};
    launch.block.x = kBfrostThreads;
    launches->push_back(launch);
    return;
  }
  if (in.options.orientation == Orientation::kArcMidpoint) {
    launch.kernel = Kernel::kArcMidpoints;
    launch.grid.x = in.multiprocessors;
    launches->push_back(launch);
  }
  if (in.options.descriptor == Descriptor::kRbrief) {
    launch.kernel = Kernel::kRbrief;
    launch.grid.x = kRbriefBlocksWanted * in.multiprocessors;
    launch.block.x = kRbriefThreads;
    launch.shared_bytes = PatchShape(in.frame.descriptor_reach).SharedBytes();
    launch.fixed_blur = in.options.selection == Selection::kQuadtree;
    launch.variant = launch.fixed_blur ? "fixed-point blur" : "";
    launch.overlaps_predecessor = true;
    launches->push_back(launch);
  }
}

}  // namespace

bool CanComeInParts(const DetectorOptions& options, Shape shape, bool masked, bool integrated) {
  return SelectsTopNPerLevel(options) && !masked && !integrated && shape.pixels() >= kPixelsInParts;
}

bool OrientsEarly(const DetectorOptions& options, const Frame& frame, int multiprocessors) {
  int64_t shortlisted = 0;
  for (const Level& level : frame.level) shortlisted += level.first_share;
  return frame.orient && SelectsTopNPerLevel(options) && shortlisted <= int64_t{kOrientedEarly} * multiprocessors;
}

bool HasLinearLevels(const DetectorOptions& options) { return options.selection == Selection::kQuadtree; }

bool HasSelectionParams(const DetectorOptions& options) {
  return !SelectsTopNPerLevel(options) && options.selection != Selection::kQuadtree;
}

bool HasShortlists(const DetectorOptions& options) {
  return options.selection == Selection::kQuadtree ||
         (options.selection == Selection::kTopN && !HasLevelBuckets(options));
}

bool HasLevelBuckets(const DetectorOptions& options) {
  return options.selection == Selection::kTopN && options.ranking == Ranking::kScore &&
         (options.score == Score::kHarris || !SelectsTopNPerLevel(options));
}

Schedule MakeSchedule(const ScheduleInput& in) {
  Schedule schedule;
  AddPyramid(in, &schedule.launches);
  AddCorners(in, &schedule.launches);
  if (!in.is_last_part) return schedule;
  AddRanking(in, &schedule.launches);
  AddDescribe(in, &schedule.launches);
  schedule.result_follows = FindsArcs(in.options);
  return schedule;
}

}  // namespace glint::cuda
