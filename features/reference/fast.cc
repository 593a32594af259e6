#include "features/reference/fast.h"

#include <cstdlib>

#include "features/math.h"

namespace glint::reference {

std::vector<Corner> DetectFast(const ImageView& level, int threshold, int arc) {
  std::vector<Corner> corners;
  for (int y = kFastRadius; y < level.height - kFastRadius; ++y) {
    for (int x = kFastRadius; x < level.width - kFastRadius; ++x) {
      const int centre = level.at(x, y);
      // An arc of nine or more has a pixel of every opposite pair.
      if (std::abs(level.at(x, y - kFastRadius) - centre) <= threshold &&
          std::abs(level.at(x, y + kFastRadius) - centre) <= threshold) {
        continue;
      }
      uint8_t ring[16];
      for (int i = 0; i < 16; ++i) ring[i] = level.at(x + FastRingX(i), y + FastRingY(i));
      const int score = FastScore(centre, ring, arc);
      if (score >= threshold) corners.push_back({x, y, static_cast<float>(score)});
    }
  }
  return corners;
}

std::vector<Corner> SuppressNonMaxima(const std::vector<Corner>& corners, Shape shape) {
  // The number of the corner at each pixel plus one; 0 where there is none.
  std::vector<uint32_t> at(static_cast<size_t>(shape.pixels()), 0);
  const auto index = [shape](int x, int y) { return static_cast<size_t>(y) * shape.width + x; };
  for (size_t i = 0; i < corners.size(); ++i) at[index(corners[i].x, corners[i].y)] = static_cast<uint32_t>(i) + 1;

  std::vector<Corner> maxima;
  for (const Corner& c : corners) {
    bool is_maximum = true;
    for (int y = Max(c.y - 1, 0); y <= Min(c.y + 1, shape.height - 1); ++y) {
      for (int x = Max(c.x - 1, 0); x <= Min(c.x + 1, shape.width - 1); ++x) {
        const uint32_t other = at[index(x, y)];
        const bool is_neighbour = other != 0 && (x != c.x || y != c.y);
        if (is_neighbour && !(c.response > corners[other - 1].response)) is_maximum = false;
      }
    }
    if (is_maximum) maxima.push_back(c);
  }
  return maxima;
}

}  // namespace glint::reference
