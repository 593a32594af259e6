// Which blocks of a level the descriptors of its keypoints read, as BlurJob wants it.
#ifndef GLINT_CPU_DESCRIBE_BLUR_BLOCK_MASK_H_
#define GLINT_CPU_DESCRIBE_BLUR_BLOCK_MASK_H_

#include <cstddef>
#include <cstdint>

#include "features/types.h"

namespace glint::cpu {

size_t BlurBlockMaskElements(Shape shape);

// Marks the squares of side 2 * reach + 1 around the points. reach in 0..46. `mask` has BlurBlockMaskElements(shape).
void MarkBlurBlocks(const uint32_t* where, size_t count, Shape shape, int reach, uint32_t* mask);

// The mask's rows of one strip, for BlurJob::blur_mask.
const uint32_t* BlurBlockMaskRows(const uint32_t* mask, int height, int strip);

}  // namespace glint::cpu

#endif  // GLINT_CPU_DESCRIBE_BLUR_BLOCK_MASK_H_
