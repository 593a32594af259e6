// Table of contents of rectification: its launchers, which enqueue on the stream and return; they neither allocate nor
// wait. Errors are those of a kernel launch, by ToStatus().
#ifndef GLINT_CUDA_RECTIFY_REMAP_STAGES_H_
#define GLINT_CUDA_RECTIFY_REMAP_STAGES_H_

#include "absl/status/status.h"
#include "cuda/rectify/register_params.h"
#include "cuda/rectify/remap_params.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// remap.cu: a rectified image (reference::Remap). No image is empty.
absl::Status RemapImage(StreamView stream, const RemapParams& params);
// register_depth.cu: registered depths (reference::RegisterDepth). No image is empty.
absl::Status RegisterDepth(StreamView stream, const RegisterParams& params);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REMAP_STAGES_H_
