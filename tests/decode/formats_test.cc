// What cameras send, against cv::cvtColor: all sizes, strides, cuts into pieces, and parts of pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "tests/decode/files.h"
#include "tests/decode/simd_targets.h"

namespace glint::decode {
namespace {

using testing::AtEverySimdTarget;
using testing::Bytes;
using testing::Cut;
using testing::GuardedImage;
using testing::RandomBytes;

// Tight rows of random samples; every few of them an extreme one, since sums of those come close to every limit.
Bytes Samples(const RawPlan& plan, uint32_t seed) {
  Bytes bytes = RandomBytes(BytesOf({plan.format, plan.shape, plan.row_bytes, plan.row_bytes}), seed);
  for (size_t i = 0; i < bytes.size(); i += 1 + bytes[i] % 5) bytes[i] = bytes[i] % 2 == 0 ? 0 : 255;
  return bytes;
}

Bytes Gray(const RawPlan& plan, Bytes tight) {
  const int width = plan.shape.width, height = plan.shape.height;
  if (plan.format == PixelFormat::kGray8) return tight;
  cv::Mat gray;
  switch (plan.format) {
    case PixelFormat::kNv12:
      cv::cvtColor(cv::Mat(height * 3 / 2, width, CV_8UC1, tight.data()), gray, cv::COLOR_YUV2GRAY_NV12);
      break;
    case PixelFormat::kYuyv:
      cv::cvtColor(cv::Mat(height, width, CV_8UC2, tight.data()), gray, cv::COLOR_YUV2GRAY_YUYV);
      break;
    case PixelFormat::kBayerRggb8:
      cv::cvtColor(cv::Mat(height, width, CV_8UC1, tight.data()), gray, cv::COLOR_BayerRGGB2GRAY);
      break;
    case PixelFormat::kGray16:  // OpenCV has no such conversion; its PNG reader takes the upper byte
      gray.create(height, width, CV_8UC1);
      for (size_t i = 0; i < gray.total(); ++i) {
        gray.data[i] = static_cast<uint8_t>((tight[2 * i] | tight[2 * i + 1] << 8) >> 8);
      }
      break;
    default:
      cv::cvtColor(cv::Mat(height, width, CV_8UC(BytesPerPixel(plan.format)), tight.data()), gray,
                   plan.format == PixelFormat::kBgr8 ? cv::COLOR_BGR2GRAY : cv::COLOR_RGBA2GRAY);
  }
  return Bytes(gray.datastart, gray.dataend);
}

// The rectangle of a picture with tight rows of `width`.
Bytes Part(const Bytes& gray, int width, int x, int y, Shape shape) {
  Bytes part;
  for (int row = y; row < y + shape.height; ++row) {
    const auto begin = gray.begin() + static_cast<ptrdiff_t>(row) * width + x;
    part.insert(part.end(), begin, begin + shape.width);
  }
  return part;
}

RawPlan PlanOf(PixelFormat format, int width, int height, size_t stride) {
  const auto plan = InspectLayout({static_cast<int>(format), static_cast<uint32_t>(width),
                                   static_cast<uint32_t>(height), static_cast<uint32_t>(stride)},
                                  kMaxImagePixels);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

// A picture in memory of exactly the size it needs, so that reading past its end is seen, with random bytes between
// rows.
struct Picture {
  Picture(PixelFormat format, int width, int height, size_t gap, uint32_t seed)
      : plan(PlanOf(format, width, height, static_cast<size_t>(width * BytesPerPixel(format)) + gap)),
        gray(Gray(plan, Samples(plan, seed))),
        size(BytesOf(plan)),
        memory(new uint8_t[size]) {
    const Bytes padding = RandomBytes(size, seed + 1), tight = Samples(plan, seed);
    std::copy(padding.begin(), padding.end(), memory.get());
    for (size_t at = 0, row = 0; at < tight.size(); at += plan.row_bytes, ++row) {
      std::copy_n(tight.begin() + static_cast<ptrdiff_t>(at), plan.row_bytes, memory.get() + row * plan.stride);
    }
  }
  absl::Span<const uint8_t> bytes() const { return {memory.get(), size}; }

  RawPlan plan;
  Bytes gray;  // tight rows, by the oracle
  size_t size;
  std::unique_ptr<uint8_t[]> memory;
};

class Formats : public AtEverySimdTarget {};
INSTANTIATE_TEST_SUITE_P(RawToGray, Formats, ::testing::ValuesIn(testing::SimdTargets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

constexpr PixelFormat kFormats[] = {PixelFormat::kNv12, PixelFormat::kYuyv, PixelFormat::kGray16,
                                    PixelFormat::kBayerRggb8};

TEST_P(Formats, EqualOpenCvAtEverySizeStrideAndCut) {
  std::vector<uint8_t> scratch;
  for (const PixelFormat format : kFormats) {
    const int step = format == PixelFormat::kNv12 ? 2 : 1;
    for (int width = step; width <= 80; width += step) {
      for (const int height : {1, 2, 3, 4, 5, 8}) {
        if (height % step != 0) continue;
        for (const size_t gap : {size_t{0}, size_t{1}, size_t{13}}) {
          const Picture picture(format, width, height, gap, static_cast<uint32_t>(width * 10 + height));
          const RawPlan& plan = picture.plan;
          GuardedImage image(plan.shape, 3);
          for (const size_t piece : {picture.size, plan.stride + 3, size_t{2}}) {
            RawToGray(plan, Cut(picture.bytes(), piece), 0, 0, image.destination(), &scratch);
            ASSERT_EQ(image.pixels(), picture.gray)
                << static_cast<int>(format) << ": " << width << "x" << height << " gap " << gap << " cut " << piece;
            ASSERT_TRUE(image.guards_intact());
          }
        }
      }
    }
  }
}

TEST_P(Formats, EqualOpenCvOnWholePictures) {
  std::vector<uint8_t> scratch;
  for (const PixelFormat format : kFormats) {
    for (const Shape shape : {Shape{640, 480}, Shape{1282, 34}, Shape{1920, 16}}) {
      const Picture picture(format, shape.width, shape.height, 0, 7);
      GuardedImage image(shape, 0);
      RawToGray(picture.plan, Cut(picture.bytes(), 65536), 0, 0, image.destination(), &scratch);
      EXPECT_TRUE(image.pixels() == picture.gray) << static_cast<int>(format) << " " << shape.width;
    }
  }
}

TEST_P(Formats, PartsAreThoseOfTheWholePicture) {
  std::vector<uint8_t> scratch;
  const PixelFormat all[] = {PixelFormat::kGray8, PixelFormat::kBgr8,   PixelFormat::kRgba8,     PixelFormat::kNv12,
                             PixelFormat::kYuyv,  PixelFormat::kGray16, PixelFormat::kBayerRggb8};
  uint32_t seed = 1;
  for (const PixelFormat format : all) {
    for (const Shape shape : {Shape{64, 20}, Shape{120, 6}, Shape{40, 4}}) {
      const Picture picture(format, shape.width, shape.height, 5, seed);
      for (int i = 0; i < 60; ++i) {
        const Bytes random = RandomBytes(4, ++seed);
        const int x = random[0] % shape.width, y = random[1] % shape.height;
        const Shape part = {1 + random[2] % (shape.width - x), 1 + random[3] % (shape.height - y)};
        GuardedImage image(part, 2);
        RawToGray(picture.plan, Cut(picture.bytes(), i % 2 == 0 ? picture.size : 7), x, y, image.destination(),
                  &scratch);
        ASSERT_EQ(image.pixels(), Part(picture.gray, shape.width, x, y, part))
            << static_cast<int>(format) << ": " << x << "," << y << " " << part.width << "x" << part.height << " of "
            << shape.width << "x" << shape.height;
        ASSERT_TRUE(image.guards_intact());
      }
    }
  }
}

TEST(RawToGray, TakesDataWithAndWithoutPaddingAfterTheLastRow) {
  for (const PixelFormat format : kFormats) {
    const RawLayout layout = {static_cast<int>(format), 4, 6, 16};
    const auto plan = InspectLayout(layout, kMaxImagePixels);
    ASSERT_TRUE(plan.ok());
    const size_t rows = format == PixelFormat::kNv12 ? 9 : 6;
    EXPECT_EQ(BytesOf(*plan), 16 * (rows - 1) + 4 * static_cast<size_t>(BytesPerPixel(format)));
    EXPECT_TRUE(InspectRaw(layout, BytesOf(*plan), kMaxImagePixels).ok());
    EXPECT_TRUE(InspectRaw(layout, 16 * rows, kMaxImagePixels).ok());
    EXPECT_FALSE(InspectRaw(layout, 16 * rows - 1, kMaxImagePixels).ok());
  }
}

}  // namespace
}  // namespace glint::decode
