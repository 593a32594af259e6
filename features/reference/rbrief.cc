#include "features/reference/rbrief.h"

#include "features/math.h"
#include "features/reference/border.h"

namespace glint::reference {

std::array<uint8_t, kRbriefBytes> Describe(const ImageView& level, const ImageView& blurred, int x, int y, float angle,
                                           const RbriefPattern& pattern) {
  const SinCos rotation = SteeringSinCos(angle);
  const auto pixel = [&](int dx, int dy) {
    const int u = x + SteeredX(dx, dy, rotation);
    const int v = y + SteeredY(dx, dy, rotation);
    return Contains(level, u, v) ? blurred.at(u, v) : PixelOrReflection(level, u, v);
  };
  std::array<uint8_t, kRbriefBytes> descriptor{};
  for (int bit = 0; bit < kRbriefBits; ++bit) {
    const RbriefPair& pair = pattern[bit];
    const bool darker = pixel(pair.x0, pair.y0) < pixel(pair.x1, pair.y1);
    descriptor[bit / 8] |= static_cast<uint8_t>(darker << (bit % 8));
  }
  return descriptor;
}

}  // namespace glint::reference
