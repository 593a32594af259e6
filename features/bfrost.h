// The pattern of the BFROST descriptor: 64 square regions on 4 circles of 16 directions around a keypoint, whose mean
// brightness is compared pairwise. Turning the keypoint by a step of 22.5 degrees turns the pattern into itself, so a
// turned descriptor is the same comparisons with shifted indices; for the half-steps in between there is a second set
// of regions. Computed once per set of options, on the host. Thread-safe.
//
// How the paper's formulas are read here: circle c = 0..3 has radius r = scale * 2^(2 + c) (its equation 4, garbled in
// the text at hand); region 4 d + c lies in direction d (its phi rounds down); a region spans z = round(pi r / 8)
// pixels to each side of its middle pixel (equation 8), 2z + 1 in all, and its mean is over those (equation 10 divides
// by 2r + 1 squared, which is another region's area). What lies outside the image is left out of sum and area.
#ifndef GLINT_FEATURES_BFROST_H_
#define GLINT_FEATURES_BFROST_H_

#include <array>
#include <cstdint>

#include "features/limits.h"
#include "features/math.h"

namespace glint {

constexpr int kBfrostRegions = 64;
constexpr int kBfrostCircles = 4;

struct BfrostRegion {
  int16_t x = 0;  // of its middle pixel, from the keypoint
  int16_t y = 0;
  int16_t radius = 0;  // it spans middle - radius .. middle + radius
};

struct BfrostPattern {
  // [0]: upright; [1]: turned by 11.25 degrees. Element 4 d + c: direction d times 22.5 degrees, clockwise as y points
  // down, circle c.
  std::array<BfrostRegion, kBfrostRegions> regions[2];
};

// scale in kMinBfrostScale..kMaxBfrostScale.
BfrostPattern MakeBfrostPattern(float scale);

// The region that bit 4 * region + k compares `region` with, k = 0..3.
GLINT_HD inline int BfrostPartner(int region, int k) {
  switch (k) {
    case 0:
      return (region + 8) % kBfrostRegions;
    case 1:
      return (region + 24) % kBfrostRegions;
    case 2:
      return (region + 36) % kBfrostRegions;
    default:  // the next direction's, on the mirrored circle
      return (region / kBfrostCircles * kBfrostCircles + 4 + (3 - region % kBfrostCircles)) % kBfrostRegions;
  }
}

// Sum of a region's pixels inside the image, and their number, 1 or more.
struct RegionSum {
  uint32_t sum = 0;
  uint32_t pixels = 0;
};

// One bit: the first region is brighter on average. Integers: the means are never rounded.
GLINT_HD inline bool Brighter(RegionSum a, RegionSum b) {
  return static_cast<uint64_t>(a.sum) * b.pixels > static_cast<uint64_t>(b.sum) * a.pixels;
}

// The pixels of one axis that a region covers in 0..size - 1. One that lies outside altogether covers the nearest.
struct RegionSpan {
  int first = 0;
  int last = 0;
};
GLINT_HD inline RegionSpan SpanInside(int middle, int radius, int size) {
  const int at = Clamp(middle, 0, size - 1);
  return {Max(at - radius, 0), Min(at + radius, size - 1)};
}

}  // namespace glint

#endif  // GLINT_FEATURES_BFROST_H_
