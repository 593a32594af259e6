// Which levels of the cascaded pyramid are its small levels, in which tiles, and the tables for that.
#ifndef GLINT_CUDA_PLAN_SMALL_LEVELS_PLAN_H_
#define GLINT_CUDA_PLAN_SMALL_LEVELS_PLAN_H_

#include <cstdint>
#include <vector>

#include "cuda/plan/frame.h"
#include "cuda/plan/resize_plan.h"

namespace glint::cuda {

// Small levels, their tables not in place yet.
struct SmallLevelsPlan {
  SmallLevels small{};
  std::vector<uint8_t> columns;
  std::vector<uint8_t> rows;
};
// The longest series of the frame's levels that is worth its launch on so many multiprocessors. columns[l] and rows[l]:
// how level l is made. At factors of 4/3 and more, where there are few levels, there is none.
SmallLevelsPlan PlanSmallLevels(const Frame& frame, const AxisTaps* columns, const AxisTaps* rows, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_SMALL_LEVELS_PLAN_H_
