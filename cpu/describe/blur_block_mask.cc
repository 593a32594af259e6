#include "cpu/describe/blur_block_mask.h"

#include <algorithm>
#include <cstring>

#include "cpu/stages.h"

namespace glint::cpu {
namespace {

constexpr int kPad = 64;  // rows before and after a strip's, beyond any reach

size_t StripPitch(int height) { return static_cast<size_t>(height) + 2 * kPad; }

// rows[y] |= rows[y - back], for y in [0, height + 2 * kPad), downwards so that each source is still what it was.
void SpreadDown(uint32_t* rows, size_t pitch, int back) {
  for (size_t y = pitch; y-- > static_cast<size_t>(back);) rows[y] |= rows[y - back];
}

}  // namespace

size_t BlurBlockMaskElements(Shape shape) {
  return StripPitch(shape.height) * static_cast<size_t>(BlurStrips(shape.width));
}

void MarkBlurBlocks(const uint32_t* where, size_t count, Shape shape, int reach, uint32_t* mask) {
  const int strips = BlurStrips(shape.width);
  const size_t pitch = StripPitch(shape.height);
  std::memset(mask, 0, BlurBlockMaskElements(shape) * sizeof(uint32_t));
  // Each point marks its topmost row only...
  for (size_t i = 0; i < count; ++i) {
    const int first = std::max(PointX(where[i]) - reach, 0) / kBlurBlock;
    const int last = std::min(PointX(where[i]) + reach, shape.width - 1) / kBlurBlock;
    const size_t top = static_cast<size_t>(PointY(where[i]) - reach + kPad);
    for (int strip = first / 32; strip <= last / 32; ++strip) {
      const int low = std::max(first - strip * 32, 0);
      const int high = std::min(last - strip * 32, 31);
      const uint32_t bits = (~uint32_t{0} >> (31 - (high - low))) << low;
      mask[static_cast<size_t>(strip) * pitch + top] |= bits;
    }
  }
  // ... which then spreads over 2 * reach + 1 rows, doubling what it covers.
  const int wanted = 2 * reach + 1;
  for (int strip = 0; strip < strips; ++strip) {
    uint32_t* of_strip = mask + static_cast<size_t>(strip) * pitch;
    for (int covered = 1; covered < wanted;) {
      const int back = std::min(covered, wanted - covered);
      SpreadDown(of_strip, pitch, back);
      covered += back;
    }
  }
}

const uint32_t* BlurBlockMaskRows(const uint32_t* mask, int height, int strip) {
  return mask + static_cast<size_t>(strip) * StripPitch(height) + kPad;
}

}  // namespace glint::cpu
