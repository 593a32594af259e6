// A row of the sensor is projected in parts of kPart pixels, by a loop that compilers turn into vectors, and then
// drawn.
#include "cpu/rectify/register_depth.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace glint::cpu {
namespace {

constexpr int kPart = 256;

// The least and the largest sample that count; least > most: none does.
struct Samples {
  int least = 1, most = 65535;
};

Samples MeasuredBy(const DepthSensor& sensor) {
  Samples samples;
  const auto counts = [&](int sample) { return IsMeasured(sensor, static_cast<uint16_t>(sample)); };
  while (samples.least <= samples.most && !counts(samples.least)) ++samples.least;
  while (samples.least <= samples.most && !counts(samples.most)) --samples.most;
  return samples;
}

// Corners of a row of the sensor's pixels, above and below it.
struct Corners {
  const float* above;
  const float* below;
};

struct Row {
  Corners x, y, w;
  const float* centre_w;
};

// Pixels x0..x1, y0..y1 of the image, and their depth; 0: the pixel does not count.
struct Footprints {
  std::array<float, kPart> z;
  std::array<int32_t, kPart> x0, x1, y0, y1, depth;
};

// The integers within kMargin of four values, from 0 to side - 1: few enough of them, or `*good` becomes 0.
inline void Cover(float a, float b, float c, float d, float side, int32_t* first, int32_t* last, int32_t* good) {
  const float ab = b < a ? b : a, cd = d < c ? d : c, most_ab = b > a ? b : a, most_cd = d > c ? d : c;
  const float least = cd < ab ? cd : ab, most = most_cd > most_ab ? most_cd : most_ab;
  float from = least - DepthTable::kMargin, to = most + DepthTable::kMargin;
  *good &= static_cast<int32_t>(most - least <= DepthTable::kMostPixels) & static_cast<int32_t>(to >= 0);
  from = from > 0 ? from : 0;
  from = from < side ? from : side;
  to = to > 0 ? to : 0;
  to = to < side - 1 ? to : side - 1;
  const auto whole = static_cast<int32_t>(from);
  *first = whole + static_cast<int32_t>(static_cast<float>(whole) < from);
  *last = static_cast<int32_t>(to);
}

void Project(const Row& row, int first, int count, const std::array<float, 3>& offset, const Samples& samples,
             Shape image, Footprints* to) {
  const float *const xa = row.x.above + first, *const xb = row.x.below + first;
  const float *const ya = row.y.above + first, *const yb = row.y.below + first;
  const float *const wa = row.w.above + first, *const wb = row.w.below + first;
  const float* const centre = row.centre_w + first;
  const auto least = static_cast<float>(samples.least), most = static_cast<float>(samples.most);
  const auto width = static_cast<float>(image.width), height = static_cast<float>(image.height);
  const float ox = offset[0], oy = offset[1], ow = offset[2];
  for (int i = 0; i < count; ++i) {
    const float z = to->z[i];
    const float w0 = wa[i] * z + ow, w1 = wa[i + 1] * z + ow, w2 = wb[i] * z + ow, w3 = wb[i + 1] * z + ow;
    int32_t good = static_cast<int32_t>(z >= least) & static_cast<int32_t>(z <= most) & static_cast<int32_t>(w0 > 0) &
                   static_cast<int32_t>(w1 > 0) & static_cast<int32_t>(w2 > 0) & static_cast<int32_t>(w3 > 0);
    Cover((xa[i] * z + ox) / w0, (xa[i + 1] * z + ox) / w1, (xb[i] * z + ox) / w2, (xb[i + 1] * z + ox) / w3, width,
          &to->x0[i], &to->x1[i], &good);
    Cover((ya[i] * z + oy) / w0, (ya[i + 1] * z + oy) / w1, (yb[i] * z + oy) / w2, (yb[i + 1] * z + oy) / w3, height,
          &to->y0[i], &to->y1[i], &good);
    const float rounded = (centre[i] * z + ow) + 0.5F;
    good &= static_cast<int32_t>(rounded >= 1) & static_cast<int32_t>(rounded < 65536);
    const float depth = good != 0 ? rounded : 0;
    to->depth[i] = static_cast<int32_t>(depth);
  }
}

void Draw(const Footprints& from, int count, ptrdiff_t width, uint16_t* to) {
  for (int i = 0; i < count; ++i) {
    // Less 1, no depth is the farthest.
    const auto depth = static_cast<uint16_t>(from.depth[i] - 1);
    if (from.depth[i] == 0) continue;
    for (int y = from.y0[i]; y <= from.y1[i]; ++y) {
      uint16_t* const row = to + y * width;
      for (int x = from.x0[i]; x <= from.x1[i]; ++x) {
        if (depth < static_cast<uint16_t>(row[x] - 1)) row[x] = static_cast<uint16_t>(depth + 1);
      }
    }
  }
}

}  // namespace

void RemapDepth(const DepthView& depth, const RemapTable& table, uint16_t* to) {
  for (const RemapTable::Entry& at : table.entries) {
    const int x = at.x + (at.fraction_x >> 4), y = at.y + (at.fraction_y >> 4);
    const bool inside = x >= 0 && y >= 0 && x < depth.width && y < depth.height;
    *to++ = inside ? depth.at(x, y) : uint16_t{0};
  }
}

void RegisterDepth(const DepthView& depth, const DepthTable& table, uint16_t* to) {
  const std::array<float, 3> offset = table.OffsetIn(depth.sensor.unit);
  const Samples samples = MeasuredBy(depth.sensor);
  std::fill(to, to + table.shape.pixels(), uint16_t{0});
  Footprints footprints;
  for (int y = 0; y < depth.height; ++y) {
    const ptrdiff_t corner = y * ptrdiff_t{depth.width + 1}, below = corner + depth.width + 1;
    const Row row = {{table.x.data() + corner, table.x.data() + below},
                     {table.y.data() + corner, table.y.data() + below},
                     {table.w.data() + corner, table.w.data() + below},
                     table.centre_w.data() + y * ptrdiff_t{depth.width}};
    for (int first = 0; first < depth.width; first += kPart) {
      const int count = std::min(kPart, depth.width - first);
      for (int i = 0; i < count; ++i) footprints.z[i] = depth.at(first + i, y);
      Project(row, first, count, offset, samples, table.shape, &footprints);
      Draw(footprints, count, table.shape.width, to);
    }
  }
}

}  // namespace glint::cpu
