#include "features/reference/fast.h"

#include <cstdlib>

#include "features/math.h"

namespace glint::reference {
namespace {

struct Ring {
  uint8_t pixels[kFastRing];
};

Ring RingAt(const ImageView& level, int x, int y) {
  Ring ring;
  for (int i = 0; i < kFastRing; ++i) ring.pixels[i] = level.at(x + FastRingX(i), y + FastRingY(i));
  return ring;
}

}  // namespace

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
      const int score = FastScore(centre, RingAt(level, x, y).pixels, arc);
      if (score >= threshold) corners.push_back({x, y, static_cast<float>(score)});
    }
  }
  return corners;
}

ArcRun ArcAt(const ImageView& level, int x, int y, int threshold, int arc, int max_arc) {
  const Ring ring = RingAt(level, x, y);
  return FindArc(level.at(x, y), ring.pixels, threshold, arc, max_arc);
}

std::vector<Corner> DetectBoundedFast(const ImageView& level, int threshold, int arc, int max_arc, Score score) {
  std::vector<Corner> corners;
  for (const Corner& c : DetectFast(level, threshold, arc)) {
    const int centre = level.at(c.x, c.y);
    const Ring ring = RingAt(level, c.x, c.y);
    const ArcRun run = FindArc(centre, ring.pixels, threshold, arc, max_arc);
    if (run.length == 0) continue;
    float response = c.response;
    if (score == Score::kSadCircle)
      response = static_cast<float>(SumOfDifferences(centre, ring.pixels, {0, kFastRing}));
    if (score == Score::kSadArc) response = static_cast<float>(SumOfDifferences(centre, ring.pixels, run));
    corners.push_back({c.x, c.y, response});
  }
  return corners;
}

std::vector<Corner> SuppressNonMaxima(const std::vector<Corner>& corners, Shape shape, int radius) {
  // The number of the corner at each pixel plus one; 0 where there is none.
  std::vector<uint32_t> at(static_cast<size_t>(shape.pixels()), 0);
  const auto index = [shape](int x, int y) { return static_cast<size_t>(y) * shape.width + x; };
  for (size_t i = 0; i < corners.size(); ++i) at[index(corners[i].x, corners[i].y)] = static_cast<uint32_t>(i) + 1;

  std::vector<Corner> maxima;
  for (const Corner& c : corners) {
    bool is_maximum = true;
    for (int y = Max(c.y - radius, 0); y <= Min(c.y + radius, shape.height - 1); ++y) {
      for (int x = Max(c.x - radius, 0); x <= Min(c.x + radius, shape.width - 1); ++x) {
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
