#include "features/reference/pyramid.h"

#include "features/linear_resize.h"
#include "features/math.h"

namespace glint::reference {
namespace {

// Row `y` of `image`, interpolated at the columns of `tap`; the pixel after the last is never read.
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

Image ResizeLinear(const ImageView& image, Shape to) {
  const auto mix_row = [&image](LinearTap tap, int y) {
    const uint8_t at = image.at(tap.at, y);
    return LinearRow(tap, at, tap.next_weight == 0 ? at : image.at(tap.at + 1, y));
  };
  Image out(to.width, to.height);
  for (int y = 0; y < to.height; ++y) {
    const LinearTap down = MakeLinearTap(y, image.height, to.height);
    for (int x = 0; x < to.width; ++x) {
      const LinearTap across = MakeLinearTap(x, image.width, to.width);
      const int at = mix_row(across, down.at);
      const int next = down.next_weight == 0 ? at : mix_row(across, down.at + 1);
      out.row(y)[x] = LinearColumn(down, at, next);
    }
  }
  return out;
}

Image Halve(const ImageView& image) {
  Image out(image.width / 2, image.height / 2);
  for (int y = 0; y < out.height(); ++y) {
    const uint8_t* const top = image.row(2 * y);
    const uint8_t* const bottom = image.row(2 * y + 1);
    for (int x = 0; x < out.width(); ++x) {
      out.row(y)[x] = MeanOfFour(top[2 * x], top[2 * x + 1], bottom[2 * x], bottom[2 * x + 1]);
    }
  }
  return out;
}

std::vector<Image> BuildPyramid(Pyramid kind, const PyramidPlan& plan, const ImageView& image,
                                Interpolation interpolation) {
  std::vector<Image> levels(plan.levels);
  levels[0] = Image::CopyOf(image);
  for (int l = 1; l < plan.levels; ++l) {
    const Shape shape = plan.level[l].shape;
    if (shape.pixels() == 0) break;
    if (kind == Pyramid::kHalf) {
      levels[l] = Halve(levels[l - 1]);
    } else if (interpolation == Interpolation::kLinear) {
      levels[l] = ResizeLinear(levels[l - 1], shape);
    } else {
      levels[l] = Resize(kind == Pyramid::kDirect ? levels[0] : levels[l - 1], shape);
    }
  }
  return levels;
}

std::vector<Image> BuildMaskPyramid(const DetectorOptions& options, const PyramidPlan& plan, const ImageView& mask) {
  if (mask.empty()) return std::vector<Image>(plan.levels);
  const Pyramid kind = options.pyramid;
  std::vector<Image> levels(plan.levels);
  levels[0] = Image::CopyOf(mask);
  if (AnyMaskValueIsSet(options)) {
    for (int y = 0; y < mask.height; ++y) {
      for (int x = 0; x < mask.width; ++x) levels[0].row(y)[x] = mask.at(x, y) != 0 ? 255 : 0;
    }
  }
  for (int l = 1; l < plan.levels; ++l) {
    const LevelPlan& level = plan.level[l];
    if (level.shape.pixels() == 0) break;
    levels[l] =
        kind == Pyramid::kCascaded ? Resize(levels[l - 1], level.shape) : Image(level.shape.width, level.shape.height);
    for (int y = 0; y < level.shape.height; ++y) {
      for (int x = 0; x < level.shape.width; ++x) {
        uint8_t& pixel = levels[l].row(y)[x];
        if (kind == Pyramid::kCascaded) {
          pixel = CutMask(pixel);
        } else {
          const int v = ImagePosition(y, level.scale, mask.height);
          pixel = mask.at(ImagePosition(x, level.scale, mask.width), v) != 0 ? 255 : 0;
        }
      }
    }
  }
  return levels;
}

}  // namespace glint::reference
