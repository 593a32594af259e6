// Table of contents of rectification: its one launcher, which enqueues on the stream and returns; it neither allocates
// nor waits. Errors are those of a kernel launch, by ToStatus().
#ifndef GLINT_CUDA_RECTIFY_REMAP_STAGES_H_
#define GLINT_CUDA_RECTIFY_REMAP_STAGES_H_

#include "absl/status/status.h"
#include "cuda/rectify/remap_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// remap.cu: a rectified image (reference::Remap). No image is empty.
absl::Status RemapImage(StreamView stream, const RemapParams& params);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REMAP_STAGES_H_
