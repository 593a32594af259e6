// Which of the valid options this backend has.
#ifndef GLINT_CUDA_SUPPORTED_H_
#define GLINT_CUDA_SUPPORTED_H_

#include "absl/status/status.h"
#include "features/error.h"
#include "features/options.h"

namespace glint::cuda {

// OK, or UNIMPLEMENTED that says where to go instead. Thread-safe.
inline absl::Status CheckSupported(const DetectorOptions& options) {
  if (options.selection != Selection::kQuadtree) return absl::OkStatus();
  return UnsupportedError("selection",
                          "QUADTREE (preset orbslam) is not available on CUDA lanes; use a server with --backend=cpu");
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SUPPORTED_H_
