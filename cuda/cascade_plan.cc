#include "cuda/cascade_plan.h"

#include <algorithm>

#include "features/math.h"

namespace glint::cuda {
namespace {

constexpr int kStepPadding = 64;  // input rows that a thread may ask about beyond the last

}  // namespace

AxisTaps MakeAxisTaps(int from, int to) {
  AxisTaps axis;
  axis.from = from;
  axis.to = to;
  for (int i = 0; i < to; ++i) {
    const ResizeTap tap = MakeResizeTap(i, from, to);
    axis.taps.push_back(static_cast<PackedTap>(tap.at) | static_cast<PackedTap>(tap.next_weight) << 16);
  }
  while (axis.taps.size() % 4 != 0) axis.taps.push_back(axis.taps.back());
  return axis;
}

bool AreNarrow(const AxisTaps& axis) {
  constexpr int kMostApart = 6;  // then the last output's second pixel is the eighth
  for (int i = 0; i < static_cast<int>(axis.taps.size()); i += kGroup) {
    if (axis.At(i + 3) - axis.At(i) > kMostApart) return false;
  }
  return true;
}

bool FitOneWindow(const AxisTaps& axis) {
  for (int i = 0; i + kGroup < axis.to; i += 2 * kGroup) {
    const int base = axis.At(i) + kGroup;
    if (axis.At(i + kGroup) < base || axis.At(std::min(i + 7, axis.to - 1)) > base + 6) return false;
  }
  return true;
}

ColumnGroup MakeColumnGroup(const AxisTaps& axis, int first, int base) {
  ColumnGroup group{};
  group.word = base / 4;
  group.shift = static_cast<uint32_t>(base % 4 * 8);
  for (int i = 0; i < kGroup; ++i) {
    const int x = std::min(first + i, axis.to - 1);
    const auto weight = static_cast<uint32_t>(axis.Weight(x));
    const auto at = static_cast<uint32_t>(axis.At(x) - base) & 7;  // columns beyond the last one are anything
    group.weights[i] = (256 - weight) | weight << 16;
    group.pairs[i / 2] |= (at | ((at + 1) & 7) << 4) << (i % 2 * 8);
  }
  return group;
}

std::vector<ColumnGroup> MakeColumnGroups(const AxisTaps& axis, bool one_window) {
  std::vector<ColumnGroup> groups;
  for (int x = 0; x < axis.to; x += 2 * kGroup) {
    const int second = std::min(x + kGroup, axis.to - 1);
    groups.push_back(MakeColumnGroup(axis, x, axis.At(x)));
    groups.push_back(MakeColumnGroup(axis, x + kGroup, one_window ? axis.At(x) + kGroup : axis.At(second)));
  }
  return groups;
}

std::vector<RowMix> MakeRowSteps(const AxisTaps& axis) {
  std::vector<RowMix> steps(static_cast<size_t>(axis.from) + kStepPadding, RowMix{-1, 0.0f});
  for (int y = 0; y < axis.to; ++y) steps[axis.At(y)] = {y, static_cast<float>(axis.Weight(y))};
  return steps;
}

}  // namespace glint::cuda
