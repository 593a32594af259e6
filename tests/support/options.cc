#include "tests/support/options.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace glint::testing {

DetectorOptions OrbOptions() { return PresetOptions("orb").value(); }
DetectorOptions OrientedFastOptions() { return PresetOptions("oriented_fast").value(); }

DetectorOptions RandomOptions(Random* random, const DetectorOptions& base) {
  DetectorOptions options = base;
  options.levels = random->OneIn(4) ? 8 : random->Uniform(kMinLevels, kMaxLevels);
  switch (random->Uniform(0, 5)) {
    case 0:
      options.scale_factor = 1.2f;
      break;
    case 1:
      options.scale_factor = random->OneIn(2) ? kMinScaleFactor : kMaxScaleFactor;
      break;
    default:
      options.scale_factor = random->Uniform(kMinScaleFactor, kMaxScaleFactor);
  }
  options.fast_threshold =
      random->OneIn(3) ? random->Uniform(kMinFastThreshold, kMaxFastThreshold) : random->Uniform(kMinFastThreshold, 40);
  options.max_features = random->OneIn(2) ? random->Uniform(kMinFeatures, 20000) : random->Uniform(kMinFeatures, 300);
  switch (random->Uniform(0, 3)) {
    case 0:
      options.edge_threshold = 31;
      break;
    case 1:
      options.edge_threshold = random->Uniform(kMinEdgeThreshold, kMaxEdgeThreshold);
      break;
    default:
      options.edge_threshold = random->Uniform(kMinEdgeThreshold, 40);
  }
  options.patch_size = random->OneIn(2) ? 31 : random->Uniform(kMinPatchSize, kMaxPatchSize);
  if (options.score == Score::kMaxThreshold) {
    options.ranking = random->OneIn(2) ? Ranking::kHarris : Ranking::kScore;
  }
  return options;
}

std::string ToString(const DetectorOptions& o) {
  return absl::StrCat("levels ", o.levels, ", scale factor ", o.scale_factor, ", threshold ", o.fast_threshold,
                      ", arc ", o.arc_length, ", score ", o.score == Score::kHarris ? "harris" : "max threshold",
                      ", ranking ", o.ranking == Ranking::kHarris ? "harris" : "score", ", max features ",
                      o.max_features, ", edge ", o.edge_threshold, ", patch ", o.patch_size,
                      o.orientation == Orientation::kNone ? ", no orientation" : "",
                      o.descriptor == Descriptor::kNone ? ", no descriptor" : "");
}

int Repetitions(int usual) { return std::getenv("GLINT_TEST_SWEEP") != nullptr ? 50 * usual : usual; }

}  // namespace glint::testing
