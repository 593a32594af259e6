#include "cuda/rectify/packed_table.h"

#include <algorithm>
#include <cstring>

namespace glint::cuda {
namespace {

constexpr int kPixels = RemapBlocks::kPixels;
constexpr int kSegmentBlocks = kSegment / kPixels;
constexpr size_t kSegmentWords = (kLanes * sizeof(LanePixels)) / sizeof(uint64_t);

uint64_t WordOf(const RemapTable::Entry& entry) {
  return uint64_t{static_cast<uint16_t>(entry.x)} | uint64_t{static_cast<uint16_t>(entry.y)} << 16 |
         uint64_t{entry.fraction_x} << 32 | uint64_t{entry.fraction_y} << 40;
}

// What is in a block of pixels of which `exceptions` are some.
enum class Kind { kNear, kWide, kEmpty };
Kind KindOf(const uint16_t* pixels, int count, bool has_exceptions) {
  const auto nowhere = std::count(pixels, pixels + count, RemapBlocks::kNowhere);
  if (has_exceptions || (nowhere > 0 && nowhere < count)) return Kind::kWide;
  return nowhere > 0 ? Kind::kEmpty : Kind::kNear;
}

}  // namespace

PackedLayout PackedLayout::Of(Shape shape) {
  PackedLayout layout;
  layout.segments = (shape.width + kSegment - 1) / kSegment;
  const size_t segments = static_cast<size_t>(layout.segments) * static_cast<size_t>(shape.height);
  layout.origins_at = segments * kSegmentWords;
  layout.entries_at = layout.origins_at + segments * kLaneGroups * sizeof(LaneOrigins) / sizeof(uint64_t);
  return layout;
}

void PackedLayout::Place(const uint64_t* words, RemapParams* params) const {
  params->pixels = reinterpret_cast<const LanePixels*>(words);
  params->origins = reinterpret_cast<const LaneOrigins*>(words + origins_at);
  params->entries = words + entries_at;
  params->segments = segments;
}

PackedLayout PackRemapTable(const RemapTable& table, std::vector<uint64_t>* words) {
  const RemapBlocks& blocks = table.blocks;
  const int width = table.shape.width;
  const PackedLayout layout = PackedLayout::Of(table.shape);
  const size_t segments = static_cast<size_t>(layout.segments) * static_cast<size_t>(table.shape.height);
  words->assign(layout.entries_at, 0);
  std::vector<LanePixels> pixels(segments * kLanes, LanePixels{});
  std::vector<LaneOrigins> origins(segments * kLaneGroups,
                                   LaneOrigins{{kEmptyBlock, kEmptyBlock, kEmptyBlock, kEmptyBlock}});
  uint32_t wide = 0;
  for (int y = 0; y < table.shape.height; ++y) {
    const auto row = static_cast<size_t>(y);
    uint32_t exception = blocks.first_exception[row];
    for (int first = 0; first < width; first += kPixels) {
      const int in_row = first / kPixels, count = std::min(kPixels, width - first);
      const uint32_t before = exception;
      while (exception < blocks.first_exception[row + 1] && blocks.exceptions[exception] < first + count) ++exception;
      const size_t segment = row * static_cast<size_t>(layout.segments) + static_cast<size_t>(in_row / kSegmentBlocks);
      const auto group = static_cast<size_t>(in_row % kLaneGroups);
      const auto k = static_cast<size_t>(in_row % kSegmentBlocks / kLaneGroups);
      uint32_t& origin = origins[segment * kLaneGroups + group].of[k];
      const size_t block = row * static_cast<size_t>(blocks.per_row) + static_cast<size_t>(in_row);
      const uint16_t* const from = blocks.per_row > 0 ? &blocks.pixels[block * kPixels] : nullptr;
      const Kind kind = from == nullptr ? Kind::kWide : KindOf(from, count, exception > before);
      if (kind == Kind::kNear) {
        origin = static_cast<uint32_t>(blocks.origins[block].y * table.source.width + blocks.origins[block].x);
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          pixels[segment * kLanes + group * kPixels + i].of[k] = from[i];
        }
      } else if (kind == Kind::kWide) {
        origin = kWideBlock | wide++;
        for (int x = first; x < first + kPixels; ++x) {
          words->push_back(WordOf(x < width ? table.row(y)[x] : RemapTable::Entry()));
        }
      }
    }
  }
  std::memcpy(words->data(), pixels.data(), pixels.size() * sizeof(pixels[0]));
  std::memcpy(words->data() + layout.origins_at, origins.data(), origins.size() * sizeof(origins[0]));
  return layout;
}

}  // namespace glint::cuda
