// What the device wrote into the memory that the host reads, as features.
#ifndef GLINT_CUDA_RESULT_H_
#define GLINT_CUDA_RESULT_H_

#include "cuda/frame.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

// `frame`: as the host sees it, with Frame::result and of each level its corners, descriptors and scale. A response is
// a corner's key as a float times `response_scale`, or the key itself if `integer_keys`.
void ReadResult(const Frame& frame, const DetectorOptions& detector, bool integer_keys, float response_scale,
                Features* features);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RESULT_H_
