#include "features/reference/register_depth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace glint::reference {
namespace {

struct Range {
  float least = 0, most = 0;

  bool Holds(int value) const {
    const auto at = static_cast<float>(value);
    return at >= least - DepthTable::kMargin && at <= most + DepthTable::kMargin;
  }
};

// The pixels that a pixel of the sensor covers, and their depth; 0: it does not count.
struct Footprint {
  Range x, y;
  int depth = 0;
};

Footprint FootprintOf(const DepthTable& table, const std::array<float, 3>& offset, int x, int y, uint16_t sample) {
  Footprint footprint;
  const auto z = static_cast<float>(sample);
  for (int i = 0; i < 4; ++i) {
    const size_t corner =
        static_cast<size_t>(y + i / 2) * static_cast<size_t>(table.source.width + 1) + static_cast<size_t>(x + i % 2);
    const float w = table.w[corner] * z + offset[2];
    if (!(w > 0)) return {};
    const float at_x = (table.x[corner] * z + offset[0]) / w;
    const float at_y = (table.y[corner] * z + offset[1]) / w;
    if (i == 0) footprint = {{at_x, at_x}, {at_y, at_y}, 0};
    footprint.x = {std::min(footprint.x.least, at_x), std::max(footprint.x.most, at_x)};
    footprint.y = {std::min(footprint.y.least, at_y), std::max(footprint.y.most, at_y)};
  }
  if (!(footprint.x.most - footprint.x.least <= DepthTable::kMostPixels)) return {};
  if (!(footprint.y.most - footprint.y.least <= DepthTable::kMostPixels)) return {};
  const size_t pixel = static_cast<size_t>(y) * static_cast<size_t>(table.source.width) + static_cast<size_t>(x);
  const float rounded = std::floor((table.centre_w[pixel] * z + offset[2]) + 0.5F);
  if (rounded >= 1 && rounded <= 65535) footprint.depth = static_cast<int>(rounded);
  return footprint;
}

}  // namespace

void RemapDepth(const DepthView& depth, const RemapTable& table, std::vector<uint16_t>* remapped) {
  constexpr int kHalf = RemapTable::kFractions / 2;
  remapped->clear();
  for (const RemapTable::Entry& at : table.entries) {
    const int x = at.x + (at.fraction_x >= kHalf ? 1 : 0), y = at.y + (at.fraction_y >= kHalf ? 1 : 0);
    const bool inside = x >= 0 && y >= 0 && x < depth.width && y < depth.height;
    remapped->push_back(inside ? depth.at(x, y) : uint16_t{0});
  }
}

void RegisterDepth(const DepthView& depth, const DepthTable& table, std::vector<uint16_t>* registered) {
  const std::array<float, 3> offset = table.OffsetIn(depth.sensor.unit);
  registered->assign(static_cast<size_t>(table.shape.pixels()), 0);
  for (int source_y = 0; source_y < depth.height; ++source_y) {
    for (int source_x = 0; source_x < depth.width; ++source_x) {
      const uint16_t sample = depth.at(source_x, source_y);
      if (!IsMeasured(depth.sensor, sample)) continue;
      const Footprint footprint = FootprintOf(table, offset, source_x, source_y, sample);
      if (footprint.depth == 0) continue;
      // What lies 1e6 pixels outside is not inside.
      const auto first = [](float least) { return static_cast<int>(std::clamp(least - 1, -1e6F, 1e6F)); };
      const auto last = [](float most, int side) {
        return static_cast<int>(std::clamp(most + 1, -1e6F, static_cast<float>(side - 1)));
      };
      for (int y = std::max(0, first(footprint.y.least)); y <= last(footprint.y.most, table.shape.height); ++y) {
        for (int x = std::max(0, first(footprint.x.least)); x <= last(footprint.x.most, table.shape.width); ++x) {
          if (!footprint.x.Holds(x) || !footprint.y.Holds(y)) continue;
          uint16_t& pixel =
              (*registered)[static_cast<size_t>(y) * static_cast<size_t>(table.shape.width) + static_cast<size_t>(x)];
          if (pixel == 0 || footprint.depth < pixel) pixel = static_cast<uint16_t>(footprint.depth);
        }
      }
    }
  }
}

}  // namespace glint::reference
