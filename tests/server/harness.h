// A server in this process and a client for it, over a unix socket of its own, so that tests can run side by side.
#ifndef GLINT_TESTS_SERVER_HARNESS_H_
#define GLINT_TESTS_SERVER_HARNESS_H_

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glint/v1/envelope.pb.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "glint/v1/server.grpc.pb.h"
#include "server/app/server.h"
#include "tests/server/fake_lane.h"

namespace glint::testing {

inline std::string UniqueSocketPath() {
  static std::atomic<int> count{0};
  return absl::StrCat(::testing::TempDir(), "glint-", getpid(), "-", ++count, ".sock");
}

inline std::shared_ptr<grpc::Channel> Dial(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// One lane, no metrics page, a unix socket, room for 8K frames and for many streams and calls; the rest as by default.
inline ServerOptions TestOptions() {
  ServerOptions options;
  options.listen = {"unix:" + UniqueSocketPath()};
  options.metrics_listen = "";
  options.max_sessions_per_peer = kMaxSessionsCeiling;  // the clients of a test are one peer
  options.lanes.lanes = 1;
  options.lanes.backend = Backend::kCpu;
  options.lanes.max_image_pixels = 7680LL * 4320;
  options.max_features = kMaxFeatures;
  options.max_message_bytes = 34 << 20;
  options.max_pending_bytes = int64_t{1} << 29;
  options.max_sessions = options.max_detect_calls = 32;
  options.max_track_streams = 8;
  options.max_localize_streams = 4;
  return options;
}

// Polls, for states that nobody announces. False after ten seconds, which is no measurement but a hung test.
inline bool Eventually(const std::function<bool()>& condition) {
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  while (!condition()) {
    if (absl::Now() > give_up) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

// What the error of a frame is about is a path in the message, as far as programs see, and the text begins with it.
inline void ExpectAPath(const v1::FrameStatus& status) {
  ASSERT_TRUE(status.has_error()) << status.message();
  const std::string& field = status.error().metadata().at("field");
  EXPECT_THAT(field, ::testing::MatchesRegex("[a-z0-9_]+(\\[[0-9]+\\])?(\\.[a-z0-9_]+(\\[[0-9]+\\])?)*"));
  EXPECT_THAT(status.message(), ::testing::StartsWith(field + ": "));
}

class TestServer {
 public:
  explicit TestServer(ServerOptions options) {
    auto created = Server::Create(std::move(options));
    EXPECT_TRUE(created.ok()) << created.status();
    server_ = *std::move(created);
    const absl::Status started = server_->Start();
    EXPECT_TRUE(started.ok()) << started;
    channel_ = Dial(server_->addresses().at(0));
    stub_ = v1::FeatureDetection::NewStub(channel_);
    server_stub_ = v1::Server::NewStub(channel_);
  }
  // With fake lanes that `control` rules.
  TestServer(ServerOptions options, LaneControl* control) : TestServer(WithLanes(std::move(options), control)) {}

  Server* operator->() { return server_.get(); }
  v1::FeatureDetection::Stub* stub() { return stub_.get(); }
  v1::Server::Stub* server_stub() { return server_stub_.get(); }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

 private:
  static ServerOptions WithLanes(ServerOptions options, LaneControl* control) {
    options.create_lanes = FakeLanes(control);
    return options;
  }

  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::FeatureDetection::Stub> stub_;
  std::unique_ptr<v1::Server::Stub> server_stub_;
};

inline void SetGray(int width, int height, char value, v1::Image* image) {
  v1::RawImage* const raw = image->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY8);
  raw->set_width(static_cast<uint32_t>(width));
  raw->set_height(static_cast<uint32_t>(height));
  raw->mutable_data()->assign(static_cast<size_t>(width) * static_cast<size_t>(height), value);
}

inline v1::DetectRequest GrayRequest(int width = 64, int height = 48, char value = 7) {
  v1::DetectRequest request;
  SetGray(width, height, value, request.mutable_image());
  return request;
}

inline v1::DetectStreamRequest OptionsMessage() {
  v1::DetectStreamRequest message;
  message.mutable_options()->mutable_detector()->set_preset("orb");
  return message;
}

inline v1::DetectStreamRequest FrameMessage(uint64_t id, int width = 64, int height = 48, char value = 7) {
  v1::DetectStreamRequest message;
  message.mutable_frame()->set_frame_id(id);
  SetGray(width, height, value, message.mutable_frame()->mutable_image());
  return message;
}

// A stream of a client, with its context.
class TestStream {
 public:
  explicit TestStream(v1::FeatureDetection::Stub* stub) : stream_(stub->DetectStream(&context_)) {}

  bool Write(const v1::DetectStreamRequest& message) { return stream_->Write(message); }
  // The next reply; an empty one once the stream has ended.
  v1::DetectStreamResponse Read() {
    v1::DetectStreamResponse response;
    if (!std::exchange(has_headers_, true)) stream_->WaitForInitialMetadata();  // as client/stream.cc
    ended_ = !stream_->Read(&response);
    return response;
  }
  bool ended() const { return ended_; }
  void WritesDone() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> stream_;
  bool has_headers_ = false;
  bool ended_ = false;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_HARNESS_H_
