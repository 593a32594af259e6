#include "features/reference/harris.h"

#include "features/math.h"
#include "features/reference/border.h"

namespace glint::reference {

float HarrisAt(const ImageView& level, int x, int y) {
  constexpr int kRadius = kHarrisBlock / 2;
  int xx = 0;
  int yy = 0;
  int xy = 0;
  for (int v = y - kRadius; v <= y + kRadius; ++v) {
    for (int u = x - kRadius; u <= x + kRadius; ++u) {
      const auto p = [&](int du, int dv) -> int { return PixelOrReflection(level, u + du, v + dv); };
      const int dx = (p(1, -1) + 2 * p(1, 0) + p(1, 1)) - (p(-1, -1) + 2 * p(-1, 0) + p(-1, 1));
      const int dy = (p(-1, 1) + 2 * p(0, 1) + p(1, 1)) - (p(-1, -1) + 2 * p(0, -1) + p(1, -1));
      xx += dx * dx;
      yy += dy * dy;
      xy += dx * dy;
    }
  }
  return HarrisResponse(xx, yy, xy);
}

}  // namespace glint::reference
