// CUDA error -> absl::Status, in one place.
#ifndef GLINT_CUDA_RUNTIME_ERROR_H_
#define GLINT_CUDA_RUNTIME_ERROR_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/status_macros.h"

namespace glint::cuda {

// OK; RESOURCE_EXHAUSTED for memory; FAILED_PRECONDITION for a missing or unusable driver or device; INTERNAL for the
// rest. The text holds `doing`, the error's CUDA name and its description.
absl::Status ToStatus(cudaError_t error, absl::string_view doing);

// The context is lost: every later call of this process fails with the same error.
bool IsSticky(cudaError_t error);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_ERROR_H_
