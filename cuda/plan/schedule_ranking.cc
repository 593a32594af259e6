// Choices and launches of selection and ranking.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cuda/plan/block_shapes.h"
#include "cuda/plan/schedule.h"

namespace glint::cuda {
namespace {

constexpr int kMostAcross = 512;  // cells in a row, as CellReciprocal() allows

Launch SelectLaunch(Kernel kernel) {
  Launch launch;
  launch.stage = Stage::kSelect;
  launch.kernel = kernel;
  launch.overlaps_predecessor = true;
  return launch;
}

int ShortlistedOf(const Frame& frame) {
  int total = 0;
  for (int l = 0; l < frame.levels; ++l) total += frame.level[l].first_share;
  return total;
}

Launch ShortlistLaunch(const ScheduleInput& in) {
  Launch launch = SelectLaunch(Kernel::kShortlist);
  launch.rescores = in.options.ranking == Ranking::kHarris;
  launch.orients = in.frame.orient_early;
  launch.block.x = ShortlistThreads(launch.orients);
  launch.grid.x = kShortlistThreadsWanted / launch.block.x * in.multiprocessors;
  // Blocks that wait where strips could run cost more than they save, unless there are few strips.
  launch.overlaps_predecessor = HasFewBlocks(in.frame, in.multiprocessors);
  launch.variant = absl::StrCat(launch.rescores ? "Harris keys" : "FAST keys", launch.orients ? ", angles" : "");
  return launch;
}

Launch OrientLaunch(const ScheduleInput& in) {
  const Frame& frame = in.frame;
  Launch launch = SelectLaunch(Kernel::kOrient);
  launch.orients = frame.orient && !frame.orient_early;
  launch.harris_keys = in.options.ranking == Ranking::kHarris;
  const int total = ShortlistedOf(frame);
  int longest = 0;
  for (int l = 0; l < frame.levels; ++l) longest = Max(longest, frame.level[l].first_share);
  // Where smaller blocks would need more than one look at a shortlist to count it; but not where the larger ones, of
  // which there are fewer, would have to go through their ranks one share after the other.
  const bool wide = longest > kEntriesPerThread * kRankThreads && launch.harris_keys &&
                    total <= kRanksAtATime * kWideRankingBlocks * in.multiprocessors;
  const bool is_short = ForShortLists(launch.harris_keys, launch.orients, kRankThreads) &&
                        longest <= static_cast<int>(kShortList) &&
                        total <= static_cast<int>(kShortPart) * kShortRankingBlocks * in.multiprocessors;
  const int wanted = (wide             ? kWideRankingBlocks
                      : launch.orients ? kOrientingBlocks
                      : is_short       ? kShortRankingBlocks
                                       : kRankingBlocks) *
                     in.multiprocessors;
  launch.blocks = LevelBlocks(frame, Max(DivideUp(total, wanted), kSmallestPart), wanted);
  launch.block.x = wide ? kWideRankThreads : kRankThreads;
  launch.grid.x = launch.blocks.first[frame.levels];
  launch.variant = absl::StrCat(wide       ? "wide blocks"
                                : is_short ? "short lists"
                                           : "lists",
                                launch.harris_keys ? ", Harris keys" : ", FAST keys", launch.orients ? ", angles" : "");
  return launch;
}

Launch OrientBucketsLaunch(const ScheduleInput& in) {
  const Frame& frame = in.frame;
  Launch launch = SelectLaunch(Kernel::kOrientBuckets);
  launch.orients = frame.orient;
  const int wanted = BucketRankBlocksWanted(launch.orients) * in.multiprocessors;
  launch.blocks =
      LevelBlocks(frame, Clamp(DivideUp(ShortlistedOf(frame), wanted), kSmallestBucketPart, kLargestBucketPart));
  launch.block.x = BucketRankThreads(launch.orients);
  launch.grid.x = launch.blocks.first[frame.levels];
  launch.variant = launch.orients ? "angles" : "";
  return launch;
}

Launch AggregateLaunch(const ScheduleInput& in) {
  constexpr uint32_t kThreadsPerMultiprocessor = 2048;
  const SelectionParams& params = *in.params;
  const int side = 2 * params.reach + 1;
  const int window_bytes = side * side * static_cast<int>(sizeof(uint32_t));
  const bool few = params.cell_count * kAggregateLanes > in.multiprocessors * kThreadsPerMultiprocessor &&
                   kAggregateThreads / kAggregateFewLanes * window_bytes <= kMostWindowBytes;
  Launch launch = SelectLaunch(Kernel::kAggregate);
  launch.lanes = few ? kAggregateFewLanes : kAggregateLanes;
  const int cells = kAggregateThreads / launch.lanes;  // of a block
  launch.block.x = kAggregateThreads;
  launch.grid.x = DivideUp(static_cast<int>(params.cell_count), cells);
  launch.shared_bytes = cells * window_bytes;
  launch.variant = absl::StrCat(launch.lanes, " lanes a cell");
  return launch;
}

bool RanksInRegisters(const ScheduleInput& in) {
  const SelectionParams& params = *in.params;
  if (params.output != CornerOutput::kImageCells || params.score == Score::kHarris || in.frame.orient) return false;
  if (params.cell_count > params.wanted || params.cell_count > 2 * kMostRegisterPairs * kRegisterRankThreads) {
    return false;
  }
  // With fewer multiprocessors, that every block reads and counts everything would cost more than it saves.
  const int cells_x = params.level[0].cells_x;
  if (DivideUp(static_cast<int>(params.cell_count), kRegisterRankShare) > in.multiprocessors || cells_x > kMostAcross) {
    return false;
  }
  const int level_bits = BitsBelow(in.frame.levels);
  const int bits = BitsBelow(cells_x) + BitsBelow(in.frame.level[0].height) + ScoreBits(params.score) + level_bits;
  return bits >= kRegisterBinBits && bits <= 32 && level_bits < kRegisterBinBits;
}

Launch RankInRegistersLaunch(const ScheduleInput& in) {
  const auto cells = static_cast<int>(in.params->cell_count);
  Launch launch = SelectLaunch(Kernel::kRankInRegisters);
  const int pairs = DivideUp(cells / 2, kRegisterRankThreads);
  launch.cell_pairs = pairs <= 2 ? Max(pairs, 1) : kMostRegisterPairs;
  launch.block.x = kRegisterRankThreads;
  launch.grid.x = DivideUp(cells, kRegisterRankShare);
  launch.variant = absl::StrCat(2 * launch.cell_pairs, " cells a thread");
  return launch;
}

Launch RankCellsLaunch(const ScheduleInput& in) {
  Launch launch = SelectLaunch(Kernel::kRankCells);
  launch.block.x = kImageRankThreads;
  launch.grid.x =
      Clamp(static_cast<int>((in.params->most + kSmallestRankShare - 1) / kSmallestRankShare), 1, in.multiprocessors);
  launch.variant = in.frame.orient ? "angles" : "";
  return launch;
}

Launch RankBucketsLaunch(const ScheduleInput& in) {
  Launch launch = SelectLaunch(Kernel::kRankBuckets);
  launch.orients = in.frame.orient;
  launch.block.x = kImageRankThreads;
  launch.grid.x = in.multiprocessors;
  launch.variant = launch.orients ? "angles" : "";
  return launch;
}

Launch ThresholdLaunch(const ScheduleInput& in) {
  Launch launch = SelectLaunch(Kernel::kThreshold);
  launch.block.x = kThresholdThreads;
  launch.grid.x = kThresholdBlocksWanted * in.multiprocessors;
  return launch;
}

Launch QuadtreeLaunch(const ScheduleInput& in) {
  Launch launch = SelectLaunch(Kernel::kQuadtree);
  launch.block.x = kQuadtreeThreads;
  launch.grid.x = in.frame.levels;
  launch.shared_bytes = kQuadtreeSharedBytes;
  return launch;
}

// The best of each level.
void AddTopN(const ScheduleInput& in, std::vector<Launch>* launches) {
  if (HasLevelBuckets(in.options)) {
    launches->push_back(OrientBucketsLaunch(in));
    return;
  }
  launches->push_back(ShortlistLaunch(in));
  launches->push_back(OrientLaunch(in));
}

}  // namespace

// Few cells, all of which stay, and without angles. Only kernels with these tiles can.
bool RanksInLastBlock(const DetectorOptions& options, const SelectionParams& params, BoundedTiles tiles) {
  return params.output == CornerOutput::kImageCells && !params.is_dense && options.score != Score::kHarris &&
         options.orientation == Orientation::kNone && options.descriptor != Descriptor::kBfrost &&
         params.cell_count <= std::min<uint32_t>(params.wanted, kMaxLastBlockCells) &&
         (tiles == BoundedTiles::kFew || tiles == BoundedTiles::kTileCells);
}

void AddRanking(const ScheduleInput& in, std::vector<Launch>* launches) {
  if (in.options.selection == Selection::kTopN) {
    AddTopN(in, launches);
    return;
  }
  if (in.quadtree != nullptr) {
    launches->push_back(QuadtreeLaunch(in));
    launches->push_back(OrientLaunch(in));
    return;
  }
  const SelectionParams& params = *in.params;
  if (params.ranks_in_last_block) return;
  if (params.output == CornerOutput::kLevelCells) launches->push_back(AggregateLaunch(in));
  if (params.output == CornerOutput::kImageCells) {
    launches->push_back(RanksInRegisters(in) ? RankInRegistersLaunch(in) : RankCellsLaunch(in));
    return;
  }
  if (!params.ranks) launches->push_back(ThresholdLaunch(in));
  launches->push_back(RankBucketsLaunch(in));
}

}  // namespace glint::cuda
