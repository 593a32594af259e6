// What any Glint server does, whoever made it: this suite knows the contract in proto/glint/v1 and an address, nothing
// else. GLINT_BLACKBOX_ADDRESS names the server ("host:port" or "unix:PATH"); without it one is started.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/server.grpc.pb.h"
#include "tests/blackbox/server_process.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using Stream = grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>;

class BlackboxTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* address = std::getenv("GLINT_BLACKBOX_ADDRESS");
    if (address == nullptr) {
      server_ = std::make_unique<ServerProcess>(std::vector<std::string>{"--max-image-pixels=8294400"});
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(address != nullptr ? address : server_->address(),
                                         grpc::InsecureChannelCredentials(), arguments);
    ASSERT_TRUE(channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20)));
  }
  static void TearDownTestSuite() {
    channel_.reset();
    server_.reset();
  }

  // A picture with corners: a lattice of discs of many brightnesses.
  static v1::Image Picture(uint32_t width = 320, uint32_t height = 240) {
    v1::Image image;
    v1::RawImage* const raw = image.mutable_raw();
    raw->set_format(v1::PIXEL_FORMAT_GRAY8);
    raw->set_width(width);
    raw->set_height(height);
    std::string* const data = raw->mutable_data();
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        const uint32_t cell = (x / 16) * 31 + (y / 16) * 57;
        const int dx = static_cast<int>(x % 16) - 8, dy = static_cast<int>(y % 16) - 8;
        data->push_back(static_cast<char>(dx * dx + dy * dy < 30 ? 80 + cell % 170 : cell % 40));
      }
    }
    return image;
  }

  grpc::Status Detect(const v1::DetectRequest& request, v1::DetectResponse* response) {
    grpc::ClientContext context;
    return stub_->Detect(&context, request, response);
  }
  static v1::GetServerInfoResponse MustGetInfo() {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    EXPECT_TRUE(v1::Server::NewStub(channel_)->GetServerInfo(&context, {}, &info).ok());
    return info;
  }
  v1::ImageFeatures MustDetect(const v1::Image& image, const v1::DetectorOptions& options = {}) {
    v1::DetectRequest request;
    *request.mutable_image() = image;
    *request.mutable_detector() = options;
    v1::DetectResponse response;
    const grpc::Status status = Detect(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.features();
  }

  static std::unique_ptr<ServerProcess> server_;
  static std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::FeatureDetection::Stub> stub_ = v1::FeatureDetection::NewStub(channel_);
};
std::unique_ptr<ServerProcess> BlackboxTest::server_;
std::shared_ptr<grpc::Channel> BlackboxTest::channel_;

void ExpectWellFormed(const v1::ImageFeatures& f) {
  const int n = f.x_size();
  EXPECT_EQ(f.y_size(), n);
  EXPECT_EQ(f.size_size(), n);
  EXPECT_EQ(f.angle_size(), n);
  EXPECT_EQ(f.response_size(), n);
  EXPECT_EQ(f.octave_size(), n);
  EXPECT_EQ(f.descriptors().size(), static_cast<size_t>(n * f.descriptor_bytes()));
  for (int i = 1; i < n; ++i) {
    EXPECT_LE(f.octave(i - 1), f.octave(i)) << i;
    if (f.octave(i - 1) == f.octave(i)) {
      EXPECT_GE(f.response(i - 1), f.response(i)) << i;
    }
  }
}

TEST_F(BlackboxTest, SaysWhatItIs) {
  const v1::GetServerInfoResponse info = MustGetInfo();
  EXPECT_FALSE(info.version().empty());
  EXPECT_THAT(info.backend(), ::testing::AnyOf("cpu", "cuda"));
  EXPECT_GE(info.lanes(), 1);
  EXPECT_THAT(info.presets(), ::testing::IsSupersetOf({"orb", "oriented_fast"}));
  EXPECT_GT(info.limits().max_image_pixels(), 0);
}

TEST_F(BlackboxTest, FindsFeaturesInTheDocumentedOrder) {
  const v1::ImageFeatures features = MustDetect(Picture());
  EXPECT_GT(features.x_size(), 100);
  EXPECT_EQ(features.descriptor_bytes(), 32);
  ExpectWellFormed(features);
  for (int i = 0; i < features.x_size(); ++i) {
    EXPECT_GE(features.x(i), 0);
    EXPECT_LT(features.x(i), 320);
    EXPECT_GE(features.angle(i), 0);
    EXPECT_LT(features.angle(i), 360);
    EXPECT_GE(features.octave(i), 0);
    EXPECT_LT(features.octave(i), 8);
  }
}

TEST_F(BlackboxTest, TheSamePictureHasTheSameFeatures) {
  const v1::ImageFeatures first = MustDetect(Picture());
  // Colour with equal channels is its own grey, and the stride is no part of the picture.
  v1::Image colour = Picture();
  std::string rgb;
  for (const char pixel : colour.raw().data()) rgb.append(3, pixel);
  colour.mutable_raw()->set_data(rgb);
  colour.mutable_raw()->set_format(v1::PIXEL_FORMAT_RGB8);
  v1::Image strided = Picture();
  std::string rows;
  for (size_t y = 0; y < 240; ++y) rows += strided.raw().data().substr(y * 320, 320) + std::string(13, '\xaa');
  strided.mutable_raw()->set_data(rows);
  strided.mutable_raw()->set_stride(333);
  for (const v1::Image& image : {Picture(), colour, strided}) {
    EXPECT_EQ(MustDetect(image).SerializeAsString(), first.SerializeAsString());
  }
}

TEST_F(BlackboxTest, OptionsCount) {
  v1::DetectorOptions options;
  options.set_max_features(20);
  options.set_levels(2);
  options.set_descriptor_kind(v1::DESCRIPTOR_NONE);
  options.set_orientation(v1::ORIENTATION_NONE);
  const v1::ImageFeatures features = MustDetect(Picture(), options);
  ExpectWellFormed(features);
  EXPECT_GT(features.x_size(), 0);
  EXPECT_EQ(features.descriptors().size(), 0u);
  for (int i = 0; i < features.x_size(); ++i) {
    EXPECT_EQ(features.angle(i), -1);
    EXPECT_LT(features.octave(i), 2);
  }
  v1::DetectorOptions oriented_fast;
  oriented_fast.set_preset("oriented_fast");
  EXPECT_GT(MustDetect(Picture(), oriented_fast).x_size(), 0);
}

TEST_F(BlackboxTest, AMaskHidesWhatItCovers) {
  v1::DetectRequest request;
  *request.mutable_image() = Picture();
  *request.mutable_mask() = Picture();
  std::string* const mask = request.mutable_mask()->mutable_raw()->mutable_data();
  for (size_t i = 0; i < mask->size(); ++i) (*mask)[i] = i % 320 < 160 ? '\xff' : 0;
  v1::DetectResponse response;
  ASSERT_TRUE(Detect(request, &response).ok());
  EXPECT_GT(response.features().x_size(), 0);
  for (const float x : response.features().x()) EXPECT_LT(x, 162);  // levels above 0 round
}

TEST_F(BlackboxTest, ErrorsNameFieldValueAndRange) {
  v1::DetectRequest request;
  *request.mutable_image() = Picture();
  request.mutable_detector()->set_levels(99);
  v1::DetectResponse response;
  grpc::Status status = Detect(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "detector.levels: 99 is not in 1..12");
  request.clear_detector();
  request.mutable_image()->mutable_raw()->set_width(0);
  status = Detect(request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "image.raw.width: 0 is not in 1..16384");
}

TEST_F(BlackboxTest, AStreamAnswersEveryFrameInOrder) {
  const std::string expected = MustDetect(Picture()).SerializeAsString();
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->DetectStream(&context);
  v1::DetectStreamRequest message;
  message.mutable_options();
  ASSERT_TRUE(stream->Write(message));
  constexpr uint64_t kFrames = 30;
  std::thread writer([&] {
    for (uint64_t id = 0; id < kFrames; ++id) {
      v1::DetectStreamRequest frame;
      frame.mutable_frame()->set_frame_id(1000 + id);
      if (id % 10 != 9) *frame.mutable_frame()->mutable_image() = Picture();
      ASSERT_TRUE(stream->Write(frame));
    }
    stream->WritesDone();
  });
  v1::DetectStreamResponse reply;
  stream->WaitForInitialMetadata();  // as client/stream.cc
  for (uint64_t id = 0; id < kFrames; ++id) {
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_EQ(reply.frame_id(), 1000 + id);
    EXPECT_GT(reply.timings().total_ns(), 0);
    if (id % 10 != 9) {
      EXPECT_EQ(reply.status().code(), 0);
      EXPECT_EQ(reply.features().SerializeAsString(), expected);
    } else {
      EXPECT_EQ(reply.status().code(), static_cast<int>(StatusCode::INVALID_ARGUMENT));
      EXPECT_EQ(reply.status().message(), "image: neither raw nor encoded nor shared is set");
    }
  }
  writer.join();
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(BlackboxTest, AStreamBeginsWithItsOptions) {
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->DetectStream(&context);
  v1::DetectStreamRequest frame;
  *frame.mutable_frame()->mutable_image() = Picture();
  stream->Write(frame);
  v1::DetectStreamResponse reply;
  stream->WaitForInitialMetadata();
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::FAILED_PRECONDITION);
}

// 4K frames, if the server allows that.
TEST_F(BlackboxTest, FramesOfAllPixelsThatItAllowsPass) {
  const v1::ServerLimits limits = MustGetInfo().limits();
  constexpr int64_t kWidth = 3840;
  const int64_t height = std::min(int64_t{2160}, limits.max_image_pixels() / kWidth);
  EXPECT_GT(MustDetect(Picture(kWidth, static_cast<uint32_t>(height))).x_size(), 100);
}

TEST_F(BlackboxTest, AnErrorSaysItsFieldToPrograms) {
  v1::DetectRequest request;
  *request.mutable_image() = Picture();
  request.mutable_detector()->set_levels(99);
  v1::DetectResponse response;
  v1::StatusDetails details;
  ASSERT_TRUE(details.ParseFromString(Detect(request, &response).error_details()));
  ASSERT_EQ(details.details_size(), 1);
  v1::ErrorInfo error;
  ASSERT_TRUE(error.ParseFromString(details.details(0).value()));
  EXPECT_EQ(error.reason(), "OUT_OF_RANGE");
  EXPECT_EQ(error.metadata().at("field"), "detector.levels");
}

}  // namespace
}  // namespace glint::testing
