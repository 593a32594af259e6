// Tables of the stages that find angles and descriptors.
#ifndef GLINT_CUDA_PLAN_DESCRIBE_TABLES_H_
#define GLINT_CUDA_PLAN_DESCRIBE_TABLES_H_

#include <cstdint>
#include <vector>

#include "features/patch.h"

namespace glint::cuda {

// Frame::disc_masks; `vectors` and `batches`: Frame::disc_vectors, Frame::disc_batches.
std::vector<uint64_t> MakeDiscMasks(const PatchDisc& disc, int* vectors, int* batches);

// The farthest that a rotated point of the pattern can be from the keypoint along an axis, after rounding, pixels; at
// least 2, which the descriptor stage needs.
int PatternReach(const RbriefPattern& pattern);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_DESCRIBE_TABLES_H_
