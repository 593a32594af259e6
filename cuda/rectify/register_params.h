// Registration of depth as the kernels do it. The host can do the same, for tests.
#ifndef GLINT_CUDA_RECTIFY_REGISTER_PARAMS_H_
#define GLINT_CUDA_RECTIFY_REGISTER_PARAMS_H_

#include <array>
#include <cmath>
#include <cstdint>

#include "cuda/rectify/remap_params.h"
#include "features/camera/depth_table.h"
#include "features/math.h"
#include "features/types.h"

namespace glint::cuda {

// Pixels whose depths a thread writes.
inline constexpr int kDepthsOfThread = 8;

struct RegisterParams {
  const float *x, *y, *w, *centre_w;  // as DepthTable
  float offset[3];                    // DepthTable::OffsetIn()
  SampleRange measured;
  const uint16_t* source;  // rows follow each other
  Shape source_shape;
  // For each pixel of `shape`, and up to a multiple of kDepthsOfThread: 65536 less the nearest depth, or 0. All 0
  // before the first kernel, and again after the second.
  uint32_t* nearest;
  uint16_t* to;  // as many
  Shape shape;
};

GLINT_HD inline void KeepNearest(uint32_t* nearest, uint32_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(nearest, value);
#else
  *nearest = *nearest < value ? value : *nearest;
#endif
}

// 0 remains 0.
GLINT_HD inline uint32_t DepthOfNearest(uint32_t nearest) { return (0 - nearest) & 0xffff; }

// The pixels of an axis of `side` pixels that a pixel of the sensor with corners at numerator / w covers; none if
// first > last. Comparisons with NaN are those of std::min and std::max as the reference calls them.
struct CoveredPixels {
  int first, last;
};
GLINT_HD inline CoveredPixels CoverPixels(const float (&numerator)[4], const float (&w)[4], int side) {
  float least = numerator[0] / w[0], most = least;
  for (int i = 1; i < 4; ++i) {
    const float at = numerator[i] / w[i];
    least = at < least ? at : least;
    most = most < at ? at : most;
  }
  if (!(most - least <= DepthTable::kMostPixels)) return {0, -1};
  const float from = least - DepthTable::kMargin, to = most + DepthTable::kMargin;
  const auto end = static_cast<float>(side);
  return {from > 0 ? static_cast<int>(ceilf(from < end ? from : end)) : 0,
          to < 0 ? -1 : static_cast<int>(to < end - 1 ? to : end - 1)};
}

// What pixel (column, row) of the sensor adds to params.nearest. Single precision in the reference's order.
GLINT_HD inline void RegisterPixel(const RegisterParams& params, int column, int row) {
  const int width = params.source_shape.width;
  const int pixel = row * width + column;
  const int sample = LoadConstant(params.source + pixel);
  if (sample < params.measured.least || sample > params.measured.most) return;
  const auto z = static_cast<float>(sample);
  // All that is loaded is on its way before the first is used.
  float x[4], y[4], w[4];
  for (int i = 0; i < 4; ++i) {
    const int corner = pixel + row + i / 2 * (width + 1) + i % 2;
    x[i] = LoadConstant(params.x + corner) * z + params.offset[0];
    y[i] = LoadConstant(params.y + corner) * z + params.offset[1];
    w[i] = LoadConstant(params.w + corner) * z + params.offset[2];
  }
  const float depth = floorf((LoadConstant(params.centre_w + pixel) * z + params.offset[2]) + 0.5F);
  if (!(w[0] > 0 && w[1] > 0 && w[2] > 0 && w[3] > 0 && depth >= 1 && depth <= 65535)) return;
  const CoveredPixels columns = CoverPixels(x, w, params.shape.width);
  const CoveredPixels rows = CoverPixels(y, w, params.shape.height);
  const uint32_t value = 65536 - static_cast<uint32_t>(depth);
  for (int to_y = rows.first; to_y <= rows.last; ++to_y) {
    uint32_t* const to = params.nearest + static_cast<int64_t>(to_y) * params.shape.width;
    for (int to_x = columns.first; to_x <= columns.last; ++to_x) KeepNearest(to + to_x, value);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REGISTER_PARAMS_H_
