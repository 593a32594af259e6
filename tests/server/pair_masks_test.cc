// Masks and region of stereo streams: keypoints are those of detection with the mask, in raw and in rectified images.
#include "server/pixels/pair_masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/pipeline.h"
#include "features/camera/rectification.h"
#include "features/camera/remap_table.h"
#include "features/reference/remap.h"
#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/server/raw_wall.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::StartsWith;

constexpr Shape kShape = {320, 200};
constexpr int kFeatures = 300;

Camera WideCamera() {
  return {CameraModel::kRadialTangential, kShape, 200, 202, 158, 103, {-0.28, 0.07, 0.0002, -0.0003, 0}};
}

// 255 but for a rectangle.
Image MaskWithout(int x, int y, int width, int height, Shape shape = kShape) {
  Image mask = Flat(shape, 255);
  for (int row = y; row < y + height; ++row) std::fill_n(mask.row(row) + x, width, uint8_t{0});
  return mask;
}

void SetImage(const Image& image, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  std::string data;
  for (int y = 0; y < image.height(); ++y) {
    data.append(reinterpret_cast<const char*>(image.row(y)), static_cast<size_t>(image.width()));
  }
  proto->mutable_raw()->set_data(std::move(data));
}

Features Detect(const Image& image, const Image& mask) {
  DetectorOptions detector = *PresetOptions("orb");
  detector.max_features = kFeatures;
  Features features;
  EXPECT_TRUE(cpu::Pipeline().Detect(detector, image, mask, &features, nullptr).ok());
  EXPECT_GT(features.count(), 50u);
  return features;
}

class PairMasksTest : public ::testing::Test {
 protected:
  PairMasksTest() : server_(TestOptions()), matching_(v1::FeatureMatching::NewStub(server_.channel())) {
    options_.mutable_detector()->set_preset("orb");
    options_.mutable_detector()->set_max_features(kFeatures);
    const Image wide = Texture({kShape.width + 7, kShape.height}, 3);
    for (int y = 0; y < kShape.height; ++y) {
      std::copy_n(wide.row(y), kShape.width, left_.row(y));
      std::copy_n(wide.row(y) + 7, kShape.width, right_.row(y));
    }
  }

  // The answers to these pairs of a stream with options_.
  std::vector<v1::StereoStreamResponse> Ask(const std::vector<v1::StereoPair>& pairs) {
    grpc::ClientContext context;
    const auto stream = matching_->StereoStream(&context);
    v1::StereoStreamRequest request;
    *request.mutable_options() = options_;
    stream->Write(request);
    std::vector<v1::StereoStreamResponse> responses;
    for (const v1::StereoPair& pair : pairs) {
      *request.mutable_pair() = pair;
      v1::StereoStreamResponse response;
      if (!stream->Write(request) || !stream->Read(&response)) break;
      responses.push_back(response);
    }
    stream->WritesDone();
    v1::StereoStreamResponse rest;
    while (stream->Read(&rest)) {
    }
    status_ = stream->Finish();
    return responses;
  }
  std::string ErrorOf(const v1::StereoPair& pair) {
    const auto responses = Ask({pair});
    return responses.empty() ? status_.error_message() : responses[0].status().message();
  }

  v1::StereoPair Pair() const {
    v1::StereoPair pair;
    SetImage(left_, pair.mutable_left());
    SetImage(right_, pair.mutable_right());
    return pair;
  }

  static void ExpectKeypoints(const v1::StereoStreamResponse& response, const Features& left, const Features& right) {
    EXPECT_EQ(response.status().message(), "");
    EXPECT_THAT(response.result().left().x(), ElementsAreArray(left.x));
    EXPECT_THAT(response.result().left().y(), ElementsAreArray(left.y));
    EXPECT_EQ(response.result().right_keypoints(), static_cast<int64_t>(right.count()));
  }

  TestServer server_;
  const std::unique_ptr<v1::FeatureMatching::Stub> matching_;
  v1::StereoStreamOptions options_;
  Image left_{kShape.width, kShape.height}, right_{kShape.width, kShape.height};
  grpc::Status status_;
};

TEST_F(PairMasksTest, OfAPairAreInPlaceOfTheStreams) {
  const Image stream_mask = MaskWithout(0, 120, 320, 80), right_mask = MaskWithout(200, 0, 120, 200);
  const Image own = MaskWithout(0, 0, 100, 200);
  SetImage(stream_mask, options_.mutable_mask());
  SetImage(right_mask, options_.mutable_right_mask());
  v1::StereoPair with_own = Pair();
  SetImage(own, with_own.mutable_mask());
  const auto responses = Ask({Pair(), with_own, Pair()});
  ASSERT_EQ(responses.size(), 3u);
  const Features right = Detect(right_, right_mask);
  ExpectKeypoints(responses[0], Detect(left_, stream_mask), right);
  ExpectKeypoints(responses[1], Detect(left_, own), right);
  ExpectKeypoints(responses[2], Detect(left_, stream_mask), right);
}

TEST_F(PairMasksTest, ARegionHoldsWithThem) {
  v1::ImageRegion* const region = options_.mutable_region();
  region->set_x(40);
  region->set_y(30);
  region->set_width(230);
  region->set_height(150);
  Image inside = Flat(kShape, 0), both = Flat(kShape, 0);
  for (int y = 30; y < 180; ++y) {
    std::fill_n(inside.row(y) + 40, 230, uint8_t{255});
    std::fill_n(both.row(y) + 40, y < 110 ? 230 : 0, uint8_t{255});
  }
  v1::StereoPair masked = Pair();
  SetImage(MaskWithout(0, 110, 320, 90), masked.mutable_mask());
  const auto responses = Ask({Pair(), masked});
  ASSERT_EQ(responses.size(), 2u);
  ExpectKeypoints(responses[0], Detect(left_, inside), Detect(right_, inside));
  ExpectKeypoints(responses[1], Detect(left_, both), Detect(right_, inside));
}

TEST_F(PairMasksTest, SideBySideAreOfTheHalves) {
  Image both(2 * kShape.width, kShape.height);
  for (int y = 0; y < kShape.height; ++y) {
    std::copy_n(left_.row(y), kShape.width, both.row(y));
    std::copy_n(right_.row(y), kShape.width, both.row(y) + kShape.width);
  }
  v1::StereoPair pair;
  SetImage(both, pair.mutable_left());
  const Image right_mask = MaskWithout(0, 0, 320, 90);
  SetImage(right_mask, pair.mutable_right_mask());
  const auto responses = Ask({pair});
  ASSERT_EQ(responses.size(), 1u);
  ExpectKeypoints(responses[0], Detect(left_, Flat(kShape, 255)), Detect(right_, right_mask));
}

TEST_F(PairMasksTest, WhatCannotBeIsRefusedByField) {
  v1::StereoPair pair = Pair();
  SetImage(MaskWithout(0, 0, 1, 1, {320, 199}), pair.mutable_right_mask());
  EXPECT_EQ(ErrorOf(pair), "right_mask: 320x199 is not the image's 320x200");
  pair = Pair();
  SetImage(left_, pair.mutable_mask());
  pair.mutable_mask()->mutable_raw()->set_format(v1::PIXEL_FORMAT_BGR8);
  EXPECT_THAT(ErrorOf(pair), StartsWith("mask."));
  options_.mutable_region()->set_x(320);
  EXPECT_THAT(ErrorOf(Pair()), StartsWith("region.x: 320"));
  options_.clear_region();
  SetImage(MaskWithout(0, 0, 1, 1, {100, 100}), options_.mutable_mask());
  EXPECT_EQ(ErrorOf(Pair()), "mask: 100x100 is not the image's 320x200");
  options_.mutable_mask()->Clear();
  EXPECT_THAT(ErrorOf(Pair()), StartsWith("mask: neither raw nor encoded nor shared"));
}

TEST_F(PairMasksTest, OfARigAreOfItsRawImages) {
  const Camera camera = WideCamera();
  RigidTransform right_from_left;
  right_from_left.translation = {-0.2, 0, 0};
  v1::StereoRig* const rig = options_.mutable_rig();
  for (v1::Camera* const proto : {rig->mutable_left(), rig->mutable_right()}) {
    proto->set_width(static_cast<uint32_t>(kShape.width));
    proto->set_height(static_cast<uint32_t>(kShape.height));
    proto->set_fx(camera.fx);
    proto->set_fy(camera.fy);
    proto->set_cx(camera.cx);
    proto->set_cy(camera.cy);
    proto->mutable_radial_tangential()->set_k1(camera.lens[0]);
    proto->mutable_radial_tangential()->set_k2(camera.lens[1]);
    proto->mutable_radial_tangential()->set_p1(camera.lens[2]);
    proto->mutable_radial_tangential()->set_p2(camera.lens[3]);
  }
  rig->mutable_right_from_left()->set_x(-0.2);
  left_ = Seen(camera, {});
  right_ = Seen(camera, right_from_left.Inverse());
  const auto to = RectifyPair(camera, camera, right_from_left, {});
  ASSERT_TRUE(to.ok()) << to.status();
  const RemapTable tables[] = {MakeRemapTable(camera, to->rectified_from_left, to->camera),
                               MakeRemapTable(camera, to->rectified_from_right, to->camera)};
  const Image raw[] = {MaskWithout(0, 120, 320, 80), MaskWithout(60, 40, 90, 100)};
  SetImage(raw[0], options_.mutable_mask());
  Image images[2], masks[2];
  for (int i = 0; i < 2; ++i) {
    reference::Remap(i == 0 ? left_ : right_, tables[i], &images[i]);
    RectifyMask(raw[i], tables[i], &masks[i]);
  }
  v1::StereoPair pair = Pair();
  SetImage(raw[1], pair.mutable_right_mask());
  const auto responses = Ask({pair, pair});
  ASSERT_EQ(responses.size(), 2u);
  for (const auto& response : responses) {
    ExpectKeypoints(response, Detect(images[0], masks[0]), Detect(images[1], masks[1]));
  }
}

// Pixels are allowed that are mixed from allowed ones alone, with whatever weight.
// An image with depths may have more than half of the pixels that a pair may have, and so may its mask.
TEST(PairMasks, MayBeAsLargeAsTheImage) {
  decode::Decoder decoder;
  LaneScratch scratch;
  const LaneContext context = {nullptr, &decoder, &scratch, /*max_pixels=*/1000};
  const Image image = Flat({30, 30}, 100), mask = MaskWithout(3, 4, 5, 6, image.shape());
  const std::vector<uint8_t> bytes(mask.row(0), mask.row(0) + mask.stride() * 30);
  const absl::Span<const uint8_t> piece(bytes);
  PairMaskSources own;
  own.left.kind = ImageSource::Kind::kRaw;
  own.left.raw = {PixelFormat::kGray8, mask.shape(), 30, static_cast<size_t>(mask.stride())};
  own.left.bytes = {&piece, 1};
  FrameJob job;
  ImagePairPixels pair;
  pair.left = image;
  ASSERT_EQ(PairMasks().Use(context, *PresetOptions("orb"), own, nullptr, nullptr, &pair, &job), absl::OkStatus());
  EXPECT_EQ(pair.left_mask.shape(), image.shape());

  pair.right = image;
  const absl::Status status = PairMasks().Use(context, *PresetOptions("orb"), own, nullptr, nullptr, &pair, &job);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), StartsWith("mask: "));
}

TEST(RectifyMaskTest, AllowsWhatIsMixedFromAllowedPixels) {
  const Camera camera = WideCamera();
  const auto to = RectifyPair(camera, camera, {Eigen::Matrix3d::Identity(), {-0.2, 0, 0}}, {});
  ASSERT_TRUE(to.ok()) << to.status();
  const RemapTable table = MakeRemapTable(camera, to->rectified_from_left, to->camera);
  const Image texture = Texture(kShape, 8);
  Image mask = Flat(kShape, 0), full = Flat(kShape, 0), remapped, rectified;
  for (int y = 0; y < kShape.height; ++y) {
    for (int x = 0; x < kShape.width; ++x) {
      mask.row(y)[x] = texture.row(y)[x] > 90 ? 1 : 0;  // any value but 0 is set
      full.row(y)[x] = mask.row(y)[x] != 0 ? 255 : 0;
    }
  }
  reference::Remap(full, table, &remapped);
  RectifyMask(mask, table, &rectified);
  ASSERT_EQ(rectified.shape(), remapped.shape());
  int allowed = 0, rounded = 0;
  for (int y = 0; y < rectified.height(); ++y) {
    for (int x = 0; x < rectified.width(); ++x) {
      if (rectified.row(y)[x] == 255) {
        ++allowed;
        EXPECT_EQ(remapped.row(y)[x], 255) << x << ", " << y;
      } else {
        EXPECT_EQ(rectified.row(y)[x], 0);
        rounded += remapped.row(y)[x] == 255 ? 1 : 0;  // a weight of 1/1024 or 2/1024 is rounded away
      }
    }
  }
  EXPECT_GT(allowed, 1000);
  EXPECT_LT(rounded, allowed / 50);
}

}  // namespace
}  // namespace glint::testing
