// The devices that there are, apart from what runs on them.
#ifndef GLINT_CUDA_DEVICES_H_
#define GLINT_CUDA_DEVICES_H_

#include <driver_types.h>

#include "absl/status/status.h"
#include "cuda/runtime/api.h"

namespace glint::cuda {

// OK if the device exists and this build has code for it.
absl::Status CheckDevice(Api* api, int ordinal, cudaDeviceProp* properties);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DEVICES_H_
