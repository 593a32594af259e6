// Selection: the n best of a list, with ties, and the order of the output.
#ifndef GLINT_CPU_SELECT_SELECT_H_
#define GLINT_CPU_SELECT_SELECT_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"

namespace glint::cpu {

// Each keeps, in their order, the n best of `where` by score or response and all that tie with the n-th, and returns
// how many that are. `where` and `response` are compacted in place.
size_t KeepBestScores(uint32_t* where, const uint8_t* score, size_t count, size_t n, float* response);
size_t KeepBestResponses(uint32_t* where, float* response, size_t count, size_t n, Buffer<uint32_t>* scratch);

// Leaves at most `limit` elements: of those that tie for the last place, the first in their order. Fewer than `limit`
// may be better than those. Returns how many are left.
size_t TrimTies(uint32_t* where, float* response, size_t count, size_t limit);

// slot[i]: the place of element i in the order of response descending, then index ascending.
void OutputOrder(const float* response, size_t count, Buffer<uint64_t>* scratch, uint32_t* slot);

}  // namespace glint::cpu

#endif  // GLINT_CPU_SELECT_SELECT_H_
