#include "tests/scene/texture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "tests/scene/random.h"

namespace glint::scene {
namespace {

// One repeating level of texels under construction.
class Canvas {
 public:
  Canvas(int side, uint8_t grey) : side_(side), texels_(static_cast<size_t>(side) * side, grey) {}

  int side() const { return side_; }
  uint8_t& at(int x, int y) {
    return texels_[static_cast<size_t>(y & (side_ - 1)) * side_ + static_cast<size_t>(x & (side_ - 1))];
  }
  std::vector<uint8_t> Take() { return std::move(texels_); }

 private:
  int side_;
  std::vector<uint8_t> texels_;
};

// Adds smooth noise of -amplitude..amplitude with features of `cell` texels (a power of two): random values at the
// corners of cells, bilinear in between.
void AddNoise(Canvas& canvas, int cell, int amplitude, uint32_t seed) {
  const int cells = canvas.side() / cell;
  auto corner = [&](int x, int y) {
    const uint32_t index = static_cast<uint32_t>((y & (cells - 1)) * cells + (x & (cells - 1)));
    return static_cast<int>(Hash(index ^ Hash(seed)) % static_cast<uint32_t>(2 * amplitude + 1)) - amplitude;
  };
  for (int cell_y = 0; cell_y < cells; ++cell_y) {
    for (int cell_x = 0; cell_x < cells; ++cell_x) {
      const int a = corner(cell_x, cell_y), b = corner(cell_x + 1, cell_y);
      const int c = corner(cell_x, cell_y + 1), d = corner(cell_x + 1, cell_y + 1);
      for (int y = 0; y < cell; ++y) {
        for (int x = 0; x < cell; ++x) {
          const int top = a * (cell - x) + b * x;
          const int bottom = c * (cell - x) + d * x;
          uint8_t& texel = canvas.at(cell_x * cell + x, cell_y * cell + y);
          const int value = texel + (top * (cell - y) + bottom * y) / (cell * cell);
          texel = static_cast<uint8_t>(std::clamp(value, 0, 255));
        }
      }
    }
  }
}

// Fills the rectangle around (x, y) whose one half-axis is (ax, ay) and whose other one is at right angles to it and
// `percent` of its length.
void FillRectangle(Canvas& canvas, int x, int y, int ax, int ay, int percent, uint8_t grey) {
  const int reach = std::abs(ax) + std::abs(ay) + 1;
  const int along = ax * ax + ay * ay;
  for (int dy = -reach; dy <= reach; ++dy) {
    for (int dx = -reach; dx <= reach; ++dx) {
      const int p = dx * ax + dy * ay;
      const int q = dx * -ay + dy * ax;
      if (std::abs(p) <= along && std::abs(q) * 100 <= along * percent) canvas.at(x + dx, y + dy) = grey;
    }
  }
}

void FillDisc(Canvas& canvas, int x, int y, int radius, uint8_t grey) {
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      if (dx * dx + dy * dy <= radius * radius) canvas.at(x + dx, y + dy) = grey;
    }
  }
}

// A facade: a wall of one grey with a grid of windows, each lit or dark.
void DrawFacade(Canvas& canvas, Random& random) {
  const int left = random.Between(0, canvas.side() - 1);
  const int top = random.Between(0, canvas.side() - 1);
  const int columns = random.Between(2, 7);
  const int rows = random.Between(3, 9);
  const int pitch_x = random.Between(9, 22);
  const int pitch_y = random.Between(9, 22);
  const int window_width = random.Between(4, pitch_x - 3);
  const int window_height = random.Between(4, pitch_y - 3);
  const auto wall = static_cast<uint8_t>(random.Between(50, 200));
  for (int y = 0; y < rows * pitch_y + 4; ++y) {
    for (int x = 0; x < columns * pitch_x + 4; ++x) canvas.at(left + x, top + y) = wall;
  }
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const auto glass = static_cast<uint8_t>(std::clamp(wall + random.Between(-110, 90), 5, 250));
      for (int y = 0; y < window_height; ++y) {
        for (int x = 0; x < window_width; ++x) {
          canvas.at(left + 4 + column * pitch_x + x, top + 4 + row * pitch_y + y) = glass;
        }
      }
    }
  }
}

Canvas DrawCity(int side, uint32_t seed) {
  Canvas canvas(side, 128);
  AddNoise(canvas, std::min(side, 256), 50, seed);
  AddNoise(canvas, std::min(side, 32), 18, seed + 1);
  Random random(seed);
  const int area = side * side;
  for (int i = 0; i < area / 12000; ++i) DrawFacade(canvas, random);
  for (int i = 0; i < area / 1400; ++i) {
    const auto grey = static_cast<uint8_t>(random.Between(10, 245));
    const int x = random.Between(0, side - 1), y = random.Between(0, side - 1);
    const int ax = random.Between(-14, 14), ay = random.Between(1, 14);
    FillRectangle(canvas, x, y, ax, ay, random.Between(20, 100), grey);
  }
  AddNoise(canvas, 2, 6, seed + 2);
  return canvas;
}

Canvas DrawSky(int side, uint32_t seed) {
  Canvas canvas(side, 14);
  AddNoise(canvas, std::min(side, 128), 6, seed);
  Random random(seed);
  for (int i = 0; i < side * side / 6000; ++i) {
    const int x = random.Between(0, side - 1), y = random.Between(0, side - 1);
    const int radius = random.Between(0, 2);
    FillDisc(canvas, x, y, radius, static_cast<uint8_t>(random.Between(40, 250)));
  }
  AddNoise(canvas, 2, 2, seed + 1);
  return canvas;
}

void ScatterRectangles(Canvas& canvas, Random& random, int count, int largest) {
  for (int i = 0; i < count; ++i) {
    const auto grey = static_cast<uint8_t>(random.Between(10, 245));
    const int x = random.Between(0, canvas.side() - 1), y = random.Between(0, canvas.side() - 1);
    const int ax = random.Between(-largest, largest), ay = random.Between(1, largest);
    FillRectangle(canvas, x, y, ax, ay, random.Between(15, 100), grey);
  }
}

void ScatterDiscs(Canvas& canvas, Random& random, int count, int largest) {
  for (int i = 0; i < count; ++i) {
    const auto grey = static_cast<uint8_t>(random.Between(20, 230));
    const int x = random.Between(0, canvas.side() - 1), y = random.Between(0, canvas.side() - 1);
    FillDisc(canvas, x, y, random.Between(1, largest), grey);
  }
}

// An upright rectangle.
void Fill(Canvas& canvas, int left, int top, int width, int height, int grey) {
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) canvas.at(left + x, top + y) = static_cast<uint8_t>(std::clamp(grey, 0, 255));
  }
}

// A window with a frame, bars and a blind that is down to some height.
void DrawWindow(Canvas& canvas, Random& random, int left, int top, int width, int height, int wall) {
  const int frame = std::clamp(wall + random.Between(-90, 90), 10, 245);
  const int glass = random.Between(5, 120);
  Fill(canvas, left, top, width, height, frame);
  Fill(canvas, left + 3, top + 3, width - 6, height - 6, glass);
  const int blind = glass + random.Between(20, 120);
  Fill(canvas, left + 3, top + 3, width - 6, random.Between(0, height - 8), blind);
  const int bar = random.Between(width / 4, 3 * width / 4);
  Fill(canvas, left + bar, top, 3, height, frame);
  if (random.Between(0, 1) == 1) Fill(canvas, left, top + random.Between(height / 4, height / 2), width, 3, frame);
}

Canvas DrawHouse(int side, uint32_t seed) {
  Random random(seed);
  const int wall = random.Between(60, 210);
  Canvas canvas(side, static_cast<uint8_t>(wall));
  AddNoise(canvas, std::min(side, 64), 16, seed + 1);
  AddNoise(canvas, std::min(side, 8), 9, seed + 2);
  const int pitch_x = random.Between(80, 150), pitch_y = random.Between(130, 190);
  for (int y = random.Between(10, 40); y + 60 < side; y += pitch_y) {
    for (int x = random.Between(10, 40); x + 40 < side; x += pitch_x) {
      const int width = random.Between(36, pitch_x - 20), height = random.Between(50, 100);
      const int down = random.Between(0, 12), across = random.Between(0, 12);
      DrawWindow(canvas, random, x + across, y + down, width, height, wall);
    }
  }
  ScatterRectangles(canvas, random, side / 8, 12);
  AddNoise(canvas, 2, 6, seed + 3);
  return canvas;
}

Canvas DrawGround(int side, uint32_t seed) {
  Random random(seed);
  Canvas canvas(side, static_cast<uint8_t>(random.Between(85, 115)));
  AddNoise(canvas, std::min(side, 64), 20, seed + 1);
  ScatterRectangles(canvas, random, side / 12, 20);
  ScatterDiscs(canvas, random, side / 8, 6);
  AddNoise(canvas, std::min(side, 4), 14, seed + 2);
  return canvas;
}

Canvas DrawPanel(int side, uint32_t seed) {
  Random random(seed);
  Canvas canvas(side, static_cast<uint8_t>(random.Between(70, 200)));
  AddNoise(canvas, std::min(side, 128), 40, seed + 1);
  ScatterRectangles(canvas, random, side / 40, 60);
  ScatterRectangles(canvas, random, side / 4, 16);
  ScatterDiscs(canvas, random, side / 16, 12);
  AddNoise(canvas, 2, 6, seed + 2);
  return canvas;
}

Canvas Draw(Surface surface, int side, uint32_t seed) {
  switch (surface) {
    case Surface::kCity:
      return DrawCity(side, seed);
    case Surface::kSky:
      return DrawSky(side, seed);
    case Surface::kFacade:
      return DrawHouse(side, seed);
    case Surface::kGround:
      return DrawGround(side, seed);
    case Surface::kPanel:
      return DrawPanel(side, seed);
  }
  return Canvas(side, 0);
}

std::vector<uint8_t> HalfSize(const std::vector<uint8_t>& from, int side) {
  const int half = side / 2;
  std::vector<uint8_t> to(static_cast<size_t>(half) * half);
  for (int y = 0; y < half; ++y) {
    for (int x = 0; x < half; ++x) {
      const uint8_t* p = &from[static_cast<size_t>(2 * y) * side + 2 * x];
      to[static_cast<size_t>(y) * half + x] = static_cast<uint8_t>((p[0] + p[1] + p[side] + p[side + 1] + 2) / 4);
    }
  }
  return to;
}

}  // namespace

Texture::Texture(Surface surface, int side, uint32_t seed) : side_(side) {
  levels_.push_back(Draw(surface, side, seed).Take());
  for (int s = side; s > 1; s /= 2) levels_.push_back(HalfSize(levels_.back(), s));
}

double Texture::SampleLevel(int level, double u, double v) const {
  const int side = side_ >> level;
  const double scale = 1.0 / (1 << level);
  // Texel i of a level covers [i, i + 1) of that level's coordinates; its value stands at its centre.
  const double x = u * scale - 0.5, y = v * scale - 0.5;
  const double x0 = std::floor(x), y0 = std::floor(y);
  const double fx = x - x0, fy = y - y0;
  const size_t left = static_cast<size_t>(static_cast<int64_t>(x0) & (side - 1));
  const size_t right = (left + 1) & static_cast<size_t>(side - 1);
  const size_t top = static_cast<size_t>(static_cast<int64_t>(y0) & (side - 1));
  const size_t bottom = (top + 1) & static_cast<size_t>(side - 1);
  const uint8_t* texels = levels_[level].data();
  const uint8_t* upper = texels + top * side;
  const uint8_t* lower = texels + bottom * side;
  return (1 - fy) * ((1 - fx) * upper[left] + fx * upper[right]) + fy * ((1 - fx) * lower[left] + fx * lower[right]);
}

double Texture::Sample(double u, double v, double footprint) const {
  int level = 0;
  const int last = static_cast<int>(levels_.size()) - 1;
  while (footprint >= 2 && level < last) {
    footprint *= 0.5;
    ++level;
  }
  const double fine = SampleLevel(level, u, v);
  if (footprint <= 1 || level == last) return fine;
  return fine + (footprint - 1) * (SampleLevel(level + 1, u, v) - fine);
}

}  // namespace glint::scene
