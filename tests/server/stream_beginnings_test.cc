// Streams that begin with new rigs, whose rectification takes long to compute, and a small frame after them.
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "features/camera/stereo_rig.h"
#include "glint/v1/matching.grpc.pb.h"
#include "tests/server/harness.h"
#include "tests/server/raw_wall.h"

namespace glint::testing {
namespace {

v1::StereoStreamOptions OptionsOfRig(double focal_length) {
  constexpr Shape kImage = {3200, 2400};
  v1::StereoStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  v1::StereoRig* const rig = options.mutable_rig();
  // A lens that takes long.
  const Camera camera = {CameraModel::kThinPrism,
                         kImage,
                         focal_length,
                         focal_length,
                         1600,
                         1200,
                         {-0.05, 0.02, 2e-4, -1e-4, 0, 0, 0, 0, 0.002, 0.001, -0.003, 0.0005, 0.08, -0.05}};
  RigidTransform right_from_left;
  right_from_left.rotation = Eigen::AngleAxisd(0.02, Eigen::Vector3d::UnitY()).toRotationMatrix();
  right_from_left.translation = {-0.2, 0.004, 0.003};
  SetCamera(camera, rig->mutable_left());
  SetCamera(camera, rig->mutable_right());
  SetTransform(right_from_left, rig->mutable_right_from_left());
  return options;
}

// The small frame is read after the rigs, since all go by one connection, and is answered before most of them are
// computed.
TEST(StreamBeginnings, ASmallFrameDoesNotWaitForOthersRigs) {
  constexpr int kStreams = 30;
  ServerOptions options = TestOptions();
  options.max_rectification_bytes = int64_t{1} << 30;
  TestServer server(options);
  const auto matching = v1::FeatureMatching::NewStub(server.channel());
  std::vector<grpc::ClientContext> contexts(kStreams);
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::StereoStreamRequest, v1::StereoStreamResponse>>> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(matching->StereoStream(&contexts[i]));
    v1::StereoStreamRequest first;
    *first.mutable_options() = OptionsOfRig(1800 + i);
    ASSERT_TRUE(streams.back()->Write(first));
    ASSERT_TRUE(streams.back()->WritesDone());
  }
  std::atomic<int> begun{0};
  std::vector<std::thread> waiting;
  for (const auto& stream : streams) {
    waiting.emplace_back([&] {
      EXPECT_TRUE(stream->Finish().ok());
      ++begun;
    });
  }
  grpc::ClientContext context;
  v1::DetectResponse response;
  EXPECT_TRUE(server.stub()->Detect(&context, GrayRequest(), &response).ok());
  EXPECT_LT(begun, kStreams / 2);
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(begun, kStreams);
}

}  // namespace
}  // namespace glint::testing
