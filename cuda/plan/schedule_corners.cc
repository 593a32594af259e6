// Choices and launches of the corner stage.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "cuda/plan/schedule.h"
#include "cuda/plan/tiling.h"

namespace glint::cuda {
namespace {

constexpr int kMaxStripSteps = 8;
constexpr double kLastBlocks = 2.5;  // of the corner stage, that a multiprocessor could do while it waits for the last
constexpr int kManyTiles = 100;      // for a multiprocessor, from which on strips are better
// Strips, or tiles of four warps, are few with up to so many warps of a multiprocessor.
constexpr int kFewWarps = 12;
// Of a bucket. Above the threshold they hold less than the level's share together, a hundredth of it or two each in
// photographs; of those below it nothing is read.
constexpr int kSmallestRoom = 128;
constexpr int kLargestRoom = 1024;
constexpr int kOfShare = 16;

// How high strips had better be. Each tests two rows more than it owns, so that high ones are less work in all; but
// when the last ones run, of each part of an image that comes in parts, most of the device has nothing left to do.
int ChooseStripSteps(const DetectorOptions& options, int parts, int multiprocessors, Frame* frame) {
  int best = 1;
  double least = std::numeric_limits<double>::max();
  for (int steps = 1; steps <= kMaxStripSteps; ++steps) {
    DivideForCorners(options, CornerBlocks::kStrips, steps, frame);
    const double time = steps * (frame->corner_blocks + parts * kLastBlocks * multiprocessors);
    if (time >= least) continue;
    least = time;
    best = steps;
  }
  return best;
}

const char* NameOf(CornerBlocks blocks) {
  static constexpr const char* kNames[] = {"strips", "tiles", "quick tiles"};
  return kNames[static_cast<size_t>(blocks)];
}

const char* NameOf(BoundedTiles tiles) {
  static constexpr const char* kNames[] = {"few tiles", "low tiles", "tiles", "tiles with tile cells"};
  return kNames[static_cast<size_t>(tiles)];
}

Launch CornersLaunch(const ScheduleInput& in) {
  const Frame& frame = in.frame;
  Launch launch;
  launch.stage = Stage::kCorners;
  launch.kernel = Kernel::kCorners;
  launch.arc_length = in.options.arc_length;
  launch.harris = in.options.score == Score::kHarris;
  const bool strips = frame.corners == CornerBlocks::kStrips;
  const bool quick = frame.corners == CornerBlocks::kQuickTiles;
  launch.block.x = kWarp * (strips ? kStripWarps : TileWarps(quick));
  launch.shared_bytes = strips ? StripBlockBytes() : TileBlockBytes(launch.harris, quick);
  launch.grid.x = frame.corner_blocks;
  // Beside the pyramid's last blocks, blocks that come early are placed unevenly, which is not made up for where all
  // run at once.
  const int at_once = launch.harris ? kHarrisTilesAtOnce : kTilesAtOnce;
  launch.overlaps_predecessor =
      !HasFewBlocks(frame, in.multiprocessors) && frame.corner_blocks > at_once * in.multiprocessors;
  launch.variant = absl::StrCat(NameOf(frame.corners), strips ? absl::StrCat(", ", frame.strip_steps, " steps") : "",
                                ", arc ", launch.arc_length, launch.harris ? ", Harris" : "");
  return launch;
}

Launch BoundedCornersLaunch(const ScheduleInput& in) {
  const SelectionParams& params = *in.params;
  Launch launch;
  launch.stage = Stage::kCorners;
  launch.kernel = Kernel::kBoundedCorners;
  launch.arc_length = params.arc_length;
  launch.bounded_tiles = in.bounded_tiles;
  launch.block.x = kWarp * ShapeOf(params.score, in.bounded_tiles).warps;
  launch.shared_bytes =
      BoundedTileBytes(params.score, in.bounded_tiles, /*histogram=*/params.output == CornerOutput::kList);
  launch.grid.x = params.tiles;
  launch.overlaps_predecessor = true;
  launch.variant = absl::StrCat(NameOf(in.bounded_tiles), ", arc ", launch.arc_length,
                                params.ranks_in_last_block ? ", last block ranks" : "");
  return launch;
}

Launch CellCornersLaunch(const ScheduleInput& in) {
  const QuadtreeParams& params = *in.quadtree;
  int rows = 1;
  for (int l = 0; l < in.frame.levels; ++l) rows = std::max(rows, params.level[l].down.cell);
  const int warps = DivideUp(rows, kCellTileWarpRows);
  Launch launch;
  launch.stage = Stage::kCorners;
  launch.kernel = Kernel::kCellCorners;
  launch.arc_length = in.options.arc_length;
  launch.block.x = kWarp * warps;
  launch.shared_bytes = CellTileBytes(warps);
  launch.grid.x = params.tiles;
  launch.overlaps_predecessor = true;
  launch.variant = absl::StrCat(warps * kCellTileWarpRows, " rows a tile");
  return launch;
}

void AddDenseHarris(const ScheduleInput& in, std::vector<Launch>* launches) {
  const Level& level = in.frame.level[0];
  Launch launch;
  launch.stage = Stage::kCorners;
  launch.overlaps_predecessor = true;
  if (in.options.smooth) {
    launch.kernel = Kernel::kSmooth;
    launch.block = {kWarp, kSmoothRows, 1};
    launch.grid = {DivideUp(level.width, kWarp), DivideUp(level.height, kSmoothRows), 1};
    launches->push_back(launch);
  }
  const bool three = in.params->radius == 1;
  launch.kernel = Kernel::kDenseHarris;
  launch.block = {kWarp * (three ? kTileWarps<true> : kTileWarps<false>), 1, 1};
  launch.grid = {in.params->tiles, 1, 1};
  launch.variant = absl::StrCat("window ", in.options.harris_block, three ? ", 3x3 suppression, " : ", ",
                                in.params->strip_rows, " rows a strip");
  launches->push_back(launch);
}

}  // namespace

bool HasFewBlocks(const Frame& frame, int multiprocessors) {
  return frame.corners == CornerBlocks::kQuickTiles || frame.corner_blocks * kStripWarps <= kFewWarps * multiprocessors;
}

// Tiles are faster unless they are so many that a dense one is made up for by others. Only tiles have the Harris
// measure.
void ChooseCornerBlocks(const DetectorOptions& options, int parts, int multiprocessors, Frame* frame) {
  const bool harris = options.score == Score::kHarris;
  const int steps = ChooseStripSteps(options, parts, multiprocessors, frame);
  DivideForCorners(options, CornerBlocks::kStrips, steps, frame);
  const bool few = HasFewBlocks(*frame, multiprocessors) && !harris;
  DivideForCorners(options, few ? CornerBlocks::kQuickTiles : CornerBlocks::kTiles, steps, frame);
  if (!harris && frame->corner_blocks >= kManyTiles * multiprocessors) {
    DivideForCorners(options, CornerBlocks::kStrips, steps, frame);
  }
}

int BucketRoomFor(int share, size_t most) {
  constexpr int kInLine = 16;  // in a cache line
  const auto room = static_cast<size_t>(std::clamp(share / kOfShare, kSmallestRoom, kLargestRoom));
  return DivideUp(static_cast<int>(std::min(room, most)), kInLine) * kInLine;
}

// With more rows, less of what strips compute is their neighbours', too; with fewer, more warps hide each other's
// latency.
int ChooseDenseStripRows(const DetectorOptions& options, const Frame& frame, int multiprocessors) {
  // From measurements: what the rows of a strip take beside its own, in rows; what a multiprocessor takes beside what
  // it does for its blocks, in blocks.
  constexpr float kOverhead = 5.5f;
  constexpr float kLatency = 2.65f;
  const Level& level = frame.level[0];
  const DenseTiling tiling = DenseTilingOf(level.width, options.harris_block / 2, options.suppression_radius);
  int best = 2;
  float least = std::numeric_limits<float>::max();
  for (int rows = 2; rows <= tiling.most_rows; rows += 2) {
    const int blocks = DivideUp(tiling.strips_x * DivideUp(level.height, tiling.warps * rows), multiprocessors);
    const float time = (kLatency + static_cast<float>(blocks)) * (static_cast<float>(rows) + kOverhead);
    if (time >= least) continue;
    least = time;
    best = rows;
  }
  return best;
}

BoundedTiles ChooseBoundedTiles(const DetectorOptions& options, const Frame& frame, int multiprocessors,
                                SelectionParams* params) {
  DivideForBoundedCorners(options, frame, BoundedTiles::kUsual, params);
  const int at_once = kBoundedTilesAtOnce * multiprocessors;
  // Tiles of higher levels wait for the pyramid: what they do then takes less long if they are low.
  const bool waits = frame.levels > 1 && params->level[1].first_tile < params->tiles;
  if (params->tiles <= multiprocessors) {
    DivideForBoundedCorners(options, frame, BoundedTiles::kFew, params);
    return BoundedTiles::kFew;
  }
  // Where they do not all run at once, what a tile costs counts, not how long it takes.
  if (params->by_tile_cells && params->tiles > at_once) return BoundedTiles::kTileCells;
  if (waits && params->score != Score::kHarris) {
    DivideForBoundedCorners(options, frame, BoundedTiles::kLow, params);
    if (params->tiles <= at_once) return BoundedTiles::kLow;
    DivideForBoundedCorners(options, frame, BoundedTiles::kUsual, params);
  }
  return BoundedTiles::kUsual;
}

void AddCorners(const ScheduleInput& in, std::vector<Launch>* launches) {
  if (in.quadtree != nullptr) {
    launches->push_back(CellCornersLaunch(in));
  } else if (in.params == nullptr) {
    launches->push_back(CornersLaunch(in));
  } else if (in.params->is_dense) {
    AddDenseHarris(in, launches);
  } else {
    launches->push_back(BoundedCornersLaunch(in));
  }
}

}  // namespace glint::cuda
