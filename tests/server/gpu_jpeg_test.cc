// JPEG frames through a server whose lanes are a GPU's: the replies and errors are, byte for byte, those of
// libjpeg-turbo's luma, whoever decodes. Skips without a usable GPU and says why.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "decode/jpeg_writer.h"
#include "tests/cuda/jpeg_cases.h"
#include "tests/server/gpu_lanes.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using File = std::vector<uint8_t>;

v1::DetectRequest Request(const File& file) {
  v1::DetectRequest request;
  request.mutable_image()->mutable_encoded()->set_data(file.data(), file.size());
  return request;
}

class GpuJpeg : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
    gpu_ = std::make_unique<TestServer>(Options(Backend::kCuda, JpegDecoding::kGpu));
    mixed_ = std::make_unique<TestServer>(Options(Backend::kCuda, JpegDecoding::kCpu));
    cpu_ = std::make_unique<TestServer>(Options(Backend::kCpu, JpegDecoding::kAuto));
  }
  static ServerOptions Options(Backend backend, JpegDecoding jpeg) {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.backend = backend;
    options.lanes.jpeg = jpeg;
    return options;
  }

  static std::string Ask(TestServer* server, const v1::DetectRequest& request) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status status = server->stub()->Detect(&context, request, &response);
    if (!status.ok()) return absl::StrCat(status.error_code(), " ", status.error_message());
    return absl::StrCat("OK ", response.features().SerializeAsString());
  }
  // Whether the answer of all is a good one.
  bool ExpectSame(const v1::DetectRequest& request) {
    const std::string wanted = Ask(cpu_.get(), request);
    EXPECT_EQ(Ask(gpu_.get(), request), wanted);
    EXPECT_EQ(Ask(mixed_.get(), request), wanted);
    return wanted.substr(0, 3) == "OK ";
  }
  double Jpegs(const std::string& decoder) {
    return Sample(Http((*gpu_)->metrics_address(), "GET /metrics"),
                  absl::StrCat("glint_jpegs_total{decoder=\"", decoder, "\"}"));
  }

  std::unique_ptr<TestServer> gpu_, mixed_, cpu_;
};

TEST_F(GpuJpeg, PresetsAnswerAsOnTheCpu) {
  const std::string written = *decode::WriteJpeg(Texture({641, 479}, 3), 90);
  v1::DetectRequest request = Request(File(written.begin(), written.end()));
  int frames = 0;
  for (const std::string& preset : PresetNames()) {
    SCOPED_TRACE(preset);
    request.mutable_detector()->set_preset(preset);
    EXPECT_TRUE(ExpectSame(request));
    ++frames;
  }
  SetGray(641, 479, '\xff', request.mutable_mask());
  request.mutable_mask()->mutable_raw()->mutable_data()->replace(0, 641 * 200, 641 * 200, '\0');
  EXPECT_TRUE(ExpectSame(request));
  EXPECT_EQ(Jpegs("gpu"), frames + 1);
  EXPECT_EQ(Jpegs("cpu"), 0);
}

TEST_F(GpuJpeg, FilesOfEveryKindAndDamageAnswerAsOnTheCpu) {
  std::mt19937 random(4);
  int good = 0, bad = 0;
  for (int i = 0; i < cuda::CountFrom("GLINT_JPEG_CASES", 100); ++i) {
    cuda::JpegCase spec = cuda::RandomCase(&random, 300);
    spec.progressive = i % 10 == 0;
    SCOPED_TRACE(spec.Name());
    File file = cuda::WriteJpeg(spec);
    ExpectSame(Request(file)) ? ++good : ++bad;
    cuda::Damage(&random, &file);
    ExpectSame(Request(file)) ? ++good : ++bad;
  }
  EXPECT_GT(Jpegs("gpu"), good / 2);
  EXPECT_GT(Jpegs("cpu"), 0);
  EXPECT_GT(good, bad);
  EXPECT_GT(bad, 0);
}

}  // namespace
}  // namespace glint::testing
