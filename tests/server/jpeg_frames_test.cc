// JPEG frames on lanes whose device decodes: who decodes what, and that no client sees a difference. The device is
// played by a CPU lane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "decode/decode.h"
#include "decode/jpeg_writer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

struct DeviceControl {
  JpegRun run;          // a fallback: what the device says
  absl::Status status;  // ... or how it fails
  int asked = 0;        // after the warm-up
};

// Of one server with one lane.
class DeviceLane final : public Lane {
 public:
  DeviceLane(std::unique_ptr<Lane> cpu, DeviceControl* control) : cpu_(std::move(cpu)), control_(control) {}

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    return cpu_->Run(options, image, mask, features, times);
  }
  bool decodes_jpeg() const override { return true; }
  absl::StatusOr<JpegRun> RunJpeg(const DetectorOptions& options, absl::Span<const uint8_t> file, Shape shape,
                                  const Pixels& mask, Features* features, StageTimes* times) override {
    ++control_->asked;
    if (!control_->status.ok()) return control_->status;
    if (control_->run.fallback != JpegFallback::kNone) return control_->run;
    image_.Resize(shape);
    absl::Status status = decoder_.DecodeInto(decode::Encoding::kJpeg, file, decode::DestinationIn(&image_));
    if (status.ok()) status = cpu_->Run(options, image_, mask, features, times);
    if (!status.ok()) return status;
    return control_->run;
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return cpu_->device(); }

 private:
  const std::unique_ptr<Lane> cpu_;
  DeviceControl* const control_;
  decode::Decoder decoder_;
  Image image_;
};

constexpr Shape kShape = {160, 120};
std::string File(int quality = 90, Shape shape = kShape) { return *decode::WriteJpeg(Texture(shape, 5), quality); }

v1::DetectRequest Request(const std::string& file) {
  v1::DetectRequest request;
  request.mutable_image()->mutable_encoded()->set_data(file);
  return request;
}

class JpegTest : public ::testing::Test {
 protected:
  JpegTest() : on_device_(Options(&control_)), on_cpu_(Options(nullptr)) {
    EXPECT_TRUE(on_device_->WaitUntilServing(absl::Seconds(10)));
    EXPECT_EQ(control_.asked, 1);
    control_.asked = 0;
  }

  static ServerOptions Options(DeviceControl* control) {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.max_image_pixels = kShape.pixels() + 100;
    if (control == nullptr) return options;
    options.create_lanes = [control](const LaneOptions& lanes) -> absl::StatusOr<LaneSet> {
      auto set = CreateLanes(lanes);
      if (set.ok()) set->lanes[0] = std::make_unique<DeviceLane>(std::move(set->lanes[0]), control);
      return set;
    };
    return options;
  }

  static std::pair<std::string, grpc::Status> Ask(TestServer* server, const v1::DetectRequest& request) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status status = server->stub()->Detect(&context, request, &response);
    if (status.ok()) {
      EXPECT_GT(response.features().x_size(), 0);
      EXPECT_GT(response.timings().decode_ns(), 0);
    }
    return {response.features().SerializeAsString(), status};
  }
  // Both servers give the same answer; whether it is a good one.
  bool ExpectSame(const v1::DetectRequest& request) {
    const auto wanted = Ask(&on_cpu_, request), found = Ask(&on_device_, request);
    EXPECT_EQ(found.first, wanted.first);
    EXPECT_EQ(found.second.error_code(), wanted.second.error_code());
    EXPECT_EQ(found.second.error_message(), wanted.second.error_message());
    return wanted.second.ok();
  }
  double Count(const std::string& name, const std::string& label) {
    return Sample(Http(on_device_->metrics_address(), "GET /metrics"), absl::StrCat(name, "{", label, "}"));
  }
  double ByGpu() { return Count("glint_jpegs_total", "decoder=\"gpu\""); }
  double ByCpu() { return Count("glint_jpegs_total", "decoder=\"cpu\""); }
  double Fallbacks(const std::string& reason) {
    return Count("glint_jpeg_fallbacks_total", absl::StrCat("reason=\"", reason, "\""));
  }

  DeviceControl control_;
  TestServer on_device_, on_cpu_;
};

TEST_F(JpegTest, TheDeviceDecodes) {
  v1::DetectRequest request = Request(File());
  EXPECT_TRUE(ExpectSame(request));
  SetGray(kShape.width, kShape.height, '\xff', request.mutable_mask());
  EXPECT_TRUE(ExpectSame(request));
  EXPECT_EQ(control_.asked, 2);
  EXPECT_EQ(ByGpu(), 2);
  EXPECT_EQ(ByCpu(), 0);
}

// By what the device says of a file the CPU decodes it.
TEST_F(JpegTest, TheCpuDecodesWhatTheDeviceDoesNot) {
  for (int i = 1; i < static_cast<int>(JpegFallback::kRegion); ++i) {
    control_.run.fallback = static_cast<JpegFallback>(i);
    EXPECT_TRUE(ExpectSame(Request(File())));
    EXPECT_EQ(Fallbacks(NameOf(control_.run.fallback)), 1);
    EXPECT_EQ(control_.asked, i);
    EXPECT_EQ(ByCpu(), i);
  }
  EXPECT_EQ(ByGpu(), 0);
}

TEST_F(JpegTest, DamagedFilesHaveTheErrorOfTheCpu) {
  control_.run.fallback = JpegFallback::kScan;
  const std::string file = File();
  EXPECT_FALSE(ExpectSame(Request(file.substr(0, file.size() / 2))));
  EXPECT_EQ(control_.asked, 1);
  EXPECT_EQ(Fallbacks("scan"), 1);
  EXPECT_EQ(ByCpu(), 0);
}

// A header that is wrong, a picture that is too large, a mask that does not fit or is damaged: as without a device, and
// in the same order.
TEST_F(JpegTest, TheDeviceIsNotAskedWhereThereIsAnError) {
  const std::string file = File(), damaged = file.substr(0, file.size() / 2);
  EXPECT_FALSE(ExpectSame(Request(file.substr(0, 40))));
  EXPECT_FALSE(ExpectSame(Request("no picture")));
  EXPECT_FALSE(ExpectSame(Request(File(90, {kShape.width + 1, kShape.height}))));
  for (const std::string& image : {file, damaged}) {
    v1::DetectRequest request = Request(image);
    SetGray(3, 4, 1, request.mutable_mask());
    EXPECT_FALSE(ExpectSame(request));
    request.mutable_mask()->mutable_encoded()->set_data(damaged);
    EXPECT_FALSE(ExpectSame(request));
  }
  EXPECT_EQ(control_.asked, 0);
  EXPECT_EQ(ByGpu(), 0);
}

TEST_F(JpegTest, RegionsAndLongFilesAreTheCpus) {
  v1::DetectRequest request = Request(File());
  request.mutable_region()->set_x(16);
  request.mutable_region()->set_width(100);
  request.mutable_region()->set_height(100);
  EXPECT_TRUE(ExpectSame(request));
  EXPECT_EQ(Fallbacks("region"), 1);
  request.mutable_region()->set_width(1000);
  EXPECT_FALSE(ExpectSame(request));

  std::string file = File();
  file.append(static_cast<size_t>(kShape.pixels()) + 101 - file.size(), '\0');  // padding
  EXPECT_TRUE(ExpectSame(Request(file)));
  EXPECT_EQ(Fallbacks("size"), 1);
  EXPECT_EQ(control_.asked, 0);
  file.pop_back();
  EXPECT_TRUE(ExpectSame(Request(file)));
  EXPECT_EQ(control_.asked, 1);
}

// ... which is the frame's, and not a reason to try otherwise.
TEST_F(JpegTest, DevicesFail) {
  control_.status = absl::InternalError("broken");
  const auto [features, status] = Ask(&on_device_, Request(File()));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("broken"));
  EXPECT_EQ(ByGpu() + ByCpu(), 0);
}

// Rows of blocks are restart intervals here, so the lane's threads share the file.
TEST(JpegLanes, ThreadsOfALaneShareAFile) {
  LaneOptions lanes;
  lanes.backend = Backend::kCpu;
  lanes.lanes = 1;
  EXPECT_EQ(CreateLanes(lanes)->lanes[0]->parallel(), nullptr);
  lanes.threads_per_lane = 3;
  const auto set = CreateLanes(lanes);
  ASSERT_TRUE(set.ok()) << set.status();
  Parallel* const parallel = set->lanes[0]->parallel();
  ASSERT_NE(parallel, nullptr);
  decode::Decoder decoder(parallel);
  const std::string file = File(90, {640, 480});
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  Image image({640, 480}), alone({640, 480});
  ASSERT_TRUE(decoder.DecodeInto(decode::Encoding::kJpeg, bytes, decode::DestinationIn(&image)).ok());
  EXPECT_EQ(decoder.shared_jpegs(), 1);
  ASSERT_TRUE(decode::Decoder().DecodeInto(decode::Encoding::kJpeg, bytes, decode::DestinationIn(&alone)).ok());
  for (int y = 0; y < 480; ++y) ASSERT_EQ(std::memcmp(image.row(y), alone.row(y), 640), 0) << y;

  std::string answers[2];
  for (const int threads : {1, 3}) {
    ServerOptions options = TestOptions();
    options.lanes.threads_per_lane = threads;
    TestServer server(options);
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status status = server.stub()->Detect(&context, Request(file), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_GT(response.features().x_size(), 0);
    answers[threads / 3] = response.features().SerializeAsString();
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST(JpegLanes, TheGpuIsNotToBeHadOnTheCpu) {
  LaneOptions options;
  options.backend = Backend::kCpu;
  options.lanes = 1;
  options.jpeg = JpegDecoding::kGpu;
  const auto set = CreateLanes(options);
  EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(set.status().message(), HasSubstr("jpeg"));
  options.jpeg = JpegDecoding::kAuto;
  EXPECT_TRUE(CreateLanes(options).ok());
}

}  // namespace
}  // namespace glint::testing
