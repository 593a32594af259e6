#include "cpu/pyramid/levels.h"

#include <algorithm>
#include <cstring>

#include "cpu/describe/bfrost.h"
#include "cpu/describe/blur_block_mask.h"
#include "cpu/fast/scored_corners.h"
#include "features/math.h"

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

// Splits the region into bands and reserves lists for the most corners that they can hold, so that no image of this
// shape needs more memory. Returns the number of elements.
size_t PrepareBands(const DetectorOptions& options, int threads, Level* level) {
  const Rect region = level->CornerRegion(options);
  level->bands.clear();
  level->count = 0;
  level->found = 0;
  if (region.empty()) return 0;
  const int rows = region.y1 - region.y0;
  const int bands = threads == 1 ? 1 : std::clamp(rows / kMinBandRows, 1, kTasksPerThread * threads);
  size_t room = 0;
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
  if (SelectsTopNPerLevel(options) && options.score == Score::kMaxThreshold) level->score.Reserve(room);
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

void Levels::Prepare(const DetectorOptions& options, const ImageView& image, const ImageView& mask, int threads) {
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  room_ = 0;
  for (count_ = 0; count_ < plan.levels && plan.level[count_].shape.pixels() != 0; ++count_) {
    const LevelPlan& planned = plan.level[count_];
    Level& level = levels_[count_];
    level.scale = planned.scale;
    level.share = planned.max_features;
    level.mask = {};
    if (count_ == 0) {
      level.image = WithMargin(image, &level.pixels);
      level.mask = WithMargin(mask, &level.mask_pixels);
    } else {
      level.source = SourceOf(options.pyramid, levels_[0].image, levels_[count_ - 1].image);
      const Shape from = level.source.shape();
      if (level.resize.from != from || level.resize.to != planned.shape) {
        MakeResizeTables(from, planned.shape, &level.resize);
      }
      level.pixels.Resize(planned.shape);
      level.image = level.pixels.view;
      if (!mask.empty() && options.pyramid == Pyramid::kCascaded) {
        level.mask_pixels.Resize(planned.shape);
        level.mask = level.mask_pixels.view;
      }
    }
    room_ += PrepareBands(options, threads, &level);
    if (options.descriptor == Descriptor::kRbrief) {
      level.blurred.Resize(planned.shape);
      level.blur_mask.Reserve(BlurBlockMaskElements(planned.shape));
    }
    if (options.descriptor == Descriptor::kBfrost) {
      level.integral.Reserve(IntegralPitch(planned.shape.width) * static_cast<size_t>(planned.shape.height + 1));
    }
  }
}

}  // namespace glint::cpu
