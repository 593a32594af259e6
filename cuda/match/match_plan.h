// The one place that chooses how descriptors are matched.
#ifndef GLINT_CUDA_MATCH_MATCH_PLAN_H_
#define GLINT_CUDA_MATCH_MATCH_PLAN_H_

#include <cstddef>

#include "cuda/match/match_params.h"
#include "features/matcher.h"

namespace glint::cuda {

// What it runs on.
struct MatchDevice {
  int multiprocessors = 1;
  int compute_major = 0;  // of the compute capability
};

// 1 or more of both; `has_conditions`: any of QueryConditions limits pairs.
MatchPlan PlanMatch(const MatchDevice& device, int queries, int trains, int bytes, const MatchOptions& options,
                    bool has_conditions);

// Whether the conditions or the angles limit pairs.
bool LimitsPairs(const QueryConditions& conditions, const MatchOptions& options);

// Bytes of MatchParams::partials for up to so many queries, whatever the plan.
inline size_t PartialBytes(int max_queries) {
  return static_cast<size_t>(max_queries) * kMaxPartials * sizeof(uint32_t);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MATCH_MATCH_PLAN_H_
