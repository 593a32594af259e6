#include "cuda/plan/launch.h"

namespace glint::cuda {

const char* NameOf(Stage stage) {
  switch (stage) {
    case Stage::kPyramid:
      return "pyramid";
    case Stage::kCorners:
      return "corners";
    case Stage::kSelect:
      return "select";
    case Stage::kDescribe:
      return "describe";
  }
  return "";
}

const char* NameOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kLevel:
      return "level";
    case Kernel::kLevelsByPairs:
      return "levels_by_pairs";
    case Kernel::kSmallLevels:
      return "small_levels";
    case Kernel::kHalfLevels:
      return "half_levels";
    case Kernel::kCorners:
      return "corners";
    case Kernel::kBoundedCorners:
      return "bounded_corners";
    case Kernel::kSmooth:
      return "smooth";
    case Kernel::kDenseHarris:
      return "dense_harris";
    case Kernel::kShortlist:
      return "shortlist";
    case Kernel::kAggregate:
      return "aggregate";
    case Kernel::kThreshold:
      return "threshold";
    case Kernel::kRankCells:
      return "rank_cells";
    case Kernel::kRankInRegisters:
      return "rank_in_registers";
    case Kernel::kRankBuckets:
      return "rank_buckets";
    case Kernel::kOrient:
      return "orient";
    case Kernel::kOrientBuckets:
      return "orient_buckets";
    case Kernel::kArcMidpoints:
      return "arc_midpoints";
    case Kernel::kBandSums:
      return "band_sums";
    case Kernel::kBandsAbove:
      return "bands_above";
    case Kernel::kBfrost:
      return "bfrost";
    case Kernel::kRbrief:
      return "rbrief";
  }
  return "";
}

}  // namespace glint::cuda
