#include "client/cli/doctor/pictures.h"

#include <cstdint>

namespace glint::cli {
namespace {

// Any two blocks have unrelated values.
uint32_t Mixed(uint32_t x, uint32_t y, uint32_t kind) {
  uint32_t h = x * 2654435761u ^ (y + 40503u * kind) * 2246822519u;
  h = (h ^ h >> 15) * 739982445u;
  h = (h ^ h >> 12) * 695872825u;
  return h ^ h >> 15;
}

// Coarse blocks with fine ones on them; (x, y) on a wall.
int GreyAt(uint32_t x, uint32_t y, uint32_t wall) {
  return static_cast<int>(40 + Mixed(x / 16, y / 16, wall) % 120 + Mixed(x / 5, y / 5, wall + 8) % 80);
}

// The nearest wall that is there at a pixel of a camera at `quarters` of the baseline from the first left one.
int SeenAt(int x, int y, int quarters) {
  constexpr int kOrigin = 1 << 12;  // no coordinate on a wall is negative
  const auto on_wall = [&](int disparity) { return static_cast<uint32_t>(kOrigin + x + disparity * quarters / 4); };
  const auto v = static_cast<uint32_t>(kOrigin + y);
  if (Mixed(on_wall(16) / 80, v / 72, 1) % 4 == 0) return GreyAt(on_wall(16), v, 2);
  if (Mixed(on_wall(8) / 128, v / 96, 3) % 3 == 0) return GreyAt(on_wall(8), v, 4);
  return GreyAt(on_wall(4), v, 5);
}

Image MakePicture(int quarters) {
  Image picture(kPictureShape.width, kPictureShape.height);
  for (int y = 0; y < picture.height(); ++y) {
    for (int x = 0; x < picture.width(); ++x) {
      // A lens blurs: the mean of the pixel and those beside and below it.
      const int sum = SeenAt(x, y, quarters) + SeenAt(x + 1, y, quarters) + SeenAt(x, y + 1, quarters) +
                      SeenAt(x + 1, y + 1, quarters);
      picture.row(y)[x] = static_cast<uint8_t>((sum + 2) / 4);
    }
  }
  return picture;
}

}  // namespace

RenderedPictures::RenderedPictures() {
  for (size_t quarters = 0; quarters < from_.size(); ++quarters) {
    from_[quarters] = MakePicture(static_cast<int>(quarters));
  }
}

}  // namespace glint::cli
