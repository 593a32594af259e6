#include "features/reference/gaussian.h"

#include <vector>

#include "features/math.h"

namespace glint::reference {

Image GaussianBlur(const ImageView& level) {
  const int width = level.width;
  std::vector<float> rows(static_cast<size_t>(level.shape().pixels()));
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < width; ++x) {
      uint8_t p[2 * kGaussianRadius + 1];
      for (int i = 0; i < 7; ++i) p[i] = level.at(Reflect101(x + i - kGaussianRadius, width), y);
      rows[static_cast<size_t>(y) * width + x] = GaussianRow(p);
    }
  }
  Image out(width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < width; ++x) {
      float r[2 * kGaussianRadius + 1];
      for (int i = 0; i < 7; ++i) {
        r[i] = rows[static_cast<size_t>(Reflect101(y + i - kGaussianRadius, level.height)) * width + x];
      }
      out.row(y)[x] = GaussianColumn(r);
    }
  }
  return out;
}

Image FixedGaussianBlur(const ImageView& level) {
  Image out(level.width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      int r[2 * kGaussianRadius + 1];
      for (int i = 0; i < 7; ++i) {
        const int v = Reflect101(y + i - kGaussianRadius, level.height);
        uint8_t p[2 * kGaussianRadius + 1];
        for (int k = 0; k < 7; ++k) p[k] = level.at(Reflect101(x + k - kGaussianRadius, level.width), v);
        r[i] = FixedGaussianRow(p);
      }
      out.row(y)[x] = FixedGaussianColumn(r);
    }
  }
  return out;
}

}  // namespace glint::reference
