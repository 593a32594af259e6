#include "cpu/cells.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "cpu/stages.h"
#include "features/math.h"

namespace glint::cpu {
namespace {

size_t CellsAcross(int side, int cell) { return static_cast<size_t>((side + cell - 1) / cell); }
size_t CellsOf(Shape shape, int width, int height) {
  return CellsAcross(shape.width, width) * CellsAcross(shape.height, height);
}

// Of rows of bits, one for each pixel: how many 64-bit words a row has.
size_t BitPitch(int width) { return (static_cast<size_t>(width) + 63) / 64; }

// Drops what `keep(i)` is false for, in order.
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
  if (options.selection == Selection::kGrid) {
    const size_t cells = CellsOf(image, options.cell_width, options.cell_height);
    cells_.Reserve(cells);
    winners_.Reserve(cells);
    column_cells_.Reserve(static_cast<size_t>(image.width));
  }
  if (options.selection != Selection::kPyca) return;
  const PyramidPlan plan = PlanPyramid(options, image);
  size_t most = 0;
  size_t sum = 0;
  for (int l = 0; l < plan.levels; ++l) {
    const float scale = plan.level[l].scale;
    const size_t cells =
        CellsOf(plan.level[l].shape, LevelCell(options.cell_width, scale), LevelCell(options.cell_height, scale));
    most = std::max(most, cells);
    sum += cells;
  }
  cells_.Reserve(most);
  slots_ = 64;
  while (slots_ < 2 * sum) slots_ *= 2;
  pixels_.Reserve(slots_);
  occupied_.Reserve(BitPitch(image.width) * static_cast<size_t>(image.height));
}

void CellSelection::ClearCells(size_t count) { std::fill_n(cells_.data(), count, Best{0, 0, 0}); }

// Corners are offered level by level and in raster order, so among equals the first is the one to keep.
void CellSelection::Offer(size_t cell, float response, int level, size_t index) {
  Best& best = cells_[cell];
  if (best.level != 0 && response <= best.response) return;
  best = {response, static_cast<uint32_t>(level) + 1, static_cast<uint32_t>(index)};
}

void CellSelection::BestOfGrid(const DetectorOptions& options, Shape image, LevelList* lists, int levels) {
  const size_t across = CellsAcross(image.width, options.cell_width);
  const size_t cells = CellsOf(image, options.cell_width, options.cell_height);
  ClearCells(cells);
  for (int l = 0; l < levels; ++l) {
    const LevelList& list = lists[l];
    for (int x = 0; x < list.shape.width; ++x) {
      const int column = ImagePosition(x, list.scale, image.width) / options.cell_width;
      column_cells_[static_cast<size_t>(x)] = static_cast<uint32_t>(column);
    }
    int y = -1;
    size_t row_cell = 0;
    for (size_t i = 0; i < list.count; ++i) {
      if (PointY(list.where[i]) != y) {
        y = PointY(list.where[i]);
        row_cell = static_cast<size_t>(ImagePosition(y, list.scale, image.height) / options.cell_height) * across;
      }
      Offer(row_cell + column_cells_[static_cast<size_t>(PointX(list.where[i]))], list.response[i], l, i);
    }
  }
  // Few corners are left of many: the cells say which.
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

void CellSelection::CullLevel(const DetectorOptions& options, LevelList* list) {
  const int width = LevelCell(options.cell_width, list->scale);
  const int height = LevelCell(options.cell_height, list->scale);
  const size_t across = CellsAcross(list->shape.width, width);
  const auto cell_of = [&](size_t i) {
    return static_cast<size_t>(PointY(list->where[i]) / height) * across +
           static_cast<size_t>(PointX(list->where[i]) / width);
  };
  ClearCells(CellsOf(list->shape, width, height));
  for (size_t i = 0; i < list->count; ++i) Offer(cell_of(i), list->response[i], 0, i);
  Compact(list, [&](size_t i) { return cells_[cell_of(i)].index == i; });
}

CellSelection::Gathered* CellSelection::Find(uint32_t pixel) {
  size_t slot = pixel * size_t{0x9e3779b1} >> 7 & (slots_ - 1);
  while (pixels_[slot].levels != 0 && pixels_[slot].pixel != pixel) slot = (slot + 1) & (slots_ - 1);
  return &pixels_[slot];
}

// As the reference: more levels, then the greater sum, then the smaller y, then x.
bool CellSelection::Survives(const Gathered& at, int reach, Shape image) {
  const int x0 = std::max(PointX(at.pixel) - reach, 0);
  const int x1 = std::min(PointX(at.pixel) + reach, image.width - 1);
  const int y1 = std::min(PointY(at.pixel) + reach, image.height - 1);
  for (int y = std::max(PointY(at.pixel) - reach, 0); y <= y1; ++y) {
    const uint64_t* const row = occupied_.data() + static_cast<size_t>(y) * BitPitch(image.width);
    for (int x = x0; x <= x1; ++x) {
      // Nearly all are not.
      if ((row[x / 64] >> (x % 64) & 1) == 0) continue;
      const Gathered& other = *Find(PackPoint(x, y));
      if (other.pixel == at.pixel) continue;
      if (other.levels != at.levels ? other.levels > at.levels
          : other.sum != at.sum     ? other.sum > at.sum
                                    : other.pixel < at.pixel) {
        return false;
      }
    }
  }
  return true;
}

void CellSelection::Aggregate(const DetectorOptions& options, Shape image, LevelList* lists, int levels) {
  size_t corners = 0;
  for (int l = 0; l < levels; ++l) corners += lists[l].count;
  // No more slots than this frame's corners need: the table is cleared for each.
  slots_ = 64;
  while (slots_ < 2 * corners) slots_ *= 2;
  std::fill_n(pixels_.data(), slots_, Gathered{0, 0, 0, {0, 0, 0}});
  const size_t bit_pitch = BitPitch(image.width);
  std::fill_n(occupied_.data(), bit_pitch * static_cast<size_t>(image.height), uint64_t{0});
  for (int l = 0; l < levels; ++l) {
    for (size_t i = 0; i < lists[l].count; ++i) {
      const uint32_t pixel = ImagePixel(lists[l], i, image);
      const float response = lists[l].response[i];
      Gathered* const at = Find(pixel);
      if (at->levels == 0 || response > at->best.response) {
        at->best = {response, static_cast<uint32_t>(l) + 1, static_cast<uint32_t>(i)};
      }
      at->pixel = pixel;
      const size_t x = static_cast<size_t>(PointX(pixel));
      occupied_[static_cast<size_t>(PointY(pixel)) * bit_pitch + x / 64] |= uint64_t{1} << (x % 64);
      ++at->levels;
      at->sum += response;
    }
  }
  const int reach = options.aggregation_window / 2;
  for (int l = 0; l < levels; ++l) {
    LevelList& list = lists[l];
    size_t count = 0;
    for (size_t i = 0; i < list.count; ++i) {
      const Gathered& at = *Find(ImagePixel(list, i, image));
      if (at.best.level != static_cast<uint32_t>(l) + 1 || at.best.index != i || !Survives(at, reach, image)) continue;
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
