#include "cpu/bfrost.h"

#include <algorithm>

namespace glint::cpu {
namespace {

RegionSum Sum(const IntegralView& integral, int x, int y, const BfrostRegion& region) {
  const RegionSpan columns = SpanInside(x + region.x, region.radius, integral.shape.width);
  const RegionSpan rows = SpanInside(y + region.y, region.radius, integral.shape.height);
  const uint32_t* const above = integral.row(rows.first);
  const uint32_t* const below = integral.row(rows.last + 1);
  RegionSum sum;
  sum.sum = below[columns.last + 1] - below[columns.first] - above[columns.last + 1] + above[columns.first];
  sum.pixels = static_cast<uint32_t>((columns.last - columns.first + 1) * (rows.last - rows.first + 1));
  return sum;
}

}  // namespace

IntegralView MakeIntegral(const ImageView& image, uint32_t* data) {
  const IntegralView integral = {data, IntegralPitch(image.width), image.shape()};
  std::fill_n(data, integral.pitch, 0u);
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* const pixels = image.row(y);
    const uint32_t* const above = integral.row(y);
    uint32_t* const out = data + static_cast<size_t>(y + 1) * integral.pitch;
    uint32_t of_row = 0;
    out[0] = 0;
    for (int x = 0; x < image.width; ++x) {
      of_row += pixels[x];
      out[x + 1] = above[x + 1] + of_row;
    }
  }
  return integral;
}

void DescribeBfrost(const IntegralView& integral, const BfrostPattern& pattern, int x, int y, int step,
                    uint8_t* descriptor) {
  const auto& regions = pattern.regions[step % 2];
  const int shift = step / 2 * kBfrostCircles;
  RegionSum sums[kBfrostRegions];
  for (int i = 0; i < kBfrostRegions; ++i) {
    sums[i] = Sum(integral, x, y, regions[static_cast<size_t>((i + shift) % kBfrostRegions)]);
  }
  for (int i = 0; i < kBfrostRegions; i += 2) {
    unsigned bits = 0;
    for (int k = 0; k < 8; ++k) {
      const int region = i + k / 4;
      bits |= static_cast<unsigned>(Brighter(sums[region], sums[BfrostPartner(region, k % 4)])) << k;
    }
    descriptor[i / 2] = static_cast<uint8_t>(bits);
  }
}

}  // namespace glint::cpu
