// Rays of keypoints, in calls and streams of detection and matching: those of the camera model, of keypoints that are
// the same without a camera.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "features/camera/camera.h"
#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Shape kShape = {320, 240};
constexpr double kK1 = -0.05, kK2 = -0.01;

// A fisheye lens whose model ends 105 pixels from the centre. The second camera is another one of the same size.
Camera Fisheye(int number = 0) {
  Camera camera;
  camera.model = CameraModel::kKannalaBrandt;
  camera.image = kShape;
  camera.fx = 80 + number;
  camera.fy = 78;
  camera.cx = 158.4;
  camera.cy = 121.7 - number;
  camera.lens = {kK1, kK2};
  return camera;
}

void Set(const Camera& camera, v1::Camera* proto) {
  proto->set_width(static_cast<uint32_t>(camera.image.width));
  proto->set_height(static_cast<uint32_t>(camera.image.height));
  proto->set_fx(camera.fx);
  proto->set_fy(camera.fy);
  proto->set_cx(camera.cx);
  proto->set_cy(camera.cy);
  proto->mutable_kannala_brandt()->set_k1(camera.lens[0]);
  proto->mutable_kannala_brandt()->set_k2(camera.lens[1]);
}

void SetImage(const Image& image, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(data->data() + y * image.width(), image.row(y), static_cast<size_t>(image.width()));
  }
}

v1::ImageFeatures WithoutRays(v1::ImageFeatures features) {
  features.clear_ray_x();
  features.clear_ray_y();
  features.clear_ray_z();
  return features;
}

// Rays are the model's to the last bit, and its formula leads from them back to the keypoints; beyond it they are 0.
void ExpectRays(const Camera& camera, const v1::ImageFeatures& features, int least_outside) {
  ASSERT_EQ(features.ray_x_size(), features.x_size());
  ASSERT_EQ(features.ray_y_size(), features.x_size());
  ASSERT_EQ(features.ray_z_size(), features.x_size());
  int inside = 0, outside = 0;
  for (int i = 0; i < features.x_size(); ++i) {
    const double x = features.ray_x(i), y = features.ray_y(i), z = features.ray_z(i);
    Eigen::Vector3d ray;
    if (!Unproject(camera, {features.x(i), features.y(i)}, &ray)) {
      ++outside;
      EXPECT_TRUE(x == 0 && y == 0 && z == 0);
      EXPECT_GT(std::hypot(features.x(i) - camera.cx, features.y(i) - camera.cy), 95);
      continue;
    }
    ++inside;
    EXPECT_EQ(features.ray_x(i), static_cast<float>(ray.x()));
    EXPECT_EQ(features.ray_y(i), static_cast<float>(ray.y()));
    EXPECT_EQ(features.ray_z(i), static_cast<float>(ray.z()));
    EXPECT_NEAR(x * x + y * y + z * z, 1, 1e-6);
    const double angle = std::atan2(std::hypot(x, y), z);
    const double g = angle * (1 + kK1 * angle * angle + kK2 * std::pow(angle, 4)) / std::hypot(x, y);
    EXPECT_NEAR(camera.fx * g * x + camera.cx, features.x(i), 1e-3);
    EXPECT_NEAR(camera.fy * g * y + camera.cy, features.y(i), 1e-3);
  }
  EXPECT_GT(inside, 20);
  EXPECT_GE(outside, least_outside);
}

v1::ImageFeatures Detect(TestServer* server, const v1::DetectRequest& request) {
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server->stub()->Detect(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.features();
}

// With a region, whose keypoints have positions in the whole image.
TEST(RaysTest, OfACallAndOfAStream) {
  TestServer server(TestOptions());
  for (const bool part : {false, true}) {
    v1::DetectRequest request;
    SetImage(Texture(kShape, 1), request.mutable_image());
    if (part) {
      request.mutable_region()->set_x(90);
      request.mutable_region()->set_y(40);
      request.mutable_region()->set_width(170);
      request.mutable_region()->set_height(150);
    }
    const v1::ImageFeatures without = Detect(&server, request);
    EXPECT_EQ(without.ray_x_size() + without.ray_y_size() + without.ray_z_size(), 0);
    Set(Fisheye(), request.mutable_camera());
    const v1::ImageFeatures of_call = Detect(&server, request);
    ExpectRays(Fisheye(), of_call, part ? 0 : 5);
    EXPECT_EQ(WithoutRays(of_call).SerializeAsString(), without.SerializeAsString());

    TestStream stream(server.stub());
    v1::DetectStreamRequest options;
    Set(Fisheye(), options.mutable_options()->mutable_camera());
    ASSERT_TRUE(stream.Write(options));
    v1::DetectStreamRequest frame;
    *frame.mutable_frame()->mutable_image() = request.image();
    if (part) *frame.mutable_frame()->mutable_region() = request.region();
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(stream.Write(frame));
      EXPECT_EQ(stream.Read().features().SerializeAsString(), of_call.SerializeAsString());
    }
    // A picture without keypoints has no rays, and none of the last one's.
    SetGray(kShape.width, kShape.height, 7, frame.mutable_frame()->mutable_image());
    ASSERT_TRUE(stream.Write(frame));
    const v1::DetectStreamResponse empty = stream.Read();
    EXPECT_EQ(empty.status().code(), 0) << empty.status().message();
    EXPECT_EQ(empty.features().x_size() + empty.features().ray_x_size(), 0);
    stream.WritesDone();
    EXPECT_TRUE(stream.Finish().ok());
  }
}

// What counts is the whole image, not the region.
TEST(RaysTest, AnImageOfAnotherSizeIsAnErrorOfItsFrame) {
  TestServer server(TestOptions());
  TestStream stream(server.stub());
  v1::DetectStreamRequest options = OptionsMessage();
  Set(Fisheye(), options.mutable_options()->mutable_camera());
  ASSERT_TRUE(stream.Write(options));
  v1::DetectStreamRequest frame = FrameMessage(1, 400, 300);
  frame.mutable_frame()->mutable_region()->set_width(kShape.width);
  frame.mutable_frame()->mutable_region()->set_height(kShape.height);
  ASSERT_TRUE(stream.Write(frame));
  const v1::DetectStreamResponse wrong = stream.Read();
  EXPECT_EQ(wrong.status().code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(wrong.status().message(), "image: 400x300 pixels, but its camera has 320x240");
  ExpectAPath(wrong.status());
  ASSERT_TRUE(stream.Write(FrameMessage(2, kShape.width, kShape.height)));
  EXPECT_EQ(stream.Read().status().code(), 0);

  v1::DetectRequest request = GrayRequest();
  Set(Fisheye(), request.mutable_camera());
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server.stub()->Detect(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "image: 64x48 pixels, but its camera has 320x240");
}

TEST(RaysTest, ABadCameraIsNamed) {
  TestServer server(TestOptions());
  const auto ends = [&](const v1::Camera& camera, const std::string& with) {
    v1::DetectRequest request = GrayRequest(kShape.width, kShape.height);
    *request.mutable_camera() = camera;
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status of_call = server.stub()->Detect(&context, request, &response);
    EXPECT_EQ(of_call.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(of_call.error_message(), StartsWith(with));
    TestStream stream(server.stub());
    v1::DetectStreamRequest options = OptionsMessage();
    *options.mutable_options()->mutable_camera() = camera;
    ASSERT_TRUE(stream.Write(options));
    stream.Read();
    const grpc::Status of_stream = stream.Finish();
    EXPECT_EQ(of_stream.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(of_stream.error_message(), StartsWith(with));
  };
  v1::Camera camera;
  Set(Fisheye(), &camera);
  camera.set_fx(31);
  ends(camera, "camera.fx: 31 is not in 32..3200");
  Set(Fisheye(), &camera);
  camera.mutable_kannala_brandt()->set_k1(std::nan(""));
  ends(camera, "camera.kannala_brandt.k1: ");
  ends(v1::Camera(), "camera.width: 0 is not in 1..");
  // Of a call a camera is short, whatever is in it.
  v1::DetectRequest request = GrayRequest();
  request.mutable_camera()
      ->GetReflection()
      ->MutableUnknownFields(request.mutable_camera())
      ->AddLengthDelimited(99)
      ->append(5000, 'x');
  grpc::ClientContext context;
  v1::DetectResponse response;
  EXPECT_THAT(server.stub()->Detect(&context, request, &response).error_message(),
              HasSubstr("bytes are more than 4096"));
}

class MatchRaysTest : public ::testing::Test {
 protected:
  MatchRaysTest() {
    SetImage(Texture(kShape, 1), pair_.mutable_query()->mutable_image());
    SetImage(Texture(kShape, 2), pair_.mutable_train()->mutable_image());
  }
  // The answer of a call, and of a stream, which is the same.
  v1::MatchResult Match(bool query, bool train) {
    v1::MatchRequest request;
    v1::MatchStreamRequest first, next;
    *request.mutable_query() = pair_.query();
    *request.mutable_train() = pair_.train();
    *next.mutable_pair() = pair_;
    first.mutable_options();
    if (query) Set(Fisheye(), request.mutable_query_camera());
    if (train) Set(Fisheye(9), request.mutable_train_camera());
    if (query) Set(Fisheye(), first.mutable_options()->mutable_query_camera());
    if (train) Set(Fisheye(9), first.mutable_options()->mutable_train_camera());
    grpc::ClientContext context, stream_context;
    v1::MatchResponse response;
    status_ = stub_->Match(&context, request, &response);
    const auto stream = stub_->MatchStream(&stream_context);
    EXPECT_TRUE(stream->Write(first) && stream->Write(next));
    v1::MatchStreamResponse streamed;
    EXPECT_TRUE(stream->Read(&streamed));
    EXPECT_EQ(streamed.status().message(), status_.error_message());
    EXPECT_EQ(streamed.status().code(), status_.error_code());
    EXPECT_EQ(streamed.result().SerializeAsString(), response.result().SerializeAsString());
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response.result();
  }

  TestServer server_{TestOptions()};
  std::unique_ptr<v1::FeatureMatching::Stub> stub_ = v1::FeatureMatching::NewStub(server_.channel());
  v1::MatchPair pair_;
  grpc::Status status_;
};

TEST_F(MatchRaysTest, AreOfTheSidesThatHaveACamera) {
  const v1::MatchResult without = Match(false, false);
  EXPECT_EQ(without.query().ray_x_size() + without.train().ray_x_size(), 0);
  for (const auto& [query, train] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    v1::MatchResult with = Match(query, train);
    ASSERT_TRUE(status_.ok()) << status_.error_message();
    if (query) ExpectRays(Fisheye(), with.query(), 5);
    if (train) ExpectRays(Fisheye(9), with.train(), 5);
    EXPECT_EQ(with.query().ray_x_size() > 0, query);
    EXPECT_EQ(with.train().ray_x_size() > 0, train);
    *with.mutable_query() = WithoutRays(with.query());
    *with.mutable_train() = WithoutRays(with.train());
    EXPECT_EQ(with.SerializeAsString(), without.SerializeAsString());
  }
}

// Beside descriptors, which have no rays, one image is detected on its own.
TEST_F(MatchRaysTest, OfAnImageBesideDescriptors) {
  pair_.mutable_train()->mutable_descriptors()->set_data(std::string(320, 'd'));
  pair_.mutable_train()->mutable_descriptors()->set_descriptor_bytes(32);
  const v1::MatchResult found = Match(true, true);
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  ExpectRays(Fisheye(), found.query(), 5);
  EXPECT_FALSE(found.has_train());
}

TEST_F(MatchRaysTest, AnImageOfAnotherSizeIsAnError) {
  SetImage(Texture({200, 160}, 2), pair_.mutable_train()->mutable_image());
  Match(true, false);
  EXPECT_TRUE(status_.ok()) << status_.error_message();
  Match(false, true);
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_.error_message(), "train.image: 200x160 pixels, but its camera has 320x240");
}

TEST_F(MatchRaysTest, ABadCameraIsNamed) {
  v1::MatchRequest request;
  *request.mutable_query() = pair_.query();
  *request.mutable_train() = pair_.train();
  Set(Fisheye(), request.mutable_query_camera());
  Set(Fisheye(), request.mutable_train_camera());
  request.mutable_train_camera()->mutable_radial_tangential()->set_k1(std::nan(""));
  grpc::ClientContext context;
  v1::MatchResponse response;
  EXPECT_THAT(stub_->Match(&context, request, &response).error_message(),
              StartsWith("train_camera.radial_tangential.k1: "));
  v1::MatchStreamRequest first;
  Set(Fisheye(), first.mutable_options()->mutable_query_camera());
  first.mutable_options()->mutable_query_camera()->set_cx(-1);
  grpc::ClientContext stream_context;
  const auto stream = stub_->MatchStream(&stream_context);
  ASSERT_TRUE(stream->Write(first));
  v1::MatchStreamResponse nothing;
  EXPECT_FALSE(stream->Read(&nothing));
  EXPECT_THAT(stream->Finish().error_message(), StartsWith("query_camera.cx: -1 is not in 0..320"));
}

}  // namespace
}  // namespace glint::testing
