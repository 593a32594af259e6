// The fields of DetectorOptions by name, with their choices and ranges: one list for validation, the wire, the command
// line and the table that users read. Thread-safe: constants and pure functions.
#ifndef GLINT_FEATURES_OPTION_FIELDS_H_
#define GLINT_FEATURES_OPTION_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/arc.h"
#include "features/limits.h"
#include "features/options.h"

namespace glint {

// Names of an enum's values, in their order. On the wire a value is its place here plus one.
template <typename Choice>
const std::vector<std::string>& ChoiceNames();

// Calls visit(name, pointer to the member) for every choice.
template <typename Visit>
void ForEachChoice(Visit visit) {
  visit("pyramid", &DetectorOptions::pyramid);
  visit("corner_test", &DetectorOptions::corner_test);
  visit("score", &DetectorOptions::score);
  visit("selection", &DetectorOptions::selection);
  visit("ranking", &DetectorOptions::ranking);
  visit("threshold_unit", &DetectorOptions::threshold_unit);
  visit("orientation", &DetectorOptions::orientation);
  visit("descriptor", &DetectorOptions::descriptor);
}

// Calls visit(name, pointer to the member, least, most) for every int and float.
template <typename Visit>
void ForEachNumber(Visit visit) {
  visit("levels", &DetectorOptions::levels, kMinLevels, kMaxLevels);
  visit("scale_factor", &DetectorOptions::scale_factor, kMinScaleFactor, kMaxScaleFactor);
  visit("fast_threshold", &DetectorOptions::fast_threshold, kMinFastThreshold, kMaxFastThreshold);
  visit("ini_fast_threshold", &DetectorOptions::ini_fast_threshold, kMinFastThreshold, kMaxFastThreshold);
  visit("min_fast_threshold", &DetectorOptions::min_fast_threshold, kMinFastThreshold, kMaxFastThreshold);
  visit("arc_length", &DetectorOptions::arc_length, kMinArcLength, kMaxArcLength);
  visit("max_arc", &DetectorOptions::max_arc, kMinArcLength, kFastRing);
  visit("suppression_radius", &DetectorOptions::suppression_radius, 0, kMaxSuppressionRadius);
  visit("harris_block", &DetectorOptions::harris_block, kMinHarrisBlock, kMaxHarrisBlock);
  visit("harris_k", &DetectorOptions::harris_k, 0.0f, kMaxHarrisK);
  visit("max_features", &DetectorOptions::max_features, kMinFeatures, kMaxFeatures);
  visit("edge_threshold", &DetectorOptions::edge_threshold, kMinEdgeThreshold, kMaxEdgeThreshold);
  visit("cell_width", &DetectorOptions::cell_width, kMinCell, kMaxCell);
  visit("cell_height", &DetectorOptions::cell_height, kMinCell, kMaxCell);
  visit("aggregation_window", &DetectorOptions::aggregation_window, 1, kMaxAggregationWindow);
  visit("response_threshold", &DetectorOptions::response_threshold, 0.0f, kMaxResponseThreshold);
  visit("patch_size", &DetectorOptions::patch_size, kMinPatchSize, kMaxPatchSize);
  visit("bfrost_scale", &DetectorOptions::bfrost_scale, kMinBfrostScale, kMaxBfrostScale);
}

// Calls visit(name, pointer to the member) for every bool.
template <typename Visit>
void ForEachSwitch(Visit visit) {
  visit("smooth", &DetectorOptions::smooth);
}

// Calls visit(name, pointer to the member) for all of them.
template <typename Visit>
void ForEachField(Visit visit) {
  ForEachChoice(visit);
  ForEachNumber([&visit](absl::string_view name, auto member, auto, auto) { visit(name, member); });
  ForEachSwitch(visit);
}

}  // namespace glint

#endif  // GLINT_FEATURES_OPTION_FIELDS_H_
