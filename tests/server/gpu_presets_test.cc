// Every preset through a server whose lanes are a GPU's: the replies are, byte for byte, those of the CPU. Skips
// without a usable GPU and says why.
#include <gtest/gtest.h>

#include "features/options.h"
#include "tests/server/gpu_lanes.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

std::string Ask(Backend backend, const v1::DetectRequest& request) {
  ServerOptions options = TestOptions();
  options.lanes.backend = backend;
  TestServer server(options);
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server.stub()->Detect(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(response.features().x_size(), 0);
  return response.features().SerializeAsString();
}

TEST(GpuPresets, AnswerAsOnTheCpu) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  const Image picture = Texture({641, 479}, 3);
  v1::DetectRequest request;
  SetGray(picture.width(), picture.height(), 0, request.mutable_image());
  std::string* const data = request.mutable_image()->mutable_raw()->mutable_data();
  for (int y = 0; y < picture.height(); ++y) {
    data->replace(static_cast<size_t>(y) * picture.width(), picture.width(),
                  reinterpret_cast<const char*>(picture.row(y)), picture.width());
  }
  for (const std::string& preset : PresetNames()) {
    SCOPED_TRACE(preset);
    request.mutable_detector()->set_preset(preset);
    EXPECT_EQ(Ask(Backend::kCuda, request), Ask(Backend::kCpu, request));
  }
}

}  // namespace
}  // namespace glint::testing
