// How the levels are divided for the corner stage: into tiles or strips, and these into blocks; and the room for what
// it finds.
#include <algorithm>
#include <limits>

#include "cuda/plan/plan.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kMaxStripSteps = 8;
constexpr double kLastBlocks = 2.5;  // of the corner stage, that a multiprocessor could do while it waits for the last
constexpr int kManyTiles = 100;      // for a multiprocessor, from which on strips are better
// Of a bucket. Above the cut they hold less than the level's share together, a hundredth of it or two each in
// photographs; of those below it nothing is read.
constexpr int kSmallestRoom = 128;
constexpr int kLargestRoom = 1024;
constexpr int kOfShare = 16;

}  // namespace

// Tiles are faster unless they are so many that a dense one is made up for by others. Only tiles have the Harris
// measure.
void Plan::DivideForCorners(int multiprocessors) {
  const bool harris = key_.options.score == Score::kHarris;
  const int steps = ChooseStripSteps(multiprocessors);
  PlanStrips(steps);
  const bool few = HasFewStrips(frame_, multiprocessors) && !harris;
  PlanTiles(few ? CornerBlocks::kQuickTiles : CornerBlocks::kTiles);
  if (!harris && frame_.corner_blocks >= kManyTiles * multiprocessors) PlanStrips(steps);
}

// How high strips had better be. Each tests two rows more than it answers for, so that high ones are less work in all;
// but when the last ones run, of each part of an image that comes in parts, most of the device has nothing left to do.
int Plan::ChooseStripSteps(int multiprocessors) {
  int best = 1;
  double least = std::numeric_limits<double>::max();
  for (int steps = 1; steps <= kMaxStripSteps; ++steps) {
    PlanStrips(steps);
    const double time = steps * (frame_.corner_blocks + key_.parts * kLastBlocks * multiprocessors);
    if (time >= least) continue;
    least = time;
    best = steps;
  }
  return best;
}

// Divides the levels into strips of `steps` steps.
void Plan::PlanStrips(int steps) {
  frame_.corners = CornerBlocks::kStrips;
  frame_.strip_steps = steps;
  DivideLevels();
}

void Plan::PlanTiles(CornerBlocks tiles) {
  frame_.corners = tiles;
  DivideLevels();
}

void Plan::DivideLevels() {
  const CornerTiling tiling = GetCornerTiling();
  const int border = std::max(key_.options.edge_threshold, kFastRadius);
  for (int l = 0; l < frame_.levels; ++l) {
    Level& level = frame_.level[l];
    level.strip_x0 = (border - tiling.margin_x) & ~3;
    const int columns = level.width - border - (level.strip_x0 + tiling.margin_x);
    level.strips_x = level.width > 2 * border ? DivideUp(columns, tiling.width) : 0;
    level.end_strip = StripsIn(level, level.height);
  }
  PlanBlocks(&frame_);
}

// Strips or tiles of a level that lie within its first `rows` rows, with all that they read.
int Plan::StripsIn(const Level& level, int rows) const {
  const CornerTiling tiling = GetCornerTiling();
  const int border = std::max(key_.options.edge_threshold, kFastRadius);
  const int tested = frame_.corners == CornerBlocks::kStrips  ? frame_.strip_steps * tiling.step_rows
                     : frame_.corners == CornerBlocks::kTiles ? tiling.tile_rows
                                                              : tiling.quick_tile_rows;
  const int owned = tested - 2;  // rows of a strip
  const int all = DivideUp(std::max(level.height - 2 * border, 0), owned);
  const int room = rows - border - tiling.reach - 1;  // for owned rows, and one more
  const int down = rows == level.height ? all : std::min(std::max(room, 0) / owned, all);
  return level.strips_x * down;
}

int Plan::BucketRoom(int share, size_t most) {
  constexpr int kInLine = 16;  // in a cache line
  const auto room = static_cast<size_t>(std::clamp(share / kOfShare, kSmallestRoom, kLargestRoom));
  return DivideUp(static_cast<int>(std::min(room, most)), kInLine) * kInLine;
}

void Plan::PlanBlocks(Frame* frame) {
  frame->corner_blocks = 0;
  for (int l = 0; l < frame->levels; ++l) {
    Level& level = frame->level[l];
    level.first_block = frame->corner_blocks;
    const int per_block = frame->corners == CornerBlocks::kStrips ? GetCornerTiling().strips_per_block : 1;
    frame->corner_blocks += DivideUp(level.end_strip - level.first_strip, per_block);
    // The corner stage runs in any case, if only to clear counters.
    if (l == 0) frame->corner_blocks = std::max(frame->corner_blocks, 1);
  }
}

}  // namespace glint::cuda
