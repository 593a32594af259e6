#include "cpu/pyramid/levels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/describe/bfrost.h"
#include "cpu/fast/scored_corners.h"
#include "features/math.h"
#include "features/options.h"
#include "features/pixels.h"

namespace glint::cpu {
namespace {

constexpr int kMinBandRows = 32;  // a band computes two more rows of scores than its own

// `image`, or a copy of it in `plane` if stages could not read whole vectors of it.
ImageView WithMargin(const ImageView& image, Plane* plane) {
  if (image.empty() || image.width >= kWideImage) return image;
  plane->Resize(image.shape());
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(plane->row(y), image.row(y), static_cast<size_t>(image.width));
  }
  return plane->view;
}

// The rows of cells of Selection::kQuadtree as bands. Returns the number of elements.
size_t PrepareCells(Rect region, Level* level) {
  level->cells.Prepare(level->image.width);
  const QuadtreeAxis down = DivideQuadtreeAxis(level->image.height);
  if (down.cells == 0 || DivideQuadtreeAxis(level->image.width).cells == 0) return 0;
  size_t room = 0;
  for (int y = region.y0; y < region.y1; y += down.cell) {
    Band band;
    band.region = {region.x0, y, region.x1, std::min(y + down.cell, region.y1)};
    band.first = room;
    room += level->cells.MaxCorners(down.cell) + kListSlack;
    level->bands.push_back(band);
  }
  return room;
}

// Splits the region into bands and reserves lists for the most corners that they can hold, so that no image of this
// shape needs more memory. Returns the number of elements.
size_t PrepareBands(const DetectorOptions& options, int threads, Level* level) {
  const Rect region = level->CornerRegion(options);
  level->bands.clear();
  level->count = 0;
  level->found = 0;
  if (region.empty()) return 0;
  const bool in_cells = options.selection == Selection::kQuadtree;
  const int rows = region.y1 - region.y0;
  const int bands = in_cells ? 0 : threads == 1 ? 1 : std::clamp(rows / kMinBandRows, 1, kTasksPerThread * threads);
  size_t room = in_cells ? PrepareCells(region, level) : 0;
  for (int b = 0; b < bands; ++b) {
    Band band;
    band.region = region;
    band.region.y0 = region.y0 + rows * b / bands;
    band.region.y1 = region.y0 + rows * (b + 1) / bands;
    band.first = room;
    room += MaxScoredCorners(options, band.region) + kListSlack;
    level->bands.push_back(band);
  }
  level->where.Reserve(room);
  level->response.Reserve(room);
  if (ScoresInBytes(options)) level->score.Reserve(room);
  level->bit_keys.Reserve(room);
  const size_t capacity = static_cast<size_t>(OutputCapacity(options));
  level->slot.Reserve(capacity);
  level->angle.Reserve(capacity);
  level->sort_keys.Reserve(2 * capacity);
  return room;
}

// What level `l` is resized from.
ImageView SourceOf(Pyramid kind, const ImageView& image, const ImageView& before) {
  switch (kind) {
    case Pyramid::kCascaded:
      break;
    case Pyramid::kDirect:
      return image;
    case Pyramid::kHalf:
      // Of an even size, halving by interpolation is the mean of 2x2.
      return {before.data, before.width & ~1, before.height & ~1, before.stride};
  }
  return before;
}

}  // namespace

void Plane::Resize(Shape shape) {
  const size_t stride = (static_cast<size_t>(shape.width) + 63) / 64 * 64 + kReadMargin;
  memory.Grow(stride * static_cast<size_t>(shape.height));
  view = {memory.data(), shape.width, shape.height, static_cast<ptrdiff_t>(stride)};
}

Rect Level::CornerRegion(const DetectorOptions& options) const {
  const int least = options.corner_test == CornerTest::kFast ? kFastRadius : 0;
  const int border = std::max(options.edge_threshold, least);
  return {border, border, image.width - border, image.height - border};
}

bool ScoresInBytes(const DetectorOptions& options) {
  return options.selection == Selection::kQuadtree ||
         (SelectsTopNPerLevel(options) && options.score == Score::kMaxThreshold);
}

void Levels::Prepare(const DetectorOptions& options, const ImageView& image, const ImageView& mask, int threads) {
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  room_ = 0;
  largest_room_ = 0;
  for (count_ = 0; count_ < plan.levels && plan.level[count_].shape.pixels() != 0; ++count_) {
    const LevelPlan& planned = plan.level[count_];
    Level& level = levels_[count_];
    level.scale = planned.scale;
    level.share = planned.max_features;
    level.mask = {};
    if (count_ == 0) {
      level.image = WithMargin(image, &level.pixels);
      if (!mask.empty() && options.pyramid == Pyramid::kCascaded && AnyMaskValueIsSet(options)) {
        level.mask_pixels.Resize(mask.shape());
        level.mask = level.mask_pixels.view;
        SetMaskRows(mask).CopyRows(0, mask.height, level.mask_pixels.memory.data(), level.mask.stride);
      } else {
        level.mask = WithMargin(mask, &level.mask_pixels);
      }
    } else {
      level.source = SourceOf(options.pyramid, levels_[0].image, levels_[count_ - 1].image);
      const Shape from = level.source.shape();
      const bool linear = options.selection == Selection::kQuadtree;
      if ((!linear || !mask.empty()) && (level.resize.from != from || level.resize.to != planned.shape)) {
        MakeResizeTables(from, planned.shape, &level.resize);
      }
      if (linear && (level.linear.from != from || level.linear.to != planned.shape)) {
        MakeLinearTables(from, planned.shape, &level.linear);
      }
      level.pixels.Resize(planned.shape);
      level.image = level.pixels.view;
      if (!mask.empty() && options.pyramid == Pyramid::kCascaded) {
        level.mask_pixels.Resize(planned.shape);
        level.mask = level.mask_pixels.view;
      }
    }
    const size_t room = PrepareBands(options, threads, &level);
    room_ += room;
    largest_room_ = std::max(largest_room_, room);
    if (options.descriptor == Descriptor::kBfrost) {
      level.integral.Reserve(IntegralPitch(planned.shape.width) * static_cast<size_t>(planned.shape.height + 1));
    }
  }
}

void Levels::SwapPixels() {
  for (size_t l = 0; l < levels_.size(); ++l) std::swap(levels_[l].pixels, other_pixels_[l]);
}

}  // namespace glint::cpu
