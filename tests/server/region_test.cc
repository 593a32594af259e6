// Regions of interest: the answer is that of an image that was cut down, with coordinates in the whole one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/pipeline.h"
#include "features/options.h"
#include "tests/decode/files.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr Shape kShape = {320, 240};
struct Rect {
  int x, y, width, height;
};
constexpr Rect kRect = {41, 30, 200, 161};

void Set(const Rect& rect, v1::ImageRegion* region) {
  region->set_x(static_cast<uint32_t>(rect.x));
  region->set_y(static_cast<uint32_t>(rect.y));
  region->set_width(static_cast<uint32_t>(rect.width));
  region->set_height(static_cast<uint32_t>(rect.height));
}

void SetGray8(const ImageView& image, v1::Image* proto) {
  SetGray(image.width, image.height, 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  data->clear();
  for (int y = 0; y < image.height; ++y) {
    data->append(reinterpret_cast<const char*>(image.row(y)), static_cast<size_t>(image.width));
  }
}

ImageView Cut(const ImageView& image, const Rect& rect) {
  return {image.row(rect.y) + rect.x, rect.width, rect.height, image.stride};
}

Features Expected(const ImageView& image, const ImageView& mask, const Rect& rect) {
  cpu::Pipeline pipeline;
  Features features;
  EXPECT_TRUE(
      pipeline
          .Detect(*PresetOptions("orb"), Cut(image, rect), mask.empty() ? mask : Cut(mask, rect), &features, nullptr)
          .ok());
  EXPECT_GT(features.count(), 50u);
  for (float& x : features.x) x += static_cast<float>(rect.x);
  for (float& y : features.y) y += static_cast<float>(rect.y);
  return features;
}

void ExpectSame(const Features& expected, const v1::ImageFeatures& actual) {
  EXPECT_EQ(std::vector<float>(actual.x().begin(), actual.x().end()), expected.x);
  EXPECT_EQ(std::vector<float>(actual.y().begin(), actual.y().end()), expected.y);
  EXPECT_EQ(std::vector<float>(actual.response().begin(), actual.response().end()), expected.response);
  EXPECT_EQ(actual.descriptors(), std::string(expected.descriptors.begin(), expected.descriptors.end()));
}

Image HalfMask() {
  Image mask = Flat(kShape, 0);
  for (int y = 0; y < kShape.height; ++y) std::fill_n(mask.row(y), kShape.width / 2, uint8_t{255});
  return mask;
}

TEST(RegionTest, OfACallWithAndWithoutAMask) {
  TestServer server(TestOptions());
  const Image image = Texture(kShape, 1), mask = HalfMask();
  for (const bool masked : {false, true}) {
    v1::DetectRequest request;
    SetGray8(image, request.mutable_image());
    if (masked) SetGray8(mask, request.mutable_mask());
    Set(kRect, request.mutable_region());
    v1::DetectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = server.stub()->Detect(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ExpectSame(Expected(image, masked ? mask.view() : ImageView(), kRect), response.features());
  }
}

TEST(RegionTest, OfAStreamOfOneFrameAndOfNone) {
  TestServer server(TestOptions());
  const Image image = Texture(kShape, 2), mask = HalfMask();
  constexpr Rect kOther = {0, 79, 320, 161};
  TestStream stream(server.stub());
  v1::DetectStreamRequest options = OptionsMessage();
  Set(kRect, options.mutable_options()->mutable_region());
  SetGray8(mask, options.mutable_options()->mutable_mask());
  ASSERT_TRUE(stream.Write(options));
  for (const Rect* own : {static_cast<const Rect*>(nullptr), &kOther, static_cast<const Rect*>(nullptr)}) {
    v1::DetectStreamRequest frame = FrameMessage(7);
    SetGray8(image, frame.mutable_frame()->mutable_image());
    if (own != nullptr) Set(*own, frame.mutable_frame()->mutable_region());
    ASSERT_TRUE(stream.Write(frame));
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.status().code(), 0) << reply.status().message();
    ExpectSame(Expected(image, mask, own != nullptr ? *own : kRect), reply.features());
  }
  stream.WritesDone();
  EXPECT_TRUE(stream.Finish().ok());
}

// Of every format that has its grey as samples of its own, and of files.
TEST(RegionTest, OfEveryFormatAndOfFiles) {
  TestServer server(TestOptions());
  const Image image = Texture(kShape, 3);
  std::vector<v1::Image> forms;
  for (const auto& [format, bytes, at] :
       std::vector<std::tuple<v1::PixelFormat, int, int>>{{v1::PIXEL_FORMAT_NV12, 1, 0},
                                                          {v1::PIXEL_FORMAT_YUYV, 2, 0},
                                                          {v1::PIXEL_FORMAT_GRAY16, 2, 1},
                                                          {v1::PIXEL_FORMAT_BGR8, 3, -1}}) {
    v1::RawImage* const raw = forms.emplace_back().mutable_raw();
    raw->set_format(format);
    raw->set_width(kShape.width);
    raw->set_height(kShape.height);
    for (int y = 0; y < kShape.height; ++y) {
      for (int x = 0; x < kShape.width; ++x) {
        for (int i = 0; i < bytes; ++i) {
          raw->mutable_data()->push_back(static_cast<char>(at < 0 || i == at ? image.row(y)[x] : x * 31 + y));
        }
      }
    }
    if (format == v1::PIXEL_FORMAT_NV12) raw->mutable_data()->append(size_t{kShape.width} * kShape.height / 2, 'c');
  }
  for (const v1::Image& form : forms) {
    v1::DetectRequest request;
    *request.mutable_image() = form;
    Set(kRect, request.mutable_region());
    v1::DetectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = server.stub()->Detect(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ExpectSame(Expected(image, {}, kRect), response.features());
  }
  // A PNG's own grey comes back from its decoder.
  const auto file = decode::testing::WritePng({kShape.width, kShape.height, 0, 8, false, 0}, 1);
  decode::Decoder decoder;
  const auto decoded = decode::testing::Decode(&decoder, decode::Encoding::kPng, file);
  ASSERT_TRUE(decoded.status.ok());
  v1::DetectRequest request;
  request.mutable_image()->mutable_encoded()->set_data(std::string(file.begin(), file.end()));
  Set(kRect, request.mutable_region());
  v1::DetectResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.stub()->Detect(&context, request, &response).ok());
  ExpectSame(Expected({decoded.pixels.data(), kShape.width, kShape.height, kShape.width}, {}, kRect),
             response.features());
}

TEST(RegionTest, OutsideTheImageIsAnError) {
  TestServer server(TestOptions());
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  const std::vector<std::pair<Rect, const char*>> cases = {{{64, 0, 1, 1}, "region.x: 64 is not in 0..63"},
                                                           {{0, 48, 1, 1}, "region.y: 48 is not in 0..47"},
                                                           {{0, 0, 0, 1}, "region.width: 0 is not in 1..64"},
                                                           {{60, 0, 5, 1}, "region.width: 5 is not in 1..4"},
                                                           {{0, 40, 1, 9}, "region.height: 9 is not in 1..8"},
                                                           {{-1, 0, 2, 1}, "region.x: 4294967295 is not in 0..63"},
                                                           {{1, 0, -1, 1}, "region.width: 4294967295 is not in 1..63"}};
  for (const auto& [rect, message] : cases) {
    v1::DetectStreamRequest frame = FrameMessage(1, 64, 48);
    Set(rect, frame.mutable_frame()->mutable_region());
    ASSERT_TRUE(stream.Write(frame));
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.status().code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(reply.status().message(), HasSubstr(message));
  }
  // A mask of the region's size is not one of the image's.
  v1::DetectStreamRequest frame = FrameMessage(2, 64, 48);
  Set({0, 0, 32, 48}, frame.mutable_frame()->mutable_region());
  SetGray(32, 48, 1, frame.mutable_frame()->mutable_mask());
  ASSERT_TRUE(stream.Write(frame));
  EXPECT_THAT(stream.Read().status().message(), HasSubstr("mask: 32x48 is not the image's 64x48"));
  stream.WritesDone();
  EXPECT_TRUE(stream.Finish().ok());
}

}  // namespace
}  // namespace glint::testing
