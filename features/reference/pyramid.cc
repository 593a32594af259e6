#include "features/reference/pyramid.h"

#include "features/math.h"

namespace glint::reference {
namespace {

// Row `y` of `image` mixed at the columns that `tap` says; the pixel after the last is never read.
int MixRow(const ImageView& image, ResizeTap tap, int y) {
  const uint8_t at = image.at(tap.at, y);
  return ResizeRow(tap.next_weight, at, tap.next_weight == 0 ? at : image.at(tap.at + 1, y));
}

}  // namespace

Image Resize(const ImageView& image, Shape to) {
  std::vector<ResizeTap> across(to.width);
  for (int x = 0; x < to.width; ++x) across[x] = MakeResizeTap(x, image.width, to.width);
  Image out(to.width, to.height);
  for (int y = 0; y < to.height; ++y) {
    const ResizeTap down = MakeResizeTap(y, image.height, to.height);
    for (int x = 0; x < to.width; ++x) {
      const int at = MixRow(image, across[x], down.at);
      const int next = down.next_weight == 0 ? at : MixRow(image, across[x], down.at + 1);
      out.row(y)[x] = ResizeColumn(down.next_weight, at, next);
    }
  }
  return out;
}

std::vector<Image> BuildPyramid(const PyramidPlan& plan, const ImageView& image) {
  std::vector<Image> levels(plan.levels);
  levels[0] = Image::CopyOf(image);
  for (int l = 1; l < plan.levels; ++l) {
    if (plan.level[l].shape.pixels() == 0) break;
    levels[l] = Resize(levels[l - 1], plan.level[l].shape);
  }
  return levels;
}

std::vector<Image> BuildMaskPyramid(const PyramidPlan& plan, const ImageView& mask) {
  if (mask.empty()) return std::vector<Image>(plan.levels);
  std::vector<Image> levels(plan.levels);
  levels[0] = Image::CopyOf(mask);
  for (int l = 1; l < plan.levels; ++l) {
    if (plan.level[l].shape.pixels() == 0) break;
    levels[l] = Resize(levels[l - 1], plan.level[l].shape);
    for (int y = 0; y < levels[l].height(); ++y) {
      for (int x = 0; x < levels[l].width(); ++x) levels[l].row(y)[x] = CutMask(levels[l].row(y)[x]);
    }
  }
  return levels;
}

}  // namespace glint::reference
