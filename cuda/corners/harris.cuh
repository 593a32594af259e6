// The Harris measure at a pixel.
#ifndef GLINT_CUDA_CORNERS_HARRIS_CUH_
#define GLINT_CUDA_CORNERS_HARRIS_CUH_

#include <cstddef>
#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/math.h"

namespace glint::cuda {

// HarrisResponse() of a window, sliding down it, so that each row's differences and sums are computed once.
// load(v, p): pixels of its row v and those beside it, of which there is one more at each side and end.
template <typename F>
__device__ __forceinline__ float HarrisOver(F load) {
  int difference[3][kHarrisBlock];  // p(x + 1) - p(x - 1), of the last three rows
  int sum[3][kHarrisBlock];         // p(x - 1) + 2 p(x) + p(x + 1)
  int xx = 0, yy = 0, xy = 0;
#pragma unroll
  for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
    int p[kHarrisBlock + 2];
    load(v, p);
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      difference[v % 3][u] = p[u + 2] - p[u];
      sum[v % 3][u] = p[u] + 2 * p[u + 1] + p[u + 2];
    }
    if (v < 2) continue;
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      const int gx = difference[(v + 1) % 3][u] + 2 * difference[(v + 2) % 3][u] + difference[v % 3][u];
      const int gy = sum[v % 3][u] - sum[(v + 1) % 3][u];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
  return HarrisResponse(xx, yy, xy);
}

// HarrisResponse() at a pixel of a level; reflections outside.
__device__ __forceinline__ float HarrisAt(const Level& level, int x, int y) {
  int column[kHarrisBlock + 2];
#pragma unroll
  for (int u = 0; u < kHarrisBlock + 2; ++u) column[u] = Reflect101(x - kHarrisRadius + u, level.width);
  return HarrisOver([&](int v, int(&p)[kHarrisBlock + 2]) {
    const uint8_t* row =
        level.image + static_cast<size_t>(Reflect101(y - kHarrisRadius + v, level.height)) * level.pitch;
#pragma unroll
    for (int u = 0; u < kHarrisBlock + 2; ++u) p[u] = row[column[u]];
  });
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_HARRIS_CUH_
