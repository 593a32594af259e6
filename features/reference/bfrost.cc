#include "features/reference/bfrost.h"

namespace glint::reference {
namespace {

RegionSum Sum(const ImageView& level, int x, int y, const BfrostRegion& region) {
  const RegionSpan columns = SpanInside(x + region.x, region.radius, level.width);
  const RegionSpan rows = SpanInside(y + region.y, region.radius, level.height);
  RegionSum total;
  for (int v = rows.first; v <= rows.last; ++v) {
    for (int u = columns.first; u <= columns.last; ++u) {
      total.sum += level.at(u, v);
      ++total.pixels;
    }
  }
  return total;
}

}  // namespace

std::array<uint8_t, kBfrostBytes> DescribeBfrost(const ImageView& level, int x, int y, int step,
                                                 const BfrostPattern& pattern) {
  const auto& regions = pattern.regions[step % 2];
  const int shift = step / 2 * kBfrostCircles;
  std::array<RegionSum, kBfrostRegions> sums;
  for (int i = 0; i < kBfrostRegions; ++i) sums[i] = Sum(level, x, y, regions[(i + shift) % kBfrostRegions]);

  std::array<uint8_t, kBfrostBytes> descriptor{};
  for (int bit = 0; bit < kBfrostBytes * 8; ++bit) {
    const bool brighter = Brighter(sums[bit / 4], sums[BfrostPartner(bit / 4, bit % 4)]);
    descriptor[bit / 8] |= static_cast<uint8_t>(brighter << (bit % 8));
  }
  return descriptor;
}

}  // namespace glint::reference
