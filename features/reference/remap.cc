#include "features/reference/remap.h"

namespace glint::reference {
namespace {

int PixelOrZero(const ImageView& image, int x, int y) {
  return x >= 0 && x < image.width && y >= 0 && y < image.height ? image.at(x, y) : 0;
}

// Weights of 5 bits an axis are exact in cv::remap's 15: their products need no correction there, and none here.
uint8_t Bilinear(const ImageView& source, const RemapTable::Entry& at) {
  constexpr int kOne = RemapTable::kFractions;
  const int right = at.fraction_x;
  const int below = at.fraction_y;
  const int upper = PixelOrZero(source, at.x, at.y) * (kOne - right) + PixelOrZero(source, at.x + 1, at.y) * right;
  const int lower =
      PixelOrZero(source, at.x, at.y + 1) * (kOne - right) + PixelOrZero(source, at.x + 1, at.y + 1) * right;
  return static_cast<uint8_t>((upper * (kOne - below) + lower * below + kOne * kOne / 2) / (kOne * kOne));
}

}  // namespace

void Remap(const ImageView& source, const RemapTable& table, Image* rectified) {
  rectified->Resize(table.shape);
  for (int y = 0; y < table.shape.height; ++y) {
    for (int x = 0; x < table.shape.width; ++x) rectified->row(y)[x] = Bilinear(source, table.row(y)[x]);
  }
}

}  // namespace glint::reference
