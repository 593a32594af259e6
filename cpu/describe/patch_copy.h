// Copies a window that crosses the image's border, with reflections outside: for the few points and runs near the
// border, so that all other code reads their neighbourhood without checks.
#ifndef GLINT_CPU_DESCRIBE_PATCH_COPY_H_
#define GLINT_CPU_DESCRIBE_PATCH_COPY_H_

#include "features/math.h"
#include "features/types.h"

namespace glint::cpu {

inline constexpr int kMaxPatchCopy = 128;  // pixels across

// out[v * stride + u] = pixel (x + u, y + v).
inline void CopyPatch(const ImageView& image, int x, int y, int width, int height, uint8_t* out, ptrdiff_t stride) {
  int column[kMaxPatchCopy];
  for (int u = 0; u < width; ++u) column[u] = Reflect101(x + u, image.width);
  for (int v = 0; v < height; ++v) {
    const uint8_t* row = image.row(Reflect101(y + v, image.height));
    for (int u = 0; u < width; ++u) out[v * stride + u] = row[column[u]];
  }
}

}  // namespace glint::cpu

#endif  // GLINT_CPU_DESCRIBE_PATCH_COPY_H_
