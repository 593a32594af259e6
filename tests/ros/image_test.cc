// Encodings of images, as what the service takes.
#include "ros/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "features/limits.h"
#include "tests/ros/every_message.h"

namespace glint::ros {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Image Message(const std::string& encoding, uint32_t width, uint32_t height, uint32_t step,
              const std::vector<uint8_t>& data, bool big_endian = false) {
  Image image;
  image.encoding = encoding;
  image.width = width;
  image.height = height;
  image.step = step;
  image.data = data;
  image.is_bigendian = big_endian ? 1 : 0;
  return image;
}

std::vector<uint8_t> Row(const ImagePixels& pixels, size_t y) {
  const uint8_t* const row = pixels.data + y * pixels.stride;
  return {row, row + pixels.row_bytes};
}

std::string ErrorOf(const Image& image, ImageUse use = ImageUse::kPicture) {
  ImagePixels pixels;
  return std::string(PixelsOf(image, use, &pixels).message());
}

std::vector<uint8_t> CountTo(size_t count) {
  std::vector<uint8_t> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<uint8_t>(i);
  return data;
}

TEST(Image, FormatsThatTheServiceTakesStayWhereTheyAre) {
  const std::vector<uint8_t> data = CountTo(20);
  struct Case {
    const char* encoding;
    PixelFormat format;
    size_t row_bytes;
  };
  for (const Case& c : {Case{"mono8", PixelFormat::kGray8, 2}, Case{"8UC1", PixelFormat::kGray8, 2},
                        Case{"mono16", PixelFormat::kGray16, 4}, Case{"16UC1", PixelFormat::kGray16, 4},
                        Case{"bgr8", PixelFormat::kBgr8, 6}, Case{"rgb8", PixelFormat::kRgb8, 6},
                        Case{"bgra8", PixelFormat::kBgra8, 8}, Case{"rgba8", PixelFormat::kRgba8, 8},
                        Case{"bayer_rggb8", PixelFormat::kBayerRggb8, 2}, Case{"yuv422_yuy2", PixelFormat::kYuyv, 4},
                        Case{"yuyv", PixelFormat::kYuyv, 4}, Case{"nv12", PixelFormat::kGray8, 2},
                        Case{"nv21", PixelFormat::kGray8, 2}, Case{"nv24", PixelFormat::kGray8, 2}}) {
    SCOPED_TRACE(c.encoding);
    ImagePixels pixels;
    const absl::Status status = PixelsOf(Message(c.encoding, 2, 2, 10, data), ImageUse::kPicture, &pixels);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(pixels.format, c.format);
    EXPECT_EQ(pixels.shape, (Shape{2, 2}));
    EXPECT_EQ(pixels.data, data.data());
    EXPECT_EQ(pixels.stride, 10u);
    EXPECT_EQ(pixels.row_bytes, c.row_bytes);
  }
}

TEST(Image, LumaOfUyvyIsTheSecondOfTwoBytes) {
  const std::vector<uint8_t> data = CountTo(20);
  for (const char* encoding : {"yuv422", "uyvy"}) {
    ImagePixels pixels;
    ASSERT_TRUE(PixelsOf(Message(encoding, 3, 2, 10, data), ImageUse::kPicture, &pixels).ok());
    EXPECT_EQ(pixels.format, PixelFormat::kGray8);
    EXPECT_THAT(Row(pixels, 0), ElementsAre(1, 3, 5));
    EXPECT_THAT(Row(pixels, 1), ElementsAre(11, 13, 15));
  }
}

TEST(Image, BigEndianSamplesAreTurned) {
  const std::vector<uint8_t> data = CountTo(12);
  for (const ImageUse use : {ImageUse::kPicture, ImageUse::kDepth}) {
    ImagePixels pixels;
    ASSERT_TRUE(PixelsOf(Message("16UC1", 2, 2, 6, data, true), use, &pixels).ok());
    EXPECT_EQ(pixels.format, PixelFormat::kGray16);
    EXPECT_THAT(Row(pixels, 0), ElementsAre(1, 0, 3, 2));
    EXPECT_THAT(Row(pixels, 1), ElementsAre(7, 6, 9, 8));
  }
  ImagePixels pixels;  // bytes have no order
  ASSERT_TRUE(PixelsOf(Message("mono8", 2, 2, 6, data, true), ImageUse::kPicture, &pixels).ok());
  EXPECT_EQ(pixels.data, data.data());
}

TEST(Image, MetresBecomeMillimetres) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> metres = {1.5f, 0.0625f, 65.535f, 0.0004f, 65.6f, -1, std::nanf(""), inf, 0, 0.00052f};
  const std::vector<int> want = {1500, 63, 65535, 0, 0, 0, 0, 0, 0, 1};  // 62.5 is halfway
  const auto width = static_cast<uint32_t>(metres.size());
  for (const bool big_endian : {false, true}) {
    std::vector<uint8_t> data(4 * metres.size());
    std::memcpy(data.data(), metres.data(), data.size());
    if (big_endian) {
      for (size_t i = 0; i < data.size(); i += 4) std::reverse(data.begin() + i, data.begin() + i + 4);
    }
    ImagePixels pixels;
    ASSERT_TRUE(PixelsOf(Message("32FC1", width, 1, 4 * width, data, big_endian), ImageUse::kDepth, &pixels).ok());
    EXPECT_EQ(pixels.format, PixelFormat::kGray16);
    const std::vector<uint8_t> row = Row(pixels, 0);
    std::vector<int> got;
    for (size_t i = 0; i < row.size(); i += 2) got.push_back(row[i] | row[i + 1] << 8);
    EXPECT_EQ(got, want);
  }
}

TEST(Image, ConvertedPixelsKeepTheirMemory) {
  const std::vector<uint8_t> data(2 * 64 * 48);
  ImagePixels pixels;
  ASSERT_TRUE(PixelsOf(Message("uyvy", 64, 48, 128, data), ImageUse::kPicture, &pixels).ok());
  const uint8_t* const before = pixels.data;
  ASSERT_TRUE(PixelsOf(Message("uyvy", 64, 48, 128, data), ImageUse::kPicture, &pixels).ok());
  EXPECT_EQ(pixels.data, before);
}

TEST(Image, ErrorsNameTheField) {
  const std::vector<uint8_t> data(24);
  EXPECT_EQ(ErrorOf(Message("mono8", 4, 6, 4, data)), "");
  EXPECT_EQ(ErrorOf(Message("mono8", 4, 7, 4, data)),
            "sensor_msgs/msg/Image.data: 24 bytes are less than 7 rows of 4 bytes");
  EXPECT_EQ(ErrorOf(Message("rgb8", 4, 2, 11, data)),
            "sensor_msgs/msg/Image.step: 11 is less than the row of 12 bytes");
  EXPECT_EQ(ErrorOf(Message("mono8", 0, 2, 4, data)), "sensor_msgs/msg/Image.width: 0 is not in 1..16384");
  EXPECT_EQ(ErrorOf(Message("mono8", 4, 4294967295u, 4, data)),
            "sensor_msgs/msg/Image.height: 4294967295 is not in 1..16384");
  EXPECT_THAT(ErrorOf(Message("mono8", 4, 16384, 4294967295u, data)), HasSubstr("16384 rows of 4294967295 bytes"));
  EXPECT_EQ(
      ErrorOf(Message("8UC3", 2, 2, 6, data)),
      "sensor_msgs/msg/Image.encoding: \"8UC3\" is not one of mono8, 8UC1, mono16, 16UC1, bgr8, rgb8, bgra8, rgba8, "
      "bayer_rggb8, yuv422_yuy2, yuyv, yuv422, uyvy, nv12, nv21, nv24");
  EXPECT_EQ(
      ErrorOf(Message("bayer_grbg8", 2, 2, 2, data)),
      "sensor_msgs/msg/Image.encoding: \"bayer_grbg8\": of mosaics only bayer_rggb8 is taken; image_proc's debayer "
      "node publishes mono8 and colours");
  EXPECT_THAT(ErrorOf(Message("32FC1", 2, 2, 8, data)), HasSubstr("\"32FC1\" is not one of mono8"));
  EXPECT_EQ(ErrorOf(Message("mono8", 2, 2, 2, data), ImageUse::kDepth),
            "sensor_msgs/msg/Image.encoding: \"mono8\" is not one of mono16, 16UC1, 32FC1");
}

TEST(CompressedImage, FilesAreKnownByTheirFirstBytes) {
  CompressedImage image;
  image.format = "bgr8; jpeg compressed bgr8";
  for (const absl::string_view begin : {"\xff\xd8\xff\xe0", "\x89PNG\r\n"}) {
    image.data = BytesOf(begin);
    const auto file = FileOf(image);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->data(), image.data.data());
    EXPECT_EQ(file->size(), begin.size());
  }
  image.format = "16UC1; compressedDepth png";
  const std::string depth = std::string(12, '\0') + "\x89PNG";
  image.data = BytesOf(depth);
  EXPECT_EQ(
      FileOf(image).status().message(),
      "sensor_msgs/msg/CompressedImage.data: 16 bytes of format \"16UC1; compressedDepth png\" do not begin as JPEG "
      "or PNG; depths are taken as Image of 16UC1 or 32FC1");
  for (const absl::string_view begin : {"", "\xff\xd8"}) {
    image.data = BytesOf(begin);
    EXPECT_TRUE(absl::IsInvalidArgument(FileOf(image).status()));
  }
}

}  // namespace
}  // namespace glint::ros
