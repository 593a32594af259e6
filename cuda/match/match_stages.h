// Table of contents of matching: the launchers, in the order of a call. They enqueue on the stream and return; they
// neither allocate nor wait. Errors are those of a kernel launch, by ToStatus().
#ifndef GLINT_CUDA_MATCH_MATCH_STAGES_H_
#define GLINT_CUDA_MATCH_MATCH_STAGES_H_

#include "absl/status/status.h"
#include "cuda/match/match_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// tensor.cu: the best candidates of each query among each block's train descriptors and, with a cross check, the best
// query of each train descriptor. For plans with MatchKernel::kTensorCores.
absl::Status FindPairsByTensorCores(StreamView stream, const MatchParams& params);
// popcount.cu: the same, for all others.
absl::Status FindPairsByPopcount(StreamView stream, const MatchParams& params);

// finish.cu: from these to the result: rules 2 to 5.
absl::Status FinishMatches(StreamView stream, const MatchParams& params);
// Rule 6.
absl::Status KeepUsualRotations(StreamView stream, const MatchParams& params);

// matcher.cc: all of it, as the plan says.
absl::Status EnqueueMatch(StreamView stream, const MatchParams& params);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MATCH_MATCH_STAGES_H_
