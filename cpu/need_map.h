// Which blocks of a level the descriptors of its keypoints read, as BlurJob wants it.
#ifndef GLINT_CPU_NEED_MAP_H_
#define GLINT_CPU_NEED_MAP_H_

#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "features/types.h"

namespace glint::cpu {

// Marks the squares of side 2 * reach + 1 around the points. reach in 1..46.
void MarkNeeded(const uint32_t* where, size_t count, Shape shape, int reach, Buffer<uint32_t>* map);

// BlurJob::needed of a strip.
const uint32_t* NeededRows(const Buffer<uint32_t>& map, int height, int strip);

}  // namespace glint::cpu

#endif  // GLINT_CPU_NEED_MAP_H_
