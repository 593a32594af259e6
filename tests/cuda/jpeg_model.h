// What cuda/jpeg does on the device, on the host: the same subsequences, sums and checks. Boundaries are
// found by rounds alone.
#ifndef GLINT_TESTS_CUDA_JPEG_MODEL_H_
#define GLINT_TESTS_CUDA_JPEG_MODEL_H_

#include <cstddef>
#include <cstdint>

#include "cuda/jpeg/jpeg_plan.h"
#include "features/types.h"

namespace glint::cuda {

// Luma of a planned file; kNone, or why another decoder is needed. `max_rounds` limits how often subsequences begin
// again.
JpegReason DecodeByModel(const JpegPlan& plan, const uint8_t* file, size_t size, int max_rounds, Image* luma);

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_JPEG_MODEL_H_
