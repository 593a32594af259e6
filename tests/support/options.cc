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

namespace {

// Changes some of the choices; what comes out may be invalid.
void ChangeChoices(Random* random, DetectorOptions* o) {
  if (random->OneIn(3)) o->pyramid = static_cast<Pyramid>(random->Uniform(0, 2));
  if (random->OneIn(3)) o->levels = random->Uniform(1, 8);
  o->scale_factor = o->pyramid == Pyramid::kHalf ? 2.0f : random->Uniform(kMinScaleFactor, kMaxScaleFactor);
  if (random->OneIn(2)) o->fast_threshold = random->Uniform(kMinFastThreshold, 60);
  if (random->OneIn(2)) o->arc_length = random->Uniform(kMinArcLength, kMaxArcLength);
  if (random->OneIn(2)) o->max_arc = random->Uniform(o->arc_length, 16);
  if (o->corner_test == CornerTest::kFast && random->OneIn(2)) o->score = static_cast<Score>(random->Uniform(0, 3));
  if (random->OneIn(2)) o->suppression_radius = random->Uniform(0, kMaxSuppressionRadius);
  const bool dense = o->corner_test == CornerTest::kEveryPixel;
  o->smooth = dense && random->OneIn(2);
  o->harris_block = 2 * random->Uniform(1, 7) + 1;
  o->harris_k = random->OneIn(2) ? 0.04f : random->Uniform(0.0f, kMaxHarrisK);
  if (random->OneIn(3)) o->selection = static_cast<Selection>(random->Uniform(0, 3));
  if (o->selection == Selection::kTopN && random->OneIn(2)) o->ranking = Ranking::kHarris;
  o->max_features = random->OneIn(2) ? 10000 : random->Uniform(kMinFeatures, 500);
  if (random->OneIn(2)) o->edge_threshold = random->Uniform(0, 40);
  o->cell_width = random->OneIn(2) ? 32 : random->Uniform(kMinCell, 70);
  o->cell_height = random->OneIn(2) ? 32 : random->Uniform(kMinCell, 70);
  o->aggregation_window = 2 * random->Uniform(0, 7) + 1;
  if (dense && random->OneIn(2)) o->response_threshold = random->Uniform(0.0f, 0.02f);
  if (random->OneIn(2)) o->threshold_unit = static_cast<ThresholdUnit>(random->Uniform(0, 1));
  if (random->OneIn(3)) o->orientation = static_cast<Orientation>(random->Uniform(0, 2));
  if (random->OneIn(3)) o->descriptor = static_cast<Descriptor>(random->Uniform(0, 2));
  if (random->OneIn(2)) o->patch_size = random->Uniform(kMinPatchSize, kMaxPatchSize);
  if (random->OneIn(2)) o->bfrost_scale = random->Uniform(kMinBfrostScale, kMaxBfrostScale);
}

}  // namespace

DetectorOptions RandomDetector(Random* random) {
  constexpr const char* kNames[] = {"fast_grid", "pyca", "bfrost", "harris"};
  while (true) {
    DetectorOptions options = PresetOptions(kNames[random->Uniform(0, 3)]).value();
    if (!random->OneIn(8)) ChangeChoices(random, &options);
    if (ValidateOptions(options).ok() && !SelectsTopNPerLevel(options)) return options;
  }
}

std::string ToString(const DetectorOptions& o) {
  const auto number = [](auto choice) { return static_cast<int>(choice); };
  std::string text = absl::StrCat(
      "levels ", o.levels, ", scale factor ", o.scale_factor, ", threshold ", o.fast_threshold, " or ",
      o.ini_fast_threshold, " and ", o.min_fast_threshold, ", arc ", o.arc_length, ", score ", number(o.score),
      ", ranking ", number(o.ranking), ", max features ", o.max_features, ", edge ", o.edge_threshold, ", patch ",
      o.patch_size, ", orientation ", number(o.orientation), ", descriptor ", number(o.descriptor));
  if (SelectsTopNPerLevel(o)) return text;
  absl::StrAppend(&text, ", pyramid ", number(o.pyramid), ", test ", number(o.corner_test), ", max arc ", o.max_arc,
                  ", radius ", o.suppression_radius, ", smooth ", o.smooth, ", block ", o.harris_block, ", k ",
                  o.harris_k);
  absl::StrAppend(&text, ", selection ", number(o.selection), ", cell ", o.cell_width, "x", o.cell_height, ", window ",
                  o.aggregation_window, ", response ", o.response_threshold, " of ", number(o.threshold_unit),
                  ", bfrost ", o.bfrost_scale);
  return text;
}

int Repetitions(int usual) { return std::getenv("GLINT_TEST_SWEEP") != nullptr ? 50 * usual : usual; }

}  // namespace glint::testing
