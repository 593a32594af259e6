#include "cuda/plan/launch.h"

#include <cstddef>

namespace glint::cuda {

const char* NameOf(Stage stage) {
  static constexpr const char* kNames[] = {"pyramid", "corners", "select", "describe"};
  return kNames[static_cast<size_t>(stage)];
}

const char* NameOf(Kernel kernel) {
  static constexpr const char* kNames[] = {
      "level",         "levels_by_pairs", "small_levels",      "half_levels",  "corners",  "bounded_corners",
      "cell_corners",  "smooth",          "dense_harris",      "shortlist",    "quadtree", "aggregate",
      "threshold",     "rank_cells",      "rank_in_registers", "rank_buckets", "orient",   "orient_buckets",
      "arc_midpoints", "band_sums",       "bands_above",       "bfrost",       "rbrief"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == static_cast<size_t>(Kernel::kRbrief) + 1);
  return kNames[static_cast<size_t>(kernel)];
}

}  // namespace glint::cuda
