// The tables of cuda/plan/resize_tables.h, from the taps of the levels.
#ifndef GLINT_CUDA_PLAN_RESIZE_PLAN_H_
#define GLINT_CUDA_PLAN_RESIZE_PLAN_H_

#include <cstdint>
#include <vector>

#include "cuda/plan/frame.h"
#include "cuda/plan/resize_tables.h"

namespace glint::cuda {

// The taps of a level, with its number of columns or rows and that of the level before.
struct AxisTaps {
  struct Tap {
    uint16_t at, weight, next_weight;
  };
  std::vector<Tap> taps;
  int from = 0;
  int to = 0;
  bool linear = false;  // LinearTap, weights of about 2048 together; else ResizeTap, of 256

  int At(int i) const { return taps[static_cast<size_t>(i)].at; }
  // As ColumnGroup and RowMix have them.
  uint32_t ColumnWeights(int i) const;
  uint32_t RowWeights(int i) const;
};
AxisTaps MakeAxisTaps(int from, int to, bool linear);

// Whether any four neighbouring outputs lie within eight inputs, and of any eight outputs, whole groups of four, the
// second four within the eight inputs from the fourth on.
bool FitOneWindow(const AxisTaps& axis);

// Columns first..first + 3; byte `base` of an input row is the first one read, or before it.
ColumnGroup MakeColumnGroup(const AxisTaps& axis, int first, int base);

// If FitOneWindow(): groups of columns, of which there is a whole number of pairs; the second one of a pair reads the
// first one's window, a word on.
std::vector<ColumnGroup> MakeColumnGroups(const AxisTaps& axis);

// Each input row's output row, whose upper input row it is; row -1 if none is. Padded.
std::vector<RowMix> MakeRowSteps(const AxisTaps& axis);

// Whether the pixels of any pair of columns lie within two words.
bool FitPairWindows(const AxisTaps& axis);

// For a level by pairs: whole fours of them. With `one_window` both columns read column 0's words.
std::vector<ColumnPair> MakeColumnPairs(const AxisTaps& axis, bool one_window);

// The input rows that are needed. Padded.
std::vector<RowStep> MakePairSteps(const AxisTaps& axis);

// Which of those completes row y.
int PairStepOf(const AxisTaps& axis, int y);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_RESIZE_PLAN_H_
