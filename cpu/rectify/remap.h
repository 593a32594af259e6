// Rectification of rows on the CPU, as features/reference/remap.h.
#ifndef GLINT_CPU_RECTIFY_REMAP_H_
#define GLINT_CPU_RECTIFY_REMAP_H_

#include <cstddef>
#include <cstdint>

#include "features/camera/remap_table.h"
#include "features/types.h"

namespace glint::cpu {

// Writes the `count` rows from `first` on of the rectified image, `stride` bytes apart. `source` has table.source's
// shape; the table has its blocks (MakeBlocks()). Pure: thread-safe.
using RemapRows = void (*)(const ImageView& source, const RemapTable& table, int first, int count, uint8_t* to,
                           ptrdiff_t stride);
RemapRows RemapRowsFor(int64_t target);
RemapRows BestRemapRows();  // for BestSimdTarget()

}  // namespace glint::cpu

#endif  // GLINT_CPU_RECTIFY_REMAP_H_
