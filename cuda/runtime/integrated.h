// The switch GLINT_CUDA_INTEGRATED of tests and benchmarks: at 1, every device is treated as an integrated one, which
// shares the host's memory. Then pixels are not copied: kernels read them in mapped host memory.
#ifndef GLINT_CUDA_RUNTIME_INTEGRATED_H_
#define GLINT_CUDA_RUNTIME_INTEGRATED_H_

#include "absl/status/status.h"

namespace glint::cuda {

inline constexpr char kIntegratedVariable[] = "GLINT_CUDA_INTEGRATED";

// INVALID_ARGUMENT if the variable is neither unset nor empty, 0 or 1.
absl::Status CheckIntegratedSwitch();

// It is 1. Read once.
bool TreatsDevicesAsIntegrated();

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_INTEGRATED_H_
