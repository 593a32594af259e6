// The stages of a frame, for detectors that select otherwise than SelectsTopNPerLevel().
#ifndef GLINT_CUDA_ENQUEUE_H_
#define GLINT_CUDA_ENQUEUE_H_

#include <functional>

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"
#include "features/options.h"

namespace glint::cuda {

// Of Selection::kTopN: from each level's candidates or buckets to the result.
absl::Status SelectTopN(StreamView stream, const DetectorOptions& options, const Frame& frame, int multiprocessors);

// Enqueues all stages; calls `mark` after the pyramid, the corners and the ranking.
absl::Status EnqueueStages(StreamView stream, const DetectorOptions& options, const Frame& frame,
                           const SmallLevels& small, const SelectionParams& params, int multiprocessors,
                           const std::function<absl::Status()>& mark);

// Kernels that EnqueueStages() launches.
int CountStageLaunches(const DetectorOptions& options, const Frame& frame, const SmallLevels& small,
                       const SelectionParams& params, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_ENQUEUE_H_
