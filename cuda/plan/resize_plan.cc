#include "cuda/plan/resize_plan.h"

#include <algorithm>
#include <cstring>

#include "features/linear_resize.h"
#include "features/math.h"

namespace glint::cuda {
namespace {

constexpr int kStepPadding = 64;  // input rows that a thread may ask about beyond the last

}  // namespace

AxisTaps MakeAxisTaps(int from, int to, bool linear) {
  AxisTaps axis;
  axis.from = from;
  axis.to = to;
  axis.linear = linear;
  const auto add = [&](int at, int weight, int next_weight) {
    axis.taps.push_back({static_cast<uint16_t>(at), static_cast<uint16_t>(weight), static_cast<uint16_t>(next_weight)});
  };
  for (int i = 0; i < to; ++i) {
    if (linear) {
      const LinearTap tap = MakeLinearTap(i, from, to);
      add(tap.at, tap.weight, tap.next_weight);
    } else {
      const ResizeTap tap = MakeResizeTap(i, from, to);
      add(tap.at, 256 - tap.next_weight, tap.next_weight);
    }
  }
  return axis;
}

uint32_t AxisTaps::ColumnWeights(int i) const {
  const Tap& tap = taps[static_cast<size_t>(i)];
  return tap.weight | static_cast<uint32_t>(tap.next_weight) << 16;
}

uint32_t AxisTaps::RowWeights(int i) const {
  if (linear) return ColumnWeights(i);
  const float lower = taps[static_cast<size_t>(i)].next_weight;
  uint32_t bits;
  std::memcpy(&bits, &lower, sizeof(bits));
  return bits;
}

bool FitOneWindow(const AxisTaps& axis) {
  constexpr int kMostApart = 6;  // then the last output's second pixel is the eighth
  for (int i = 0; i < axis.to; i += 2 * kGroup) {
    if (axis.At(std::min(i + 3, axis.to - 1)) - axis.At(i) > kMostApart) return false;
    if (i + kGroup >= axis.to) break;
    const int base = axis.At(i) + kGroup;
    if (axis.At(i + kGroup) < base || axis.At(std::min(i + 7, axis.to - 1)) > base + kMostApart) return false;
  }
  return true;
}

ColumnGroup MakeColumnGroup(const AxisTaps& axis, int first, int base) {
  ColumnGroup group{};
  group.word = base / 4;
  group.shift = static_cast<uint32_t>(base % 4 * 8);
  for (int i = 0; i < kGroup; ++i) {
    const int x = std::min(first + i, axis.to - 1);
    const auto at = static_cast<uint32_t>(axis.At(x) - base) & 7;  // columns beyond the last one are anything
    group.weights[i] = axis.ColumnWeights(x);
    group.pairs[i / 2] |= (at | ((at + 1) & 7) << 4) << (i % 2 * 8);
  }
  return group;
}

std::vector<ColumnGroup> MakeColumnGroups(const AxisTaps& axis) {
  std::vector<ColumnGroup> groups;
  for (int x = 0; x < axis.to; x += 2 * kGroup) {
    groups.push_back(MakeColumnGroup(axis, x, axis.At(x)));
    groups.push_back(MakeColumnGroup(axis, x + kGroup, axis.At(x) + kGroup));
  }
  return groups;
}

std::vector<RowMix> MakeRowSteps(const AxisTaps& axis) {
  std::vector<RowMix> steps(static_cast<size_t>(axis.from) + kStepPadding, RowMix{-1, 0});
  for (int y = 0; y < axis.to; ++y) steps[axis.At(y)] = {y, axis.RowWeights(y)};
  return steps;
}

bool FitPairWindows(const AxisTaps& axis) {
  for (int x = 0; x < axis.to; x += 2) {
    if (axis.At(x) % 4 + axis.At(std::min(x + 1, axis.to - 1)) - axis.At(x) > 6) return false;
  }
  return true;
}

std::vector<ColumnPair> MakeColumnPairs(const AxisTaps& axis, bool one_window) {
  std::vector<ColumnPair> pairs;
  for (int first = 0; first < axis.to || pairs.size() % 4 != 0; first += 2) {
    ColumnPair pair{};
    uint32_t word = 0;
    for (int i = 0; i < 2; ++i) {
      const int x = std::min(first + i, axis.to - 1);
      const auto at = static_cast<uint32_t>(axis.At(x));
      if (i == 0 || !one_window) word = at / 4;
      pair.weights[i] = axis.ColumnWeights(x);
      pair.select |= ((at - 4 * word) | (at - 4 * word + 1) << 4) << (8 * i);
      pair.words |= word << (16 * i);
    }
    pairs.push_back(pair);
  }
  return pairs;
}

std::vector<RowStep> MakePairSteps(const AxisTaps& axis) {
  std::vector<RowStep> steps;
  for (int y = 0; y < axis.to; ++y) {
    const auto at = static_cast<uint16_t>(axis.At(y));
    const int next = std::min(at + 1, axis.from - 1);
    if (steps.empty() || steps.back().from != at) steps.push_back({at, -1, 0});
    steps.push_back({static_cast<uint16_t>(next), static_cast<int16_t>(y), axis.RowWeights(y)});
  }
  steps.resize(steps.size() + kStepPadding, RowStep{steps.back().from, -1, 0});
  return steps;
}

int PairStepOf(const AxisTaps& axis, int y) {
  const std::vector<RowStep> steps = MakePairSteps(axis);
  const auto at = std::find_if(steps.begin(), steps.end(), [=](const RowStep& step) { return step.row == y; });
  return static_cast<int>(at - steps.begin());
}

}  // namespace glint::cuda
