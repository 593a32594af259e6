#include "cpu/select/cells.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "features/math.h"

namespace glint::cpu {
namespace {

size_t CellsAcross(int side, int cell) { return static_cast<size_t>((side + cell - 1) / cell); }

size_t CellCount(const CellMap& map) { return map.of_row.empty() ? 0 : map.across * (size_t{map.of_row.back()} + 1); }

// f(i): the cell of coordinate i on an axis.
template <typename F>
void FillAxis(int side, const F& f, std::vector<uint16_t>* cells) {
  cells->resize(static_cast<size_t>(side));
  for (int i = 0; i < side; ++i) (*cells)[static_cast<size_t>(i)] = static_cast<uint16_t>(f(i));
}

void MakeCellMap(const DetectorOptions& options, Shape image, const LevelPlan& level, CellMap* map) {
  const float scale = level.scale;
  if (options.selection == Selection::kGrid) {
    FillAxis(
        level.shape.width, [&](int x) { return ImagePosition(x, scale, image.width) / options.cell_width; },
        &map->of_column);
    FillAxis(
        level.shape.height, [&](int y) { return ImagePosition(y, scale, image.height) / options.cell_height; },
        &map->of_row);
    map->across = CellsAcross(image.width, options.cell_width);
  } else {
    const int width = LevelCell(options.cell_width, scale);
    const int height = LevelCell(options.cell_height, scale);
    FillAxis(
        level.shape.width, [&](int x) { return x / width; }, &map->of_column);
    FillAxis(
        level.shape.height, [&](int y) { return y / height; }, &map->of_row);
    map->across = CellsAcross(level.shape.width, width);
  }
  map->first_column.resize(map->across + 1);
  for (size_t c = 0; c <= map->across; ++c) {
    map->first_column[c] = static_cast<uint16_t>(std::lower_bound(map->of_column.begin(), map->of_column.end(), c) -
                                                 map->of_column.begin());
  }
}

// 64-bit words in a row of the bitmap of pixels.
size_t BitPitch(int width) { return (static_cast<size_t>(width) + 63) / 64; }

// Bits `from` and up, from in any range.
uint64_t BitsFrom(int from) { return from <= 0 ? ~uint64_t{0} : from > 63 ? 0 : ~uint64_t{0} << from; }

// Removes the elements for which `keep(i)` is false; the order stays.
template <typename Keep>
void Compact(LevelList* list, Keep keep) {
  size_t count = 0;
  for (size_t i = 0; i < list->count; ++i) {
    if (!keep(i)) continue;
    list->where[count] = list->where[i];
    list->response[count] = list->response[i];
    ++count;
  }
  list->count = count;
}

uint32_t ImagePixel(const LevelList& list, size_t i, Shape image) {
  return PackPoint(ImagePosition(PointX(list.where[i]), list.scale, image.width),
                   ImagePosition(PointY(list.where[i]), list.scale, image.height));
}

}  // namespace

void CellSelection::Prepare(const DetectorOptions& options, Shape image, size_t corners) {
  responses_.Reserve(corners);
  if (options.selection != Selection::kGrid && options.selection != Selection::kPyca) return;
  if (options == options_ && image == image_) return;
  options_ = options;
  image_ = image;
  const PyramidPlan plan = PlanPyramid(options, image);
  most_cells_ = 0;
  size_t sum = 0;
  for (int l = 0; l < plan.levels; ++l) {
    CellMap& map = maps_[static_cast<size_t>(l)];
    MakeCellMap(options, image, plan.level[l], &map);
    most_cells_ = std::max(most_cells_, CellCount(map));
    sum += CellCount(map);
  }
  cells_.Reserve(most_cells_);
  if (options.selection == Selection::kGrid) {
    winners_.Reserve(most_cells_);
    floor_.Reserve(most_cells_);
    return;
  }
  pixels_.Reserve(sum);
  image_pixels_.Reserve(sum);
  occupied_.Reserve(BitPitch(image.width) * static_cast<size_t>(image.height));
  first_pixel_.Reserve(BitPitch(image.width) * static_cast<size_t>(image.height));
}

void CellSelection::ClearFloor() { std::fill_n(floor_.data(), most_cells_, uint16_t{0}); }

void CellSelection::RaiseFloor(int l, const uint32_t* where, const float* response, size_t count) {
  const CellMap& map = OfLevel(l);
  for (size_t i = 0; i < count; ++i) {
    uint16_t& floor = floor_[map.Cell(where[i])];
    // Of equal responses, the lower level's wins: so it must only reach `response`.
    floor = std::max(floor, static_cast<uint16_t>(response[i] - 1));
  }
}

void CellSelection::ClearCells(size_t count) { std::fill_n(cells_.data(), count, CellMax{0, 0, 0}); }

// Called level by level and in raster order: of equal responses the first stays.
void CellSelection::UpdateCellMax(size_t cell, float response, int level, size_t index) {
  CellMax& best = cells_[cell];
  if (best.level != 0 && response <= best.response) return;
  best = {response, static_cast<uint32_t>(level) + 1, static_cast<uint32_t>(index)};
}

void CellSelection::BestOfGrid(LevelList* lists, int levels) {
  const size_t cells = most_cells_;
  ClearCells(cells);
  for (int l = 0; l < levels; ++l) {
    const LevelList& list = lists[l];
    for (size_t i = 0; i < list.count; ++i) UpdateCellMax(OfLevel(l).Cell(list.where[i]), list.response[i], l, i);
  }
  // Few of many corners remain, so go through the cells and not through the corners.
  for (int l = 0; l < levels; ++l) {
    size_t count = 0;
    for (size_t c = 0; c < cells; ++c) {
      if (cells_[c].level == static_cast<uint32_t>(l) + 1) winners_[count++] = cells_[c].index;
    }
    std::sort(winners_.data(), winners_.data() + count);
    for (size_t i = 0; i < count; ++i) {
      lists[l].where[i] = lists[l].where[winners_[i]];
      lists[l].response[i] = lists[l].response[winners_[i]];
    }
    lists[l].count = count;
  }
}

void CellSelection::CullLevel(int l, LevelList* list) {
  const CellMap& map = OfLevel(l);
  ClearCells(CellCount(map));
  for (size_t i = 0; i < list->count; ++i) UpdateCellMax(map.Cell(list->where[i]), list->response[i], 0, i);
  Compact(list, [&](size_t i) { return cells_[map.Cell(list->where[i])].index == i; });
}

CellSelection::AggregatedPixel* CellSelection::Find(uint32_t pixel) {
  const size_t x = static_cast<size_t>(PointX(pixel));
  const size_t word = static_cast<size_t>(PointY(pixel)) * BitPitch(image_.width) + x / 64;
  const uint64_t before = occupied_[word] & ((uint64_t{1} << (x % 64)) - 1);
  return &pixels_[first_pixel_[word] + static_cast<size_t>(__builtin_popcountll(before))];
}

// As the reference: more levels, then the greater sum, then the smaller y, then x.
bool CellSelection::Survives(const AggregatedPixel& at, int reach) {
  const int x0 = std::max(PointX(at.pixel) - reach, 0);
  const int x1 = std::min(PointX(at.pixel) + reach, image_.width - 1);
  const int y1 = std::min(PointY(at.pixel) + reach, image_.height - 1);
  for (int y = std::max(PointY(at.pixel) - reach, 0); y <= y1; ++y) {
    const size_t row = static_cast<size_t>(y) * BitPitch(image_.width);
    for (int word = x0 / 64; word <= x1 / 64; ++word) {
      // Most words are zero.
      uint64_t bits =
          occupied_[row + static_cast<size_t>(word)] & BitsFrom(x0 - 64 * word) & ~BitsFrom(x1 + 1 - 64 * word);
      for (; bits != 0; bits &= bits - 1) {
        const AggregatedPixel& other = *Find(PackPoint(64 * word + __builtin_ctzll(bits), y));
        if (other.pixel == at.pixel) continue;
        if (other.levels != at.levels ? other.levels > at.levels
            : other.sum != at.sum     ? other.sum > at.sum
                                      : other.pixel < at.pixel) {
          return false;
        }
      }
    }
  }
  return true;
}

// Sets the bit of every pixel of the image that a corner falls on, and the index of each word's first pixel in pixels_.
void CellSelection::MarkPixels(const LevelList* lists, int levels) {
  const size_t words = BitPitch(image_.width) * static_cast<size_t>(image_.height);
  std::fill_n(occupied_.data(), words, uint64_t{0});
  size_t corners = 0;
  for (int l = 0; l < levels; ++l) {
    for (size_t i = 0; i < lists[l].count; ++i) {
      const uint32_t pixel = ImagePixel(lists[l], i, image_);
      image_pixels_[corners++] = pixel;
      const size_t x = static_cast<size_t>(PointX(pixel));
      occupied_[static_cast<size_t>(PointY(pixel)) * BitPitch(image_.width) + x / 64] |= uint64_t{1} << (x % 64);
    }
  }
  uint32_t pixels = 0;
  for (size_t w = 0; w < words; ++w) {
    first_pixel_[w] = pixels;
    if (occupied_[w] != 0) pixels += static_cast<uint32_t>(__builtin_popcountll(occupied_[w]));
  }
  std::fill_n(pixels_.data(), pixels, AggregatedPixel{0, 0, 0, {0, 0, 0}});
}

void CellSelection::Aggregate(LevelList* lists, int levels) {
  MarkPixels(lists, levels);
  size_t corner = 0;
  for (int l = 0; l < levels; ++l) {
    for (size_t i = 0; i < lists[l].count; ++i) {
      const uint32_t pixel = image_pixels_[corner++];
      const float response = lists[l].response[i];
      AggregatedPixel* const at = Find(pixel);
      if (at->levels == 0 || response > at->best.response) {
        at->best = {response, static_cast<uint32_t>(l) + 1, static_cast<uint32_t>(i)};
      }
      at->pixel = pixel;
      ++at->levels;
      at->sum += response;
    }
  }
  const int reach = options_.aggregation_window / 2;
  corner = 0;
  for (int l = 0; l < levels; ++l) {
    LevelList& list = lists[l];
    size_t count = 0;
    const size_t listed = list.count;
    for (size_t i = 0; i < listed; ++i) {
      const AggregatedPixel& at = *Find(image_pixels_[corner++]);
      if (at.best.level != static_cast<uint32_t>(l) + 1 || at.best.index != i || !Survives(at, reach)) continue;
      list.where[count] = list.where[i];
      list.response[count] = at.sum;
      ++count;
    }
    list.count = count;
  }
}

void CellSelection::KeepBest(int max_features, LevelList* lists, int levels) {
  const size_t n = static_cast<size_t>(max_features);
  size_t total = 0;
  for (int l = 0; l < levels; ++l) total += lists[l].count;
  if (total <= n) return;
  float* const all = responses_.data();
  size_t count = 0;
  for (int l = 0; l < levels; ++l) {
    std::copy_n(lists[l].response, lists[l].count, all + count);
    count += lists[l].count;
  }
  std::nth_element(all, all + (n - 1), all + total, std::greater<float>());
  const float least = all[n - 1];
  for (int l = 0; l < levels; ++l) {
    Compact(&lists[l], [&](size_t i) { return lists[l].response[i] >= least; });
  }
}

}  // namespace glint::cpu
