// Walks the list of a frame's launches (plan/schedule.h).
#ifndef GLINT_CUDA_ENQUEUE_FRAME_H_
#define GLINT_CUDA_ENQUEUE_FRAME_H_

#include <functional>

#include "absl/status/status.h"
#include "cuda/plan/frame.h"
#include "cuda/plan/quadtree_params.h"
#include "cuda/plan/schedule.h"
#include "cuda/plan/selection_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// The parameters of a frame's kernels, or of a part's, all pointers set.
struct PlacedFrame {
  Frame frame;
  SmallLevels small;
  SelectionParams params;   // if HasSelectionParams()
  QuadtreeParams quadtree;  // of Selection::kQuadtree
};

// Enqueues one launch of a schedule; to a launcher of cuda/stages.h.
absl::Status EnqueueLaunch(StreamView stream, const Schedule& schedule, const Launch& launch,
                           const PlacedFrame& placed);

// Enqueues those of one stage.
absl::Status EnqueueStage(StreamView stream, const Schedule& schedule, Stage stage, const PlacedFrame& placed);

// Enqueues all; calls `mark` before the first stage and after each, also where a stage has no launch.
absl::Status EnqueueFrame(StreamView stream, const Schedule& schedule, const PlacedFrame& placed,
                          const std::function<absl::Status()>& mark);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_ENQUEUE_FRAME_H_
