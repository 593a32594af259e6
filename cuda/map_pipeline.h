// The frame of a detector that is not of cv::ORB's kind (IsOrbKind()).
#ifndef GLINT_CUDA_MAP_PIPELINE_H_
#define GLINT_CUDA_MAP_PIPELINE_H_

#include <functional>

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"
#include "features/options.h"

namespace glint::cuda {

// Enqueues all stages; calls `mark` after the pyramid, the corners and the ranking.
absl::Status EnqueueMap(StreamView stream, const DetectorOptions& options, const Frame& frame, const Tail& tail,
                        const MapFrame& map, int multiprocessors, const std::function<absl::Status()>& mark);

// Kernels that EnqueueMap() launches.
int CountMapLaunches(const DetectorOptions& options, const Frame& frame, const Tail& tail, const MapFrame& map,
                     int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_PIPELINE_H_
