// Images that are hard in different ways, and buffers that end exactly where the image does.
#ifndef GLINT_TESTS_CPU_IMAGES_H_
#define GLINT_TESTS_CPU_IMAGES_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "features/types.h"

namespace glint::testing {

enum class Content { kTexture, kNoise, kBlocks, kCorners, kFlat, kExtremes };
inline constexpr Content kContents[] = {Content::kTexture, Content::kNoise, Content::kBlocks,
                                        Content::kCorners, Content::kFlat,  Content::kExtremes};

// An image in memory of exactly (height - 1) * stride + width bytes, so that a sanitizer sees every read past it.
class ExactImage {
 public:
  ExactImage(Shape shape, int stride)
      : shape_(shape), stride_(stride), bytes_(Size()), memory_(new uint8_t[bytes_]()) {}

  ImageView view() const { return {memory_.get(), shape_.width, shape_.height, stride_}; }
  uint8_t& at(int x, int y) {
    return memory_[static_cast<size_t>(y) * static_cast<size_t>(stride_) + static_cast<size_t>(x)];
  }

 private:
  size_t Size() const {
    return static_cast<size_t>(shape_.height - 1) * static_cast<size_t>(stride_) + static_cast<size_t>(shape_.width);
  }
  Shape shape_;
  int stride_;
  size_t bytes_;
  std::unique_ptr<uint8_t[]> memory_;
};

// The same bytes for the same arguments, everywhere.
inline ExactImage MakeImage(Shape shape, int stride, Content content, uint32_t seed) {
  ExactImage image(shape, stride);
  std::mt19937 random(seed);
  const auto any = [&random](uint32_t n) { return static_cast<int>(random() % n); };
  switch (content) {
    case Content::kTexture: {  // rectangles of all sizes, slightly noisy: photographs' statistics, roughly
      for (int i = 0; i < 4 + shape.width * shape.height / 200; ++i) {
        const int x0 = any(shape.width);
        const int y0 = any(shape.height);
        const int x1 = std::min(shape.width, x0 + 1 + any(24));
        const int y1 = std::min(shape.height, y0 + 1 + any(24));
        const int grey = any(250);
        for (int y = y0; y < y1; ++y) {
          for (int x = x0; x < x1; ++x) image.at(x, y) = static_cast<uint8_t>(grey + any(6));
        }
      }
      break;
    }
    case Content::kNoise:
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) image.at(x, y) = static_cast<uint8_t>(any(256));
      }
      break;
    case Content::kBlocks:  // saturated black and white squares with ties everywhere
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) image.at(x, y) = ((x / 6) ^ (y / 6)) & 1 ? 255 : 0;
      }
      break;
    case Content::kCorners:  // isolated dots: as many corners as suppression leaves
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) image.at(x, y) = x % 4 == 1 && y % 4 == 2 ? 200 : 100;
      }
      break;
    case Content::kFlat:
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) image.at(x, y) = 128;
      }
      break;
    case Content::kExtremes:  // mostly 0 and 255: sums at their limits
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x)
          image.at(x, y) = any(8) == 0 ? static_cast<uint8_t>(any(256)) : any(2) * 255;
      }
      break;
  }
  return image;
}

// What lies between a row's end and the next row is noise too: it must not matter.
inline void FillGaps(ExactImage* image, uint32_t seed) {
  std::mt19937 random(seed);
  const ImageView v = image->view();
  for (int y = 0; y + 1 < v.height; ++y) {
    for (int x = v.width; x < v.stride; ++x) image->at(x, y) = static_cast<uint8_t>(random());
  }
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_CPU_IMAGES_H_
