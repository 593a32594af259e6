// Table of contents of tracking: the launchers, in the order of a frame. They enqueue on the stream and return; they
// neither allocate nor wait. Errors are those of a kernel launch, by ToStatus().
#ifndef GLINT_CUDA_TRACK_TRACK_STAGES_H_
#define GLINT_CUDA_TRACK_TRACK_STAGES_H_

#include "absl/status/status.h"
#include "cuda/runtime/owners.h"
#include "cuda/track/track_params.h"

namespace glint::cuda {

// levels.cu: the next levels of a pyramid (reference::HalveForTracking). No level is empty.
absl::Status HalveLevels(StreamView stream, const HalveParams& params);

// lucas_kanade.cu: all points, all levels, all rules, in one launch, for that many multiprocessors.
absl::Status TrackPoints(StreamView stream, const TrackParams& params, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACK_STAGES_H_
