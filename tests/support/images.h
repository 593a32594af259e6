// Images that tests are run on. All are functions of their arguments alone.
#ifndef GLINT_TESTS_SUPPORT_IMAGES_H_
#define GLINT_TESTS_SUPPORT_IMAGES_H_

#include <cstdint>
#include <vector>

#include "features/types.h"
#include "tests/support/random.h"

namespace glint::testing {

Image Flat(Shape shape, uint8_t value);
// Every pixel independent and uniform in low..high.
Image Noise(Shape shape, uint32_t seed, int low = 0, int high = 255);
// Noise, blurred by a box of side 2 * radius + 1, contrast restored: corners at several scales, as in photographs.
Image Texture(Shape shape, uint32_t seed, int radius = 2);
// White pixels with probability 1 / `rarity` on black: scores and Harris responses tie often.
Image Speckle(Shape shape, uint32_t seed, int rarity = 8);
// Squares of side `cell`, black and white. The top-left one is black.
Image Checkerboard(Shape shape, int cell);
// A white pixel wherever x and y are both multiples of `spacing` (4 or more), on black: every one of them is a corner
// with the same score at every level-0 position that FAST looks at.
Image TieGrid(Shape shape, int spacing = 4);

// One of the above, with random parameters.
Image RandomImage(Random* random, Shape shape);
// A patchwork of 0, 255 and now and then values between.
Image RandomMask(Random* random, Shape shape);

// The same pixels in memory whose rows are `stride` bytes apart. What lies between the rows differs from copy to copy,
// and nothing lies behind the last row, so that tools see reads past it.
class StridedImage {
 public:
  StridedImage(const ImageView& image, ptrdiff_t stride, uint32_t seed = 1);
  ImageView view() const { return {memory_.data(), shape_.width, shape_.height, stride_}; }
  operator ImageView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<uint8_t> memory_;
  Shape shape_;
  ptrdiff_t stride_;
};

bool SamePixels(const ImageView& a, const ImageView& b);

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_IMAGES_H_
