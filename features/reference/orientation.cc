#include "features/reference/orientation.h"

#include <cstdlib>

#include "features/math.h"
#include "features/reference/border.h"

namespace glint::reference {

float CentroidAngle(const ImageView& level, int x, int y, const PatchDisc& disc) {
  int moment_x = 0;
  int moment_y = 0;
  for (int v = -disc.half; v <= disc.half; ++v) {
    const int half_width = disc.half_width[std::abs(v)];
    for (int u = -half_width; u <= half_width; ++u) {
      const int p = PixelOrReflection(level, x + u, y + v);
      moment_x += u * p;
      moment_y += v * p;
    }
  }
  return FastAtan2(static_cast<float>(moment_y), static_cast<float>(moment_x));
}

}  // namespace glint::reference
