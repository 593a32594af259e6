// Table of contents of tracking: the launchers, in the order of a frame. They enqueue on the stream and return; they
// neither allocate nor wait. Errors are those of a kernel launch, by ToStatus().
#ifndef GLINT_CUDA_TRACK_TRACK_STAGES_H_
#define GLINT_CUDA_TRACK_TRACK_STAGES_H_

#include "absl/status/status.h"
#include "cuda/runtime/owners.h"
#include "cuda/track/track_params.h"

namespace glint::cuda {

// levels.cu: the next level of a pyramid (reference::HalveForTracking). Both sides of `from` are 2 or more.
absl::Status HalveLevel(StreamView stream, const HalveParams& params);

// lucas_kanade.cu: all points, all levels, all rules, in one launch.
absl::Status TrackPoints(StreamView stream, const TrackParams& params);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACK_STAGES_H_
