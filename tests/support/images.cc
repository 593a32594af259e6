#include "tests/support/images.h"

#include <algorithm>
#include <cstring>

namespace glint::testing {
namespace {

template <typename PixelAt>
Image Fill(Shape shape, PixelAt pixel_at) {
  Image image(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) image.row(y)[x] = static_cast<uint8_t>(pixel_at(x, y));
  }
  return image;
}

}  // namespace

Image Flat(Shape shape, uint8_t value) {
  return Fill(shape, [value](int, int) { return value; });
}

Image Noise(Shape shape, uint32_t seed, int low, int high) {
  Random random(seed);
  return Fill(shape, [&](int, int) { return random.Uniform(low, high); });
}

Image Texture(Shape shape, uint32_t seed, int radius) {
  const Image noise = Noise(shape, seed);
  // Row and column sums of a box with clamped borders.
  std::vector<int> rows(static_cast<size_t>(shape.pixels()));
  const auto clamp = [](int i, int n) { return std::min(std::max(i, 0), n - 1); };
  const auto index = [shape](int x, int y) { return static_cast<size_t>(y) * shape.width + x; };
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      for (int d = -radius; d <= radius; ++d) rows[index(x, y)] += noise.row(y)[clamp(x + d, shape.width)];
    }
  }
  const int side = 2 * radius + 1;
  return Fill(shape, [&](int x, int y) {
    int sum = 0;
    for (int d = -radius; d <= radius; ++d) sum += rows[index(x, clamp(y + d, shape.height))];
    // The mean's deviation shrinks by the box's side; undo that.
    return std::min(std::max(128 + (sum - 128 * side * side) / side, 0), 255);
  });
}

Image Speckle(Shape shape, uint32_t seed, int rarity) {
  Random random(seed);
  return Fill(shape, [&](int, int) { return random.OneIn(rarity) ? 255 : 0; });
}

Image Checkerboard(Shape shape, int cell) {
  return Fill(shape, [cell](int x, int y) { return (x / cell + y / cell) % 2 == 0 ? 0 : 255; });
}

Image TieGrid(Shape shape, int spacing) {
  return Fill(shape, [spacing](int x, int y) { return x % spacing == 0 && y % spacing == 0 ? 255 : 0; });
}

Image RandomImage(Random* random, Shape shape) {
  const uint32_t seed = random->Bits();
  switch (random->Uniform(0, 7)) {
    case 0:
      return Noise(shape, seed);
    case 1:
      return Noise(shape, seed, 100, 100 + random->Uniform(1, 60));
    case 2:
      return Speckle(shape, seed, random->Uniform(2, 40));
    case 3:
      return Checkerboard(shape, random->Uniform(1, 9));
    case 4:
      return TieGrid(shape, random->Uniform(4, 9));
    default:
      return Texture(shape, seed, random->Uniform(1, 4));
  }
}

Image RandomMask(Random* random, Shape shape) {
  const int patch = random->Uniform(1, 24);
  const uint32_t salt = random->Bits();
  return Fill(shape, [&](int x, int y) {
    const uint32_t hash =
        (static_cast<uint32_t>(x / patch) * 73856093u ^ static_cast<uint32_t>(y / patch) * 19349663u ^ salt) *
        2654435761u;
    if (hash >> 30 == 0) return 0;
    return random->OneIn(30) ? random->Uniform(0, 254) : 255;
  });
}

StridedImage::StridedImage(const ImageView& image, ptrdiff_t stride, uint32_t seed)
    : shape_(image.shape()), stride_(stride) {
  Random random(seed);
  memory_.resize(static_cast<size_t>(stride) * (image.height - 1) + image.width);
  for (uint8_t& byte : memory_) byte = static_cast<uint8_t>(random.Bits());
  for (int y = 0; y < image.height; ++y) std::memcpy(&memory_[y * stride], image.row(y), image.width);
}

bool SamePixels(const ImageView& a, const ImageView& b) {
  if (a.shape() != b.shape()) return false;
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), a.width) != 0) return false;
  }
  return true;
}

}  // namespace glint::testing
