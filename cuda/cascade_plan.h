// The tables of cuda/cascade.h, from the taps of the levels.
#ifndef GLINT_CUDA_CASCADE_PLAN_H_
#define GLINT_CUDA_CASCADE_PLAN_H_

#include <cstdint>
#include <vector>

#include "cuda/cascade.h"
#include "cuda/frame.h"

namespace glint::cuda {

// The taps of a level, with its number of columns or rows and that of the level before.
struct AxisTaps {
  std::vector<PackedTap> taps;  // the last one repeated to a whole vector of four
  int from = 0;
  int to = 0;

  int At(int i) const { return static_cast<int>(taps[static_cast<size_t>(i)] & 0xffff); }
  int Weight(int i) const { return static_cast<int>(taps[static_cast<size_t>(i)] >> 16); }
};
AxisTaps MakeAxisTaps(int from, int to);

// Whether any four neighbouring outputs lie within eight inputs.
bool AreNarrow(const AxisTaps& axis);

// Whether of any eight outputs, whole groups of four, the second four lie within the eight inputs from the fourth on.
bool FitOneWindow(const AxisTaps& axis);

// For BuildLevel(): groups of columns, of which there is a whole number of pairs; with `one_window`, the second one of
// a pair reads the first one's window, a word on.
std::vector<ColumnGroup> MakeColumnGroups(const AxisTaps& axis, bool one_window);

// Each input row's output row, whose upper input row it is; row -1 if none is. Padded.
std::vector<RowMix> MakeRowSteps(const AxisTaps& axis);

// A tail, its tables not in place yet.
struct TailPlan {
  Tail tail{};
  std::vector<uint8_t> columns;
  std::vector<uint8_t> rows;
};
// The longest tail of the frame's levels that is worth its launch on so many multiprocessors. columns[l] and rows[l]:
// how level l is made.
TailPlan PlanTail(const Frame& frame, const AxisTaps* columns, const AxisTaps* rows, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CASCADE_PLAN_H_
