#include "features/reference/dense_harris.h"

#include <algorithm>

#include "features/math.h"
#include "features/reference/border.h"

namespace glint::reference {

Image Smooth(const ImageView& level) {
  Image out(level.width, level.height);
  for (int y = 0; y < level.height; ++y) {
    for (int x = 0; x < level.width; ++x) {
      int sum = 0;
      for (int v = -1; v <= 1; ++v) {
        for (int u = -1; u <= 1; ++u) sum += (2 - u * u) * (2 - v * v) * PixelOrReflection(level, x + u, y + v);
      }
      out.row(y)[x] = static_cast<uint8_t>((sum + 8) >> 4);
    }
  }
  return out;
}

std::vector<float> HarrisMap(const ImageView& level, int block, float k) {
  const int width = level.width;
  const int height = level.height;
  struct Products {
    int xx, yy, xy;
  };
  std::vector<Products> products;
  products.reserve(static_cast<size_t>(level.shape().pixels()));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto p = [&](int u, int v) -> int { return PixelOrReflection(level, x + u, y + v); };
      const int dx = (p(1, -1) + 2 * p(1, 0) + p(1, 1)) - (p(-1, -1) + 2 * p(-1, 0) + p(-1, 1));
      const int dy = (p(-1, 1) + 2 * p(0, 1) + p(1, 1)) - (p(-1, -1) + 2 * p(0, -1) + p(1, -1));
      products.push_back({dx * dx, dy * dy, dx * dy});
    }
  }
  const float scale4 = HarrisScale4(block);
  std::vector<float> map;
  map.reserve(products.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      Products sum = {0, 0, 0};
      for (int v = y - block / 2; v <= y + block / 2; ++v) {
        for (int u = x - block / 2; u <= x + block / 2; ++u) {
          const Products& p = products[static_cast<size_t>(Reflect101(v, height)) * width + Reflect101(u, width)];
          sum.xx += p.xx;
          sum.yy += p.yy;
          sum.xy += p.xy;
        }
      }
      map.push_back(HarrisResponse(sum.xx, sum.yy, sum.xy, k, scale4));
    }
  }
  return map;
}

std::vector<Corner> OverThreshold(const std::vector<float>& map, Shape shape, float threshold, bool fraction) {
  if (fraction) threshold *= *std::max_element(map.begin(), map.end());
  std::vector<Corner> corners;
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      const float response = map[static_cast<size_t>(y) * shape.width + x];
      // If no measure is positive, every pixel would be over a multiple of the maximum.
      if (response > 0 && response > threshold) corners.push_back({x, y, response});
    }
  }
  return corners;
}

}  // namespace glint::reference
