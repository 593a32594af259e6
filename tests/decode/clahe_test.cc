#include "decode/clahe.h"

#include <gtest/gtest.h>

#include <cstring>
#include <opencv2/imgproc.hpp>

#include "tests/decode/files.h"

namespace glint::decode {
namespace {

Image PictureOf(Shape shape, uint32_t seed, int divisor) {
  const testing::Bytes pixels = testing::Picture(shape.width, shape.height, 1, seed);
  Image image(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(pixels[static_cast<size_t>(y * shape.width + x)] / divisor);
    }
  }
  return image;
}

TEST(Clahe, EqualsOpenCvs) {
  Clahe clahe;
  Image found;
  const auto opencv = cv::createCLAHE();  // clip limit 40, 8 by 8 tiles
  uint32_t seed = 0;
  for (const Shape shape : {Shape{640, 480}, {64, 64}, {63, 64}, {64, 61}, {321, 243}, {100, 7}, {1, 1}, {9, 200}}) {
    for (const int divisor : {1, 7, 300}) {  // the last one: flat
      const Image image = PictureOf(shape, ++seed, divisor);
      cv::Mat expected;
      opencv->apply(cv::Mat(shape.height, shape.width, CV_8U, const_cast<uint8_t*>(image.row(0)),
                            static_cast<size_t>(image.stride())),
                    expected);
      clahe.Apply(image, &found);
      ASSERT_EQ(found.shape(), shape);
      for (int y = 0; y < shape.height; ++y) {
        ASSERT_EQ(std::memcmp(found.row(y), expected.ptr(y), static_cast<size_t>(shape.width)), 0)
            << shape.width << "x" << shape.height << " " << divisor << ", row " << y;
      }
    }
  }
}

}  // namespace
}  // namespace glint::decode
