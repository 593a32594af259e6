// Tables of rectification that backends are tested on.
#ifndef GLINT_TESTS_SUPPORT_REMAP_CASES_H_
#define GLINT_TESTS_SUPPORT_REMAP_CASES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "features/camera/remap_table.h"
#include "features/types.h"
#include "tests/support/random.h"

namespace glint::testing {

// The entry of a place in the source, in 1/32 pixel.
inline RemapTable::Entry EntryAt32nds(int x, int y) {
  return {static_cast<int16_t>(x >> 5), static_cast<int16_t>(y >> 5), static_cast<uint8_t>(x & 31),
          static_cast<uint8_t>(y & 31)};
}
// In pixels.
inline RemapTable::Entry EntryAt(double x, double y) {
  return EntryAt32nds(static_cast<int>(std::lround(32 * x)), static_cast<int>(std::lround(32 * y)));
}

// A table with blocks whose entry of (x, y) is at(x, y).
template <typename F>
RemapTable MakeTable(Shape source, Shape shape, const F& at) {
  RemapTable table;
  table.source = source;
  table.shape = shape;
  table.entries.reserve(static_cast<size_t>(shape.pixels()));
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) table.entries.push_back(at(x, y));
  }
  MakeBlocks(&table);
  return table;
}

// A picture turned by `turn` radians and smaller by `scale` around its middle, bent as by a lens.
inline RemapTable LensTable(Shape source, Shape shape, double turn, double scale, double bend) {
  return MakeTable(source, shape, [&](int column, int row) {
    const double x = column - (shape.width - 1) / 2.0, y = row - (shape.height - 1) / 2.0;
    const double s = scale * (1 + bend * (x * x + y * y) / static_cast<double>(shape.pixels()));
    const double sine = s * std::sin(turn), cosine = s * std::cos(turn);
    return EntryAt(cosine * x - sine * y + (source.width - 1) / 2.0, sine * x + cosine * y + (source.height - 1) / 2.0);
  });
}

// Entries of any value, here and there, each by itself.
inline RemapTable WildTable(Random* random, Shape source, Shape shape) {
  return MakeTable(source, shape, [&](int, int) {
    RemapTable::Entry entry;
    if (random->OneIn(8)) return entry;
    const int margin = random->OneIn(8) ? 16000 : 3;
    entry.x = static_cast<int16_t>(random->Uniform(-margin, source.width + margin));
    entry.y = static_cast<int16_t>(random->Uniform(-margin, source.height + margin));
    entry.fraction_x = static_cast<uint8_t>(random->Uniform(0, 31));
    entry.fraction_y = static_cast<uint8_t>(random->Uniform(0, 31));
    return entry;
  });
}

// A lens as of a camera three times out of four; else anything.
inline RemapTable RandomRemapTable(Random* random, Shape source, Shape shape) {
  if (random->OneIn(4)) return WildTable(random, source, shape);
  const double turn = random->OneIn(3) ? random->Uniform(-3.1f, 3.1f) : random->Uniform(-0.05f, 0.05f);
  return LensTable(source, shape, turn, random->Uniform(0.4f, random->OneIn(3) ? 4.0f : 1.3f),
                   random->Uniform(-0.3f, 0.3f));
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_REMAP_CASES_H_
