#include "features/reference/cells.h"

#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

namespace glint::reference {
namespace {

using Pixel = std::pair<int, int>;  // y, x

// The sum over all levels at a pixel of the image.
struct Gathered {
  int levels = 0;
  float sum = 0;         // of integers below 2^16 each: exact
  size_t strongest = 0;  // index of the corner
};

// Smaller is better.
auto Rank(const LevelCorner& c) { return std::make_tuple(-c.corner.response, c.octave, c.corner.y, c.corner.x); }

template <typename Entries>
std::vector<LevelCorner> InOrder(const std::vector<LevelCorner>& corners, const Entries& kept) {
  std::vector<LevelCorner> out;
  for (size_t i = 0; i < corners.size(); ++i) {
    if (kept[i]) out.push_back(corners[i]);
  }
  return out;
}

}  // namespace

std::vector<LevelCorner> BestOfCells(const std::vector<LevelCorner>& corners, int cell_width, int cell_height) {
  std::map<Pixel, size_t> best;  // cell -> index of its best corner
  for (size_t i = 0; i < corners.size(); ++i) {
    const Pixel cell = {corners[i].image_y / cell_height, corners[i].image_x / cell_width};
    const auto [entry, first] = best.emplace(cell, i);
    if (!first && Rank(corners[i]) < Rank(corners[entry->second])) entry->second = i;
  }
  std::vector<bool> kept(corners.size(), false);
  for (const auto& [cell, i] : best) kept[i] = true;
  return InOrder(corners, kept);
}

std::vector<Corner> CullCells(const std::vector<Corner>& corners, int cell_width, int cell_height) {
  std::vector<LevelCorner> placed;
  placed.reserve(corners.size());
  for (const Corner& c : corners) placed.push_back({0, c, c.x, c.y});
  std::vector<Corner> out;
  for (const LevelCorner& c : BestOfCells(placed, cell_width, cell_height)) out.push_back(c.corner);
  return out;
}

std::vector<LevelCorner> Aggregate(const std::vector<LevelCorner>& corners, int window) {
  std::map<Pixel, Gathered> pixels;
  for (size_t i = 0; i < corners.size(); ++i) {
    Gathered& at = pixels[{corners[i].image_y, corners[i].image_x}];
    if (at.levels == 0 || Rank(corners[i]) < Rank(corners[at.strongest])) at.strongest = i;
    ++at.levels;
    at.sum += corners[i].corner.response;
  }
  const auto precedence = [](const auto& entry) {
    return std::make_tuple(-entry.second.levels, -entry.second.sum, entry.first);
  };
  std::vector<LevelCorner> summed = corners;
  std::vector<bool> kept(corners.size(), false);
  for (const auto& pixel : pixels) {
    bool survives = true;
    const int reach = window / 2;
    for (int y = pixel.first.first - reach; y <= pixel.first.first + reach; ++y) {
      for (int x = pixel.first.second - reach; x <= pixel.first.second + reach; ++x) {
        const auto other = pixels.find({y, x});
        if (other != pixels.end() && precedence(*other) < precedence(pixel)) survives = false;
      }
    }
    kept[pixel.second.strongest] = survives;
    summed[pixel.second.strongest].corner.response = pixel.second.sum;
  }
  return InOrder(summed, kept);
}

}  // namespace glint::reference
