#include "features/option_fields.h"

namespace glint {

using Names = std::vector<std::string>;

template <>
const Names& ChoiceNames<Pyramid>() {
  static const auto* const kNames = new Names{"CASCADED", "DIRECT", "HALF"};
  return *kNames;
}
template <>
const Names& ChoiceNames<CornerTest>() {
  static const auto* const kNames = new Names{"FAST", "EVERY_PIXEL"};
  return *kNames;
}
template <>
const Names& ChoiceNames<Score>() {
  static const auto* const kNames = new Names{"MAX_THRESHOLD", "HARRIS", "SAD_CIRCLE", "SAD_ARC"};
  return *kNames;
}
template <>
const Names& ChoiceNames<Selection>() {
  static const auto* const kNames = new Names{"TOP_N", "GRID", "PYCA", "THRESHOLD", "QUADTREE"};
  return *kNames;
}
template <>
const Names& ChoiceNames<Ranking>() {
  static const auto* const kNames = new Names{"SCORE", "HARRIS"};
  return *kNames;
}
template <>
const Names& ChoiceNames<ThresholdUnit>() {
  static const auto* const kNames = new Names{"ABSOLUTE", "FRACTION_OF_MAX"};
  return *kNames;
}
template <>
const Names& ChoiceNames<Orientation>() {
  static const auto* const kNames = new Names{"NONE", "INTENSITY_CENTROID", "ARC_MIDPOINT"};
  return *kNames;
}
template <>
const Names& ChoiceNames<Descriptor>() {
  static const auto* const kNames = new Names{"NONE", "RBRIEF", "BFROST"};
  return *kNames;
}

}  // namespace glint
