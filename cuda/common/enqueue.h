// Enqueues one launch of a schedule: what all launchers end with.
#ifndef GLINT_CUDA_COMMON_ENQUEUE_H_
#define GLINT_CUDA_COMMON_ENQUEUE_H_

#include "absl/status/status.h"
#include "cuda/plan/launch.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// Launches `kernel`, a __global__ function with parameters of the types of `arguments`, as `launch` says. `arguments`
// may go when this returns. Errors are those of a kernel launch, and name launch.kernel.
absl::Status EnqueueKernel(StreamView stream, const Launch& launch, const void* kernel, void** arguments);

template <typename... Parameters>
absl::Status Enqueue(StreamView stream, const Launch& launch, void (*kernel)(Parameters...),
                     const Parameters&... arguments) {
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return EnqueueKernel(stream, launch, reinterpret_cast<const void*>(kernel), pointers);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_ENQUEUE_H_
