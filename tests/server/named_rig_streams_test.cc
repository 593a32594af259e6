// Streams that name their rig: both operations take a name, and answer as to the rig by value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/rig_wire.h"
#include "features/camera/stereo_rig.h"
#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/server/localize_client.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr Shape kImage = {320, 200};

// Kalibr's camchain.yaml; a baseline of 3 m is improbable.
constexpr char kChain[] = R"(cam0:
  camera_model: pinhole
  distortion_coeffs: [-0.28, 0.07, 0.0002, -0.0003]
  distortion_model: radtan
  intrinsics: [200, 201, 158.5, 103.25]
  resolution: [320, 200]
cam1:
  T_cn_cnm1:
  - [1.0, 0.0, 0.0, -3.0]
  - [0.0, 1.0, 0.0, 0.0]
  - [0.0, 0.0, 1.0, 0.0]
  - [0.0, 0.0, 0.0, 1.0]
  camera_model: pinhole
  distortion_coeffs: [-0.27, 0.06, -0.0001, 0.0002]
  distortion_model: radtan
  intrinsics: [199, 201, 163, 97]
  resolution: [320, 200]
)";

StereoRig RigOfChain() {
  StereoRig rig;
  rig.left = {CameraModel::kRadialTangential, kImage, 200, 201, 158.5, 103.25, {-0.28, 0.07, 0.0002, -0.0003}};
  rig.right = {CameraModel::kRadialTangential, kImage, 199, 201, 163, 97, {-0.27, 0.06, -0.0001, 0.0002}};
  rig.right_from_left.translation.x() = -3;
  return rig;
}

class NamedRigStreamsTest : public ::testing::Test {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::StereoStreamRequest, v1::StereoStreamResponse>;

  NamedRigStreamsTest() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/wide.yaml") << kChain;
    ServerOptions options = TestOptions();
    options.calibration_directory = folder_;
    server_ = std::make_unique<TestServer>(options);
    stub_ = v1::FeatureMatching::NewStub(server_->channel());
  }
  ~NamedRigStreamsTest() override { std::filesystem::remove_all(folder_); }

  static v1::StereoRig Named(const std::string& name) {
    v1::StereoRig rig;
    rig.set_name(name);
    return rig;
  }

  // The answer to one pair.
  grpc::Status Ask(const v1::StereoRig& rig, v1::StereoStreamResponse* response) {
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = stub_->StereoStream(&context);
    v1::StereoStreamRequest request;
    request.mutable_options()->mutable_detector()->set_preset("orb");
    request.mutable_options()->mutable_detector()->set_max_features(200);
    *request.mutable_options()->mutable_rig() = rig;
    stream->Write(request);
    const Image image = Texture(kImage, 5);
    for (v1::Image* proto : {request.mutable_pair()->mutable_left(), request.mutable_pair()->mutable_right()}) {
      SetGray(kImage.width, kImage.height, 0, proto);
      std::string* data = proto->mutable_raw()->mutable_data();
      data->clear();
      for (int y = 0; y < kImage.height; ++y) data->append(reinterpret_cast<const char*>(image.row(y)), kImage.width);
    }
    stream->Write(request);
    stream->WritesDone();
    stream->Read(response);
    return stream->Finish();
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "glint-rig-streams-", getpid());
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<v1::FeatureMatching::Stub> stub_;
};

TEST_F(NamedRigStreamsTest, AreAnsweredAsByValue) {
  ::testing::internal::CaptureStderr();
  v1::StereoStreamResponse named, by_value;
  grpc::Status status = Ask(Named("wide"), &named);
  EXPECT_TRUE(status.ok()) << status.error_message();
  v1::StereoRig rig;
  client::ToWire(RigOfChain(), &rig);
  status = Ask(rig, &by_value);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(named.result().left().x_size(), 50);
  EXPECT_EQ(named.result().SerializeAsString(), by_value.result().SerializeAsString());
  // The log has what is improbable.
  std::string log;
  EXPECT_TRUE(Eventually([&] {
    log += ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    return log.find("doubtful calibration") != std::string::npos;
  }));
  ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("warning doubtful calibration name=wide reason=\"cam0, cam1: a baseline of 3 m"));
}

TEST_F(NamedRigStreamsTest, EndWithWhatIsWrongWithTheName) {
  v1::StereoStreamResponse response;
  const grpc::Status status = Ask(Named("none"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "rig.name: there is no calibration \"none\"; this server has wide.yaml");
  v1::LocalizeStreamOptions localize;
  *localize.mutable_rig() = Named("none");
  EXPECT_EQ(LocalizeClient(server_->channel()).Refusal(localize), status.error_message());
}

}  // namespace
}  // namespace glint::testing
