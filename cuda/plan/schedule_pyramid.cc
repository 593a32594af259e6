// Launches of the pyramid.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "cuda/plan/schedule.h"
#include "cuda/plan/tiling.h"

namespace glint::cuda {
namespace {

Launch PyramidLaunch(const ScheduleInput& in, Kernel kernel) {
  Launch launch;
  launch.stage = Stage::kPyramid;
  launch.kernel = kernel;
  launch.overlaps_predecessor = true;
  launch.linear = HasLinearLevels(in.options);
  return launch;
}

// Where there is enough work, fewer threads with more rows each spend less on getting ready.
Launch LevelLaunch(const ScheduleInput& in, int l) {
  const Level& level = in.frame.level[l];
  const int groups = DivideUp(level.width, kLevelColumns);
  const int steps = level.end_step - (level.first_step & ~3);
  const auto threads = [&](int rows) { return groups * DivideUp(steps, rows); };
  const auto is_enough = [&](int rows, int warps) { return threads(rows) >= warps * kWarp * in.multiprocessors; };
  Launch launch = PyramidLaunch(in, Kernel::kLevel);
  launch.level = l;
  launch.levels = 1;
  launch.from = l - 1;
  launch.steps = is_enough(16, 48) ? 16 : is_enough(8, 16) ? 8 : is_enough(4, 12) ? 4 : 2;
  launch.block.x = kLevelThreads;
  launch.grid = {DivideUp(threads(launch.steps), kLevelThreads), 1, in.masked ? 2 : 1};
  launch.variant = absl::StrCat("level ", l, ", ", launch.steps, " rows a thread", launch.linear ? ", linear" : "");
  return launch;
}

// Levels `first` on, all from level `from`, by pairs of columns.
Launch PairsLaunch(const ScheduleInput& in, int first, int count, int from, bool masked) {
  // Whether there are `warps` for each multiprocessor.
  const auto is_enough = [&](int pairs, int steps, int warps) {
    int64_t sum = 0;
    for (int l = first; l < first + count; ++l) sum += PairThreads(in.frame.level[l], pairs, steps);
    return sum >= int64_t{warps} * kWarp * in.multiprocessors;
  };
  struct Division {
    int pairs, steps, warps;
  };
  // Where there is enough work, fewer threads with more of it spend less on getting ready.
  Division chosen = {kFewPairs, 4, 0};
  for (const Division& division : {Division{kManyPairs, 32, 96}, Division{kManyPairs, 16, 30},
                                   Division{kFewPairs, 16, 24}, Division{kFewPairs, 8, 24}}) {
    if (!is_enough(division.pairs, division.steps, division.warps)) continue;
    chosen = division;
    break;
  }
  Launch launch = PyramidLaunch(in, Kernel::kLevelsByPairs);
  launch.level = first;
  launch.levels = count;
  launch.from = from;
  launch.steps = chosen.steps;
  launch.column_pairs = chosen.pairs;
  int blocks = 0;
  for (int l = first; l < first + count; ++l) {
    blocks += DivideUp(PairThreads(in.frame.level[l], chosen.pairs, chosen.steps), kPairThreads);
  }
  launch.block.x = kPairThreads;
  launch.grid = {blocks, 1, masked ? 2 : 1};
  launch.variant =
      absl::StrCat("level ", first, count > 1 ? absl::StrCat(" to ", first + count - 1) : "", ", ", 2 * chosen.pairs,
                   " columns x ", chosen.steps, " rows a thread", launch.linear ? ", linear" : "");
  return launch;
}

Launch SmallLevelsLaunch(const ScheduleInput& in) {
  const SmallLevels& small = in.small;
  Launch launch = PyramidLaunch(in, Kernel::kSmallLevels);
  launch.level = small.first;
  launch.levels = small.levels;
  launch.from = small.first - 1;
  launch.block.x = kSmallLevelsThreads;
  launch.grid = {small.tiles_x, small.tiles_y, in.masked ? 2 : 1};
  launch.shared_bytes = small.shared_bytes;
  launch.variant =
      absl::StrCat("level ", small.first, " to ", small.first + small.levels - 1, launch.linear ? ", linear" : "");
  return launch;
}

Launch HalfLevelsLaunch(const ScheduleInput& in, int from, int count) {
  const Level& level = in.frame.level[from];
  Launch launch = PyramidLaunch(in, Kernel::kHalfLevels);
  launch.level = from + 1;
  launch.levels = count;
  launch.from = from;
  launch.block = {kWarp, kHalfWarps, 1};
  launch.grid = {DivideUp(level.width, kWarp * kHalfSide), DivideUp(level.height, kHalfWarps * kHalfSide), 1};
  launch.variant = absl::StrCat("level ", from + 1, count > 1 ? absl::StrCat(" to ", from + count) : "");
  return launch;
}

// Levels after the first that have not vanished.
int LevelsMade(const Frame& frame) {
  int count = 0;
  while (count + 1 < frame.levels && frame.level[count + 1].width > 0) ++count;
  return count;
}

}  // namespace

void AddPyramid(const ScheduleInput& in, std::vector<Launch>* launches) {
  const int made = LevelsMade(in.frame);
  switch (in.options.pyramid) {
    case Pyramid::kCascaded:
      for (int l = 1; l < (in.small.levels > 0 ? in.small.first : made + 1); ++l) {
        const Level& level = in.frame.level[l];
        if (level.end_row == level.first_row) continue;  // nothing of it in this part
        launches->push_back(level.one_window ? LevelLaunch(in, l) : PairsLaunch(in, l, 1, l - 1, in.masked));
      }
      if (in.small.levels > 0) launches->push_back(SmallLevelsLaunch(in));
      return;
    case Pyramid::kDirect:
      // Masks have no levels here.
      if (made > 0) launches->push_back(PairsLaunch(in, 1, made, 0, /*masked=*/false));
      return;
    case Pyramid::kHalf:
      for (int from = 0; from < made; from += kHalfLevelsMost) {
        launches->push_back(HalfLevelsLaunch(in, from, std::min(kHalfLevelsMost, made - from)));
      }
      return;
  }
}

}  // namespace glint::cuda
