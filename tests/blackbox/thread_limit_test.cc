// A server that may have few threads, as by a container's limit of processes, or descriptors: it says what it lacks, or
// serves.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/localization.grpc.pb.h"
#include "tests/blackbox/server_process.h"
#include "tests/support/one_thread.h"

namespace glint::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kLocalizeStreams = 4;
constexpr int kCannotBeTried = 126;  // and 127: the other user may not run the binary

const std::vector<std::string> kFlags = {"--lanes=2", "--metrics-listen=127.0.0.1:0", "--max-localize-streams=4",
                                         "--max-sessions=8", "--max-sessions-per-peer=8"};

// A stream that has been accepted and stays open.
class LocalizeStream {
 public:
  explicit LocalizeStream(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::Localization::NewStub(channel)), stream_(stub_->LocalizeStream(&context_)) {
    v1::LocalizeStreamRequest first;
    v1::StereoCamera* const camera = first.mutable_options()->mutable_camera();
    camera->set_width(640);
    camera->set_height(480);
    camera->set_focal_length(400);
    camera->set_centre_x(320);
    camera->set_centre_y(240);
    camera->set_baseline(0.2);
    stream_->Write(first);
  }
  ~LocalizeStream() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Localization::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LocalizeStreamRequest, v1::LocalizeStreamResponse>> stream_;
};

grpc::Status Detect(const std::shared_ptr<grpc::Channel>& channel) {
  v1::DetectRequest request;
  v1::RawImage* const raw = request.mutable_image()->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(64);
  raw->set_height(64);
  raw->mutable_data()->resize(64 * 64, '\x40');
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::DetectResponse response;
  return v1::FeatureDetection::NewStub(channel)->Detect(&context, request, &response);
}

// A server that has no descriptor for a connection does not say that it serves.
TEST(DescriptorLimitTest, ItServesOrSaysWhatItLacks) {
  int refused = 0;
  for (rlim_t most = 8; most <= 64; most += 4) {  // with four the loader finds no library
    ServerProcess server(kFlags, [most] {
      const rlimit limit = {most, most};
      return setrlimit(RLIMIT_NOFILE, &limit) == 0;
    });
    if (server.address().empty()) {
      EXPECT_EQ(server.Join(), 1) << most << " descriptors: " << server.LogToEnd();
      EXPECT_THAT(server.LogToEnd(), HasSubstr(absl::StrCat("RLIMIT_NOFILE is ", most)));
      ++refused;
      continue;
    }
    const auto channel = grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials());
    const grpc::Status status = Detect(channel);
    EXPECT_TRUE(status.ok()) << most << " descriptors: " << status.error_message();
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Join(), 0) << most << " descriptors: " << server.LogToEnd();
  }
  EXPECT_GT(refused, 0);
}

// With the fewest threads that it serves with, streams do not end it.
TEST(ThreadLimitTest, ItServesOrSaysWhatItLacks) {
  int refused = 0;
  for (rlim_t threads = 1; threads < 200; threads += threads < 8 ? 1 : 3) {
    ServerProcess server(kFlags, [threads] { return LimitThreads(threads); });
    if (server.address().empty()) {
      const int code = server.Join();
      if (code == kCannotBeTried || code == kCannotBeTried + 1) GTEST_SKIP() << "another user cannot run the server";
      EXPECT_EQ(code, 1) << threads << " threads: " << server.LogToEnd();
      EXPECT_THAT(server.LogToEnd(), AnyOf(HasSubstr("RLIMIT_NPROC"), HasSubstr("pids.max"))) << threads << " threads";
      ++refused;
      continue;
    }
    if (refused == 0) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
    const auto channel = grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials());
    {
      std::vector<std::unique_ptr<LocalizeStream>> streams;
      for (int i = 0; i < kLocalizeStreams; ++i) streams.push_back(std::make_unique<LocalizeStream>(channel));
      for (int i = 0; i < 3; ++i) {
        const grpc::Status status = Detect(channel);
        EXPECT_TRUE(status.ok()) << threads << " threads: " << status.error_message();
      }
    }
    server.Signal(SIGTERM);
    EXPECT_EQ(server.Join(), 0) << threads << " threads: " << server.LogToEnd();
    return;
  }
  // Root's other user has no other threads; the limit of a user of many is not found here.
  EXPECT_NE(geteuid(), 0u) << "it serves with none of these limits";
}

}  // namespace
}  // namespace glint::testing
