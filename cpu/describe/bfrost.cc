#include "cpu/describe/bfrost.h"

#include <algorithm>
#include <cstdlib>

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

// The descriptor of sums that are compared as `brighter(region, partner)` says.
template <typename Brighter>
void WriteBits(Brighter brighter, uint8_t* descriptor) {
  for (int i = 0; i < kBfrostRegions; i += 2) {
    unsigned bits = 0;
    for (int k = 0; k < 8; ++k) {
      const int region = i + k / 4;
      bits |= static_cast<unsigned>(brighter(region, BfrostPartner(region, k % 4))) << k;
    }
    descriptor[i / 2] = static_cast<uint8_t>(bits);
  }
}

using Regions = std::array<BfrostRegion, kBfrostRegions>;

// Some region is not all inside the image.
void DescribeAtBorder(const IntegralView& integral, const Regions& regions, int shift, int x, int y,
                      uint8_t* descriptor) {
  RegionSum sums[kBfrostRegions];
  for (int i = 0; i < kBfrostRegions; ++i) {
    sums[i] = Sum(integral, x, y, regions[static_cast<size_t>((i + shift) % kBfrostRegions)]);
  }
  WriteBits([&](int a, int b) { return Brighter(sums[a], sums[b]); }, descriptor);
}

// All regions are inside: those of a circle are of one size, and three of four partners are on a region's own circle,
// so that their sums compare as their means do. The fourth is on the mirrored circle, which is its partner's as well:
// one product for each region does.
void DescribeInside(const IntegralView& integral, const Regions& regions, int shift, int x, int y,
                    uint8_t* descriptor) {
  ptrdiff_t side[kBfrostCircles];
  uint64_t pixels[kBfrostCircles];
  for (int c = 0; c < kBfrostCircles; ++c) {
    side[c] = 2 * regions[static_cast<size_t>(c)].radius + 1;
    pixels[c] = static_cast<uint64_t>(side[c] * side[c]);
  }
  // What a region is compared with lies up to 36 after it, on the ring of regions.
  constexpr int kAhead = 36;
  uint32_t sums[kBfrostRegions + kAhead];
  uint64_t products[kBfrostRegions + 2 * kBfrostCircles];
  const ptrdiff_t pitch = static_cast<ptrdiff_t>(integral.pitch);
  const uint32_t* const centre = integral.row(y) + x;
  for (int i = 0; i < kBfrostRegions; i += kBfrostCircles) {
    const BfrostRegion* const of_direction = &regions[static_cast<size_t>((i + shift) % kBfrostRegions)];
    for (int c = 0; c < kBfrostCircles; ++c) {
      const BfrostRegion& r = of_direction[c];
      const uint32_t* const above = centre + (r.y - r.radius) * pitch + (r.x - r.radius);
      const uint32_t* const below = above + side[c] * pitch;
      sums[i + c] = below[side[c]] - below[0] - above[side[c]] + above[0];
      products[i + c] = sums[i + c] * pixels[kBfrostCircles - 1 - c];
    }
  }
  std::copy_n(sums, kAhead, sums + kBfrostRegions);
  std::copy_n(products, 2 * kBfrostCircles, products + kBfrostRegions);
  for (int i = 0; i < kBfrostRegions; i += 2) {
    const auto nibble = [&](int a) {
      const int mirrored = a / kBfrostCircles * kBfrostCircles + kBfrostCircles + (3 - a % kBfrostCircles);
      return static_cast<unsigned>(sums[a] > sums[a + 8]) | static_cast<unsigned>(sums[a] > sums[a + 24]) << 1 |
             static_cast<unsigned>(sums[a] > sums[a + 36]) << 2 |
             static_cast<unsigned>(products[a] > products[mirrored]) << 3;
    };
    descriptor[i / 2] = static_cast<uint8_t>(nibble(i) | nibble(i + 1) << 4);
  }
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

BfrostTable MakeBfrostTable(float scale) {
  BfrostTable table;
  table.pattern = MakeBfrostPattern(scale);
  for (const Regions& regions : table.pattern.regions) {
    for (const BfrostRegion& r : regions) {
      table.reach = std::max(table.reach, std::max(std::abs(r.x), std::abs(r.y)) + r.radius);
    }
  }
  return table;
}

void DescribeBfrost(const IntegralView& integral, const BfrostTable& table, int x, int y, int step,
                    uint8_t* descriptor) {
  const Regions& regions = table.pattern.regions[step % 2];
  const int shift = step / 2 * kBfrostCircles;
  const bool inside = x >= table.reach && y >= table.reach && x + table.reach < integral.shape.width &&
                      y + table.reach < integral.shape.height;
  (inside ? DescribeInside : DescribeAtBorder)(integral, regions, shift, x, y, descriptor);
}

}  // namespace glint::cpu
