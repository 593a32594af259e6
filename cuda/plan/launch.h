// One launch of a kernel, as data: plan/schedule.h makes it, the launchers of cuda/stages.h carry it out.
#ifndef GLINT_CUDA_PLAN_LAUNCH_H_
#define GLINT_CUDA_PLAN_LAUNCH_H_

#include <string>

#include "cuda/plan/level_blocks.h"
#include "cuda/plan/selection_params.h"

namespace glint::cuda {

// As StageTimes has them.
enum class Stage { kPyramid, kCorners, kSelect, kDescribe };

// In the order of a frame, as the launchers in cuda/stages.h, which say what each does.
enum class Kernel {
  kLevel,
  kLevelsByPairs,
  kSmallLevels,
  kHalfLevels,
  kCorners,
  kBoundedCorners,
  kCellCorners,
  kSmooth,
  kDenseHarris,
  kShortlist,
  kQuadtree,
  kAggregate,
  kThreshold,
  kRankCells,
  kRankInRegisters,
  kRankBuckets,
  kOrient,
  kOrientBuckets,
  kArcMidpoints,
  kBandSums,
  kBandsAbove,
  kBfrost,
  kRbrief,
};

struct GridSize {
  int x = 1, y = 1, z = 1;
};

struct Launch {
  Stage stage{};
  Kernel kernel{};
  GridSize grid;
  GridSize block;
  int shared_bytes = 0;               // dynamic
  bool overlaps_predecessor = false;  // see KernelLaunch

  std::string variant;  // in words

  // The kernel's variant: of these, what its launcher mentions. The others are 0.
  int level = 0;         // the first that it makes
  int levels = 0;        // how many
  int from = 0;          // the level that it reads
  int steps = 0;         // input rows of a thread
  int column_pairs = 0;  // of a thread
  bool linear = false;   // by INTER_LINEAR, else INTER_LINEAR_EXACT
  int arc_length = 0;
  BoundedTiles bounded_tiles{};
  int lanes = 0;             // that take a cell
  int cell_pairs = 0;        // of a thread
  bool harris = false;       // the Harris measure at every corner
  bool rescores = false;     // keys become Harris measures
  bool orients = false;      // finds angles
  bool harris_keys = false;  // keys are Harris measures
  bool fixed_blur = false;   // the blur of whole images, in fixed point
  LevelBlocks blocks;
};

const char* NameOf(Stage stage);
const char* NameOf(Kernel kernel);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_LAUNCH_H_
