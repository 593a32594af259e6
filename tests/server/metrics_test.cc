// The metrics page: what is on it, that it counts, and the pages beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "features/error.h"
#include "server/metrics/mirrored_counter.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() : server_(Options(), &control_) {}
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.queue_capacity = 9;
    options.lanes.lanes = 2;
    return options;
  }
  std::string Get(const std::string& path) { return Http(server_->metrics_address(), "GET " + path); }

  LaneControl control_;
  TestServer server_;
};

// Grey pixels are copied once between what gRPC received and what a lane works on, whatever they came through.
TEST(CopiesTest, OneForEachByteOfAFrameAndNoneOfSharedMemory) {
  ServerOptions options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  options.listen.push_back("127.0.0.1:0");
  options.shared_memory.enabled = true;
  TestServer server(options);
  constexpr int kWidth = 1920, kHeight = 1080, kFrames = 5;
  Memory memory(size_t{kWidth} * kHeight);
  HandoffClient client(server->addresses().at(0).substr(5) + kHandoffSuffix);
  v1::RegisterSharedMemoryRequest request;
  request.set_token(client.HandOver(memory));
  request.set_name("r");
  {
    grpc::ClientContext context;
    v1::RegisterSharedMemoryResponse response;
    ASSERT_TRUE(server.server_stub()->RegisterSharedMemory(&context, request, &response).ok());
  }
  v1::DetectStreamRequest shared;
  shared.mutable_frame()->mutable_image()->mutable_shared()->set_format(v1::PIXEL_FORMAT_GRAY8);
  shared.mutable_frame()->mutable_image()->mutable_shared()->set_width(kWidth);
  shared.mutable_frame()->mutable_image()->mutable_shared()->set_height(kHeight);
  shared.mutable_frame()->mutable_image()->mutable_shared()->set_region("r");
  struct Way {
    std::shared_ptr<grpc::Channel> channel;
    v1::DetectStreamRequest frame;
    double copied;  // of each of its bytes
  };
  const v1::DetectStreamRequest gray = FrameMessage(0, kWidth, kHeight);
  const auto tcp = Dial(server->addresses().at(1));
  for (const Way& way : {Way{server.channel(), gray, 1}, Way{tcp, gray, 1}, Way{server.channel(), shared, 0}}) {
    const auto copied = [&] {
      return Sample(Http(server->metrics_address(), "GET /metrics"), "glint_frame_copied_bytes_total");
    };
    const double before = copied();
    const auto stub = v1::FeatureDetection::NewStub(way.channel);
    TestStream stream(stub.get());
    stream.Write(OptionsMessage());
    for (int i = 0; i < kFrames; ++i) {
      stream.Write(way.frame);
      ASSERT_EQ(stream.Read().status().code(), 0);
    }
    const size_t bytes = way.frame.frame().image().raw().data().size();
    EXPECT_EQ(copied() - before, way.copied * kFrames * static_cast<double>(bytes));
  }
}

TEST_F(MetricsTest, HasEveryNameFromTheStart) {
  const std::string page = Get("/metrics");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  for (const char* name : {"grpc_server_started_total",
                           "grpc_server_handled_total",
                           "grpc_server_handling_seconds",
                           "grpc_server_msg_received_total",
                           "grpc_server_msg_sent_total",
                           "glint_frames_total",
                           "glint_frame_duration_seconds",
                           "glint_frames_dropped_total",
                           "glint_frames_in_flight",
                           "glint_pool_bytes",
                           "glint_pool_limit_bytes",
                           "glint_memory_bound_bytes",
                           "glint_log_lines_dropped_total",
                           "glint_traceparent_ignored_total",
                           "glint_device_lanes",
                           "glint_stage_duration_seconds",
                           "glint_keypoints_per_frame",
                           "glint_frame_bytes_total",
                           "glint_frame_copied_bytes_total",
                           "glint_jpegs_total",
                           "glint_jpeg_fallbacks_total",
                           "glint_queue_frames",
                           "glint_queue_capacity_frames",
                           "glint_sessions",
                           "glint_sessions_refused_total",
                           "glint_sessions_timed_out_total",
                           "glint_places_refused_total",
                           "glint_places_preempted_total",
                           "glint_lanes_stuck",
                           "glint_lanes",
                           "glint_lanes_busy",
                           "glint_build_info",
                           "process_cpu_seconds_total",
                           "process_resident_memory_bytes",
                           "process_virtual_memory_bytes",
                           "process_open_fds",
                           "process_max_fds",
                           "process_threads",
                           "process_start_time_seconds"}) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("# TYPE ", name, " ")));
    EXPECT_THAT(page, HasSubstr(absl::StrCat("# HELP ", name, " ")));
  }
  EXPECT_EQ(Sample(page, "glint_queue_capacity_frames"), 9);
  EXPECT_EQ(Sample(page, "glint_lanes"), 2);
  EXPECT_EQ(Sample(page, absl::StrCat("glint_build_info{backend=\"cpu\",device=\"a fake\",simd=\"NONE\",version=\"",
                                      ServerVersion(), "\"}")),
            1);
  EXPECT_GT(Sample(page, "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(Sample(page, "process_open_fds"), 3);
  EXPECT_NEAR(Sample(page, "process_start_time_seconds"), absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 3600);
}

TEST_F(MetricsTest, BucketsResolveFiftyMicrosecondsToOneSecond) {
  std::vector<double> bounds;
  const std::string start = "glint_frame_duration_seconds_bucket{operation=\"detect\",le=\"";
  for (const absl::string_view line : absl::StrSplit(Get("/metrics"), '\n')) {
    double bound = 0;
    if (absl::StartsWith(line, start) &&
        absl::SimpleAtod(line.substr(start.size(), line.find('"', start.size()) - start.size()), &bound)) {
      bounds.push_back(bound);
    }
  }
  ASSERT_GT(bounds.size(), 20u);
  EXPECT_LE(bounds.front(), 50e-6);
  for (size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i] > 50e-6 && bounds[i] <= 1.0) {
      EXPECT_LE(bounds[i] / bounds[i - 1], 1.55) << bounds[i];
    }
  }
}

TEST_F(MetricsTest, CountsCallsFramesAndBytes) {
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    server_.stub()->Detect(&context, i == 2 ? GrayRequest(0, 0) : GrayRequest(64, 48), &response);
  }
  {
    TestStream stream(server_.stub());
    stream.Write(OptionsMessage());
    stream.Write(FrameMessage(1, 10, 10));
    stream.Write(FrameMessage(2, 0, 0));
    stream.Read();
    stream.Read();
    EXPECT_EQ(Sample(Get("/metrics"), "glint_sessions"), 1);
    stream.WritesDone();
    stream.Finish();
  }
  ASSERT_TRUE(Eventually([&] { return server_->calls() == 0; }));
  const std::string page = Get("/metrics");
  const auto calls = [&](const char* metric, const char* labels) {
    return Sample(page, absl::StrCat(metric, "{", labels, "}"));
  };
  constexpr char kDetect[] = "grpc_method=\"Detect\",grpc_service=\"glint.v1.FeatureDetection\",grpc_type=\"unary\"";
  constexpr char kStream[] =
      "grpc_method=\"DetectStream\",grpc_service=\"glint.v1.FeatureDetection\",grpc_type=\"bidi_stream\"";
  EXPECT_EQ(calls("grpc_server_started_total", kDetect), 3);
  EXPECT_EQ(calls("grpc_server_started_total", kStream), 1);
  EXPECT_EQ(calls("grpc_server_handling_seconds_count", kDetect), 3);
  EXPECT_EQ(calls("grpc_server_msg_received_total", kStream), 3);
  EXPECT_EQ(calls("grpc_server_msg_sent_total", kStream), 2);
  EXPECT_EQ(calls("grpc_server_handled_total", absl::StrCat("grpc_code=\"OK\",", kDetect).c_str()), 2);
  EXPECT_EQ(calls("grpc_server_handled_total", absl::StrCat("grpc_code=\"INVALID_ARGUMENT\",", kDetect).c_str()), 1);
  EXPECT_EQ(calls("grpc_server_handled_total", absl::StrCat("grpc_code=\"OK\",", kStream).c_str()), 1);
  EXPECT_EQ(Sample(page, "glint_frames_total{operation=\"detect\",result=\"OK\"}"), 3);
  EXPECT_EQ(Sample(page, "glint_frames_total{operation=\"detect\",result=\"INVALID_ARGUMENT\"}"), 2);
  EXPECT_EQ(Sample(page, "glint_frame_duration_seconds_count{operation=\"detect\"}"), 5);
  EXPECT_EQ(Sample(page, "glint_stage_duration_seconds_count{stage=\"detect\"}"), 3);
  EXPECT_EQ(Sample(page, "glint_keypoints_per_frame_sum"), 3);
  EXPECT_EQ(Sample(page, "glint_frame_bytes_total{encoding=\"raw\"}"), 2 * 64 * 48 + 100);
  EXPECT_EQ(Sample(page, "glint_sessions"), 0);
}

TEST_F(MetricsTest, GpuMetricsAndAllocationsAreAbsentWhereNothingCountsThem) {
  const std::string page = Get("/metrics");
  EXPECT_THAT(page, ::testing::Not(HasSubstr("glint_gpu_")));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("glint_frame_path_allocations_total")));
}

TEST(MirroredCounterTest, PagesMadeAtTheSameTimeCountOnce) {
  std::atomic<int64_t> shown{0};
  MirroredCounter count([&shown](int64_t more) {
    absl::SleepFor(absl::Milliseconds(20));  // another page is made meanwhile
    shown += more;
  });
  std::vector<std::thread> pages;
  for (int t = 0; t < 4; ++t) pages.emplace_back([&count] { count.Update(1000); });
  for (std::thread& page : pages) page.join();
  EXPECT_EQ(shown, 1000);
  count.Update(900);  // read before the others
  count.Update(1001);
  EXPECT_EQ(shown, 1001);
}

TEST_F(MetricsTest, DropsDevicesAndErrorsAreCounted) {
  ASSERT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
  TestStream stream(server_.stub());
  v1::DetectStreamRequest options = OptionsMessage();
  options.mutable_options()->set_overload_policy(v1::OVERLOAD_POLICY_REJECT);
  options.mutable_options()->set_max_in_flight(1);
  stream.Write(options);
  control_.Hold(true);
  stream.Write(FrameMessage(1, 100, 100));
  control_.WaitUntilRunning(1);
  stream.Write(FrameMessage(2));
  EXPECT_TRUE(Eventually([&] { return Sample(Get("/metrics"), "glint_frames_in_flight") == 2; }));
  EXPECT_GT(Sample(Get("/metrics"), "glint_pool_bytes"), 100 * 100);  // the rejected one's are free
  EXPECT_LT(Sample(Get("/metrics"), "glint_pool_bytes"), 100 * 100 + 100);
  control_.Hold(false);
  stream.Read();
  stream.Read();
  absl::Status broken = absl::InternalError("an illegal memory access");
  broken.SetPayload(kDeviceErrorPayload, absl::Cord("cudaErrorIllegalAddress"));
  control_.Fail(broken);
  stream.Write(FrameMessage(3));
  stream.Read();
  const std::string page = Get("/metrics");
  EXPECT_EQ(Sample(page, "glint_frames_dropped_total{reason=\"rejected\"}"), 1);
  EXPECT_EQ(Sample(page, "glint_frames_dropped_total{reason=\"expired\"}"), 0);
  EXPECT_EQ(Sample(page, "glint_cuda_errors_total{code=\"cudaErrorIllegalAddress\"}"), 1);
  EXPECT_EQ(Sample(page, "glint_device_lanes{device=\"fake:0\"}"), 2);
  EXPECT_NEAR(Sample(page, "glint_last_device_frame_timestamp_seconds{device=\"fake:0\"}"),
              absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 60);
  EXPECT_TRUE(Eventually([&] { return Sample(Get("/metrics"), "glint_pool_bytes") == 0; }));
  EXPECT_EQ(Sample(page, "glint_pool_limit_bytes"), static_cast<double>(TestOptions().max_pending_bytes));
  EXPECT_EQ(Sample(page, "glint_memory_bound_bytes"), static_cast<double>(server_->memory_bound_bytes()));
}

TEST_F(MetricsTest, QueueAndBusyLanesAreSeen) {
  ASSERT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
  control_.Hold(true);
  TestStream stream(server_.stub());
  stream.Write(OptionsMessage());
  for (uint64_t id = 1; id <= 5; ++id) stream.Write(FrameMessage(id));
  control_.WaitUntilRunning(2);
  EXPECT_TRUE(Eventually([&] { return Sample(Get("/metrics"), "glint_queue_frames") == 3; }));
  EXPECT_EQ(Sample(Get("/metrics"), "glint_lanes_busy"), 2);
  control_.Hold(false);
  EXPECT_TRUE(Eventually([&] { return Sample(Get("/metrics"), "glint_lanes_busy") == 0; }));
  EXPECT_EQ(Sample(Get("/metrics"), "glint_queue_frames"), 0);
}

TEST_F(MetricsTest, ReadinessFollowsHealthAndOtherPathsAreNotFound) {
  ASSERT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
  EXPECT_THAT(Get("/readyz"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(Get("/healthz"), StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(Get("/"), StartsWith("HTTP/1.1 404 Not Found"));
  EXPECT_THAT(Get("/etc/passwd"), StartsWith("HTTP/1.1 404 Not Found"));
  EXPECT_THAT(Get("/../../etc/passwd"), ::testing::Not(HasSubstr("root:")));
  EXPECT_THAT(Http(server_->metrics_address(), "POST /metrics"), StartsWith("HTTP/1.1 405 Method Not Allowed"));
  EXPECT_TRUE(server_->Shutdown(absl::Seconds(10)).ok());
  EXPECT_THAT(Get("/readyz"), StartsWith("HTTP/1.1 503 Service Unavailable"));
  EXPECT_THAT(Get("/healthz"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(MetricsTest, APortInUseIsAnError) {
  ServerOptions options = Options();
  options.metrics_listen = server_->metrics_address();
  options.create_lanes = FakeLanes(&control_);
  auto second = Server::Create(options);
  ASSERT_TRUE(second.ok());
  const absl::Status status = (*second)->Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("metrics-listen: cannot listen on " + options.metrics_listen));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace glint::testing
