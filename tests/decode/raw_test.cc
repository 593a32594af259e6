// Raw pixels: the grey of every colour, layouts good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using ::testing::HasSubstr;
using testing::RandomBytes;
using testing::SimdTargets;

struct Format {
  PixelFormat format;
  int code;  // cv::cvtColor's
};
constexpr Format kColours[] = {{PixelFormat::kBgr8, cv::COLOR_BGR2GRAY},
                               {PixelFormat::kRgb8, cv::COLOR_RGB2GRAY},
                               {PixelFormat::kBgra8, cv::COLOR_BGRA2GRAY},
                               {PixelFormat::kRgba8, cv::COLOR_RGBA2GRAY}};

Bytes OpenCvGray(const Bytes& pixels, int width, int height, int channels, int code) {
  const cv::Mat in(height, width, CV_8UC(channels), const_cast<uint8_t*>(pixels.data()));
  cv::Mat gray;
  cv::cvtColor(in, gray, code);
  return Bytes(gray.datastart, gray.dataend);
}

INSTANTIATE_TEST_SUITE_P(RawToGray, AtEverySimdTarget, ::testing::ValuesIn(SimdTargets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

TEST_P(AtEverySimdTarget, EqualsCvtColorForEveryColour) {
  // All 2^24 colours as a 4096 x 4096 picture.
  constexpr int kSide = 4096;
  Bytes pixels(size_t{3} << 24);
  for (uint32_t colour = 0; colour < 1u << 24; ++colour) {
    for (uint32_t i = 0; i < 3; ++i) pixels[3 * colour + i] = static_cast<uint8_t>(colour >> (8 * i));
  }
  Bytes gray(size_t{1} << 24);
  for (size_t y = 0; y < kSide; ++y) {
    RowToGray(PixelFormat::kRgb8, pixels.data() + 3 * y * kSide, kSide, gray.data() + y * kSide);
  }
  EXPECT_TRUE(gray == OpenCvGray(pixels, kSide, kSide, 3, cv::COLOR_RGB2GRAY));
}

TEST_P(AtEverySimdTarget, EqualsCvtColorAtEveryWidthAndStride) {
  std::vector<uint8_t> scratch;
  for (int width = 1; width <= 70; ++width) {
    for (const auto& [format, code] : kColours) {
      const int channels = BytesPerPixel(format);
      const size_t row = static_cast<size_t>(width) * channels;
      for (size_t gap : {size_t{0}, size_t{1}, size_t{13}}) {
        const int height = 3;
        const Bytes tight = RandomBytes(row * height, static_cast<uint32_t>(width));
        // Exactly stride * (height - 1) + row bytes, so that reading past the last pixel is seen.
        std::unique_ptr<uint8_t[]> data(new uint8_t[(row + gap) * (height - 1) + row]);
        for (int y = 0; y < height; ++y) {
          std::copy_n(tight.data() + y * row, row, data.get() + y * (row + gap));
        }
        const auto plan = InspectRaw({static_cast<int>(format), static_cast<uint32_t>(width), height,
                                      static_cast<uint32_t>(gap == 0 ? 0 : row + gap)},
                                     (row + gap) * (height - 1) + row, kMaxImagePixels);
        ASSERT_TRUE(plan.ok()) << plan.status();
        GuardedImage image(plan->shape, 3);
        const absl::Span<const uint8_t> all(data.get(), (row + gap) * (height - 1) + row);
        for (const size_t piece : {all.size(), row + 3, size_t{2}}) {
          RawToGray(*plan, Cut(all, piece), 0, 0, image.destination(), &scratch);
          EXPECT_EQ(image.pixels(), OpenCvGray(tight, width, height, channels, code)) << width << " gap " << gap;
          EXPECT_TRUE(image.guards_intact());
        }
      }
    }
  }
}

TEST(RawToGray, CopiesGray) {
  const Bytes tight = RandomBytes(7 * 4, 1);
  const auto plan = InspectRaw({static_cast<int>(PixelFormat::kGray8), 7, 4, 0}, tight.size(), 28);
  ASSERT_TRUE(plan.ok()) << plan.status();
  GuardedImage image(plan->shape, 9);
  std::vector<uint8_t> scratch;
  RawToGray(*plan, Cut(tight, 5), 0, 0, image.destination(), &scratch);
  EXPECT_EQ(image.pixels(), tight);
  GuardedImage band({7, 2}, 4);
  RawToGray(*plan, Cut(tight, 5), 0, 1, band.destination(), &scratch);
  EXPECT_EQ(band.pixels(), Bytes(tight.begin() + 7, tight.begin() + 21));
  EXPECT_TRUE(image.guards_intact());
}

TEST(InspectRaw, AcceptsDataWithAndWithoutTheLastRowsPadding) {
  EXPECT_TRUE(InspectRaw({1, 5, 3, 8}, 21, 100).ok());
  EXPECT_TRUE(InspectRaw({1, 5, 3, 8}, 24, 100).ok());
  EXPECT_FALSE(InspectRaw({1, 5, 3, 8}, 22, 100).ok());
}

struct BadLayout {
  RawLayout layout;
  size_t bytes;
  absl::StatusCode code;
  const char* message;
};

TEST(InspectRaw, NamesFieldValueAndRangeOfWhatIsWrong) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr uint32_t kHuge = 0xffffffff;
  const BadLayout cases[] = {
      {{0, 4, 4, 0},
       16,
       kInvalid,
       "image.format: \"0\" is not one of GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8"},
      {{10, 4, 4, 0},
       16,
       kInvalid,
       "image.format: \"10\" is not one of GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8"},
      {{-1, 4, 4, 0},
       16,
       kInvalid,
       "image.format: \"-1\" is not one of GRAY8, BGR8, RGB8, BGRA8, RGBA8, NV12, YUYV, GRAY16, BAYER_RGGB8"},
      {{1, 0, 4, 0}, 0, kInvalid, "image.width: 0 is not in 1..16384"},
      {{1, 4, 0, 0}, 0, kInvalid, "image.height: 0 is not in 1..16384"},
      {{1, 16385, 1, 0}, 16385, kInvalid, "image.width: 16385 is not in 1..16384"},
      {{1, kHuge, kHuge, 0}, 1, kInvalid, "image.width: 4294967295 is not in 1..16384"},
      {{1, 1, kHuge, kHuge}, 1, kInvalid, "image.height: 4294967295 is not in 1..16384"},
      {{1, 101, 10, 0},
       1010,
       absl::StatusCode::kResourceExhausted,
       "image: 1010 pixels are over this server's limit of 1000 (--max-image-pixels)"},
      {{1, 12, 4, 10}, 48, kInvalid, "image.stride: 10 is less than the row of 12 bytes"},
      {{3, 4, 4, 11}, 48, kInvalid, "image.stride: 11 is less than the row of 12 bytes"},
      {{6, 5, 4, 0}, 30, kInvalid, "image.width: 5 is odd; sides of NV12 are even"},
      {{6, 4, 5, 0}, 30, kInvalid, "image.height: 5 is odd; sides of NV12 are even"},
      {{6, 4, 4, 0}, 16, kInvalid, "image.data: 16 bytes, but 4x4 with a stride of 4 is 24"},
      {{6, 4, 4, 6}, 35, kInvalid, "image.data: 35 bytes, but 4x4 with a stride of 6 is 34 or 36"},
      {{7, 5, 4, 0}, 20, kInvalid, "image.data: 20 bytes, but 5x4 with a stride of 10 is 40"},
      {{8, 4, 4, 7}, 32, kInvalid, "image.stride: 7 is less than the row of 8 bytes"},
      {{1, 4, 4, 0}, 15, kInvalid, "image.data: 15 bytes, but 4x4 with a stride of 4 is 16"},
      {{1, 4, 4, 0}, 17, kInvalid, "image.data: 17 bytes, but 4x4 with a stride of 4 is 16"},
      {{5, 4, 4, 20}, 0, kInvalid, "image.data: 0 bytes, but 4x4 with a stride of 20 is 76 or 80"},
      {{1, 4, 4, kHuge}, 16, kInvalid, "image.data: 16 bytes, but 4x4 with a stride of 4294967295 is 12884901889 or"},
  };
  for (const auto& c : cases) {
    const absl::Status status = InspectRaw(c.layout, c.bytes, 1000).status();
    EXPECT_EQ(status.code(), c.code) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace glint::decode
