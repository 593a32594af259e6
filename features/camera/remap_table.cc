#include "features/camera/remap_table.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace glint {
namespace {

using Entry = RemapTable::Entry;

// Whether all four pixels around the entry lie inside.
bool IsInside(Shape source, const Entry& at) {
  return at.x >= 0 && at.x < source.width - 1 && at.y >= 0 && at.y < source.height - 1;
}

// Whether none does, so that the pixel is 0.
bool IsOutside(Shape source, const Entry& at) {
  return at.x < -1 || at.x >= source.width || at.y < -1 || at.y >= source.height;
}

RemapBlocks::Origin OriginOf(Shape source, const Entry* entries, int count) {
  RemapBlocks::Origin origin = {static_cast<int16_t>(source.width - RemapBlocks::kBytes),
                                static_cast<int16_t>(source.height - RemapBlocks::kRows)};
  for (int i = 0; i < count; ++i) {
    if (!IsInside(source, entries[i])) continue;
    origin.x = std::min(origin.x, entries[i].x);
    origin.y = std::min(origin.y, entries[i].y);
  }
  return origin;
}

// The pixel beyond an origin, or kNowhere where it does not fit.
uint16_t PixelFrom(Shape source, RemapBlocks::Origin origin, const Entry& at) {
  const int x = at.x - origin.x, y = at.y - origin.y;
  const bool fits = IsInside(source, at) && x < RemapBlocks::kBytes - 1 && y < RemapBlocks::kRows - 1;
  return fits ? static_cast<uint16_t>(at.fraction_x | at.fraction_y << 5 | x << 10 | y << 14) : RemapBlocks::kNowhere;
}

// The pixels of a row as blocks. Those that their blocks cannot hold become exceptions.
void AddRow(const RemapTable& table, int y, RemapBlocks* blocks) {
  constexpr int kPixels = RemapBlocks::kPixels;
  const Entry* const entries = table.row(y);
  RemapBlocks::Origin* const origins = blocks->origins.data() + static_cast<ptrdiff_t>(y) * blocks->per_row;
  uint16_t* const pixels = blocks->pixels.data() + static_cast<ptrdiff_t>(y) * blocks->per_row * kPixels;
  for (int x = 0; x < table.shape.width; ++x) {
    uint16_t pixel = RemapBlocks::kNowhere;
    if (blocks->per_row > 0) {
      RemapBlocks::Origin& origin = origins[x / kPixels];
      if (x % kPixels == 0) origin = OriginOf(table.source, entries + x, std::min(kPixels, table.shape.width - x));
      pixels[x] = pixel = PixelFrom(table.source, origin, entries[x]);
    }
    if (pixel == RemapBlocks::kNowhere && !IsOutside(table.source, entries[x])) {
      blocks->exceptions.push_back(static_cast<uint16_t>(x));
    }
  }
}

}  // namespace

void MakeBlocks(RemapTable* table) {
  constexpr int kGroupPixels = RemapBlocks::kPixels * RemapBlocks::kGroup;
  const Shape source = table->source, shape = table->shape;
  RemapBlocks blocks;
  if (source.width >= RemapBlocks::kBytes && source.height >= RemapBlocks::kRows) {
    blocks.per_row = (shape.width + kGroupPixels - 1) / kGroupPixels * RemapBlocks::kGroup;
  }
  blocks.origins.resize(static_cast<size_t>(blocks.per_row) * static_cast<size_t>(shape.height));
  blocks.pixels.assign(blocks.origins.size() * RemapBlocks::kPixels, RemapBlocks::kNowhere);
  for (int y = 0; y < shape.height; ++y) {
    blocks.first_exception.push_back(static_cast<uint32_t>(blocks.exceptions.size()));
    AddRow(*table, y, &blocks);
  }
  blocks.first_exception.push_back(static_cast<uint32_t>(blocks.exceptions.size()));
  blocks.exceptions.shrink_to_fit();
  table->blocks = std::move(blocks);
  static std::atomic<uint64_t> last_id{0};
  table->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace glint
