// Who may call: tokens, users of unix sockets, rules for methods, and their revocation while streams are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "client/client.h"
#include "server/rpc/canary.h"
#include "tests/server/access_client.h"
#include "tests/server/http_page.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AccessTest : public ::testing::Test {
 protected:
  // A server on a unix socket and on TCP.
  void Start(const std::string& text, const std::function<void(ServerOptions*)>& change = nullptr) {
    file_ = std::make_unique<TestAccessFile>(text);
    ServerOptions options = TestOptions();
    options.listen.push_back("127.0.0.1:0");
    options.metrics_listen = "127.0.0.1:0";
    options.access_file = file_->path();
    if (change != nullptr) change(&options);
    server_ = std::make_unique<TestServer>(std::move(options), &control_);
    ASSERT_TRUE((*server_)->WaitUntilServing(absl::Seconds(30)));
  }
  std::string unix_address() { return (*server_)->addresses().at(0); }
  std::string tcp_address() { return (*server_)->addresses().at(1); }
  template <typename Service = v1::FeatureDetection>
  std::unique_ptr<typename Service::Stub> As(const std::string& token) {
    return DialAs<Service>(tcp_address(), token);
  }
  double Metric(const std::string& name) { return Sample(Http((*server_)->metrics_address(), "GET /metrics"), name); }

  LaneControl control_;
  std::unique_ptr<TestAccessFile> file_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(AccessTest, OnlyTokensOfTheFileOpen) {
  Start(TokenLine("camera"));
  EXPECT_TRUE(GetInfo(As<v1::Server>("camera's").get()).ok());
  const grpc::Status wrong = GetInfo(As<v1::Server>("thief's").get());
  EXPECT_EQ(wrong.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(wrong.error_message(), "authorization: this token is not valid, or not any more");
  const grpc::Status none = GetInfo(As<v1::Server>("").get());
  EXPECT_EQ(none.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(none.error_message(), "authorization: missing; this server wants a bearer token or a certificate");
  for (const char* header : {"Basic abc", "Bearer ", "Bearer", ""}) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", header);
    v1::GetServerInfoResponse response;
    EXPECT_EQ(As<v1::Server>("")->GetServerInfo(&context, {}, &response).error_message(),
              "authorization: is not \"Bearer TOKEN\"")
        << header;
  }
  grpc::ClientContext twice;
  for (int i = 0; i < 2; ++i) twice.AddMetadata("authorization", "Bearer camera's");
  v1::GetServerInfoResponse response;
  EXPECT_EQ(As<v1::Server>("")->GetServerInfo(&twice, {}, &response).error_message(),
            "authorization: is there more than once");
  EXPECT_EQ(Metric("glint_access_refused_total{reason=\"unauthenticated\"}"), 7);
  EXPECT_EQ(Metric("glint_access_identities"), 1);
}

TEST_F(AccessTest, EveryMethodButHealthIsGuarded) {
  Start(TokenLine("camera"));
  const auto stranger = As("");
  const auto admin = As<v1::Server>("");
  grpc::ClientContext detect, add, remove, reflect;
  v1::DetectResponse found;
  EXPECT_EQ(stranger->Detect(&detect, GrayRequest(), &found).error_code(), StatusCode::UNAUTHENTICATED);
  v1::RegisterSharedMemoryResponse added;
  EXPECT_EQ(admin->RegisterSharedMemory(&add, {}, &added).error_code(), StatusCode::UNAUTHENTICATED);
  v1::UnregisterSharedMemoryResponse removed;
  EXPECT_EQ(admin->UnregisterSharedMemory(&remove, {}, &removed).error_code(), StatusCode::UNAUTHENTICATED);
  TestStream stream(stranger.get());
  stream.Read();
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stream.Finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ((*server_)->sessions(), 0);

  // Health is for probes, which have no credentials; a wrong one does no harm there.
  const auto probe = client::Client::Connect(tcp_address());
  ASSERT_TRUE(probe.ok());
  EXPECT_EQ(*probe->CheckHealth(), client::Health::kServing);
  client::ClientOptions wrong;
  wrong.token = "thief's";
  EXPECT_EQ(*client::Client::Connect(tcp_address(), wrong)->CheckHealth(), client::Health::kServing);
  // So is the server's own canary.
  Canary canary((*server_)->InProcessChannel());
  EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::OkStatus());
}

TEST_F(AccessTest, TheClientLibraryShowsItsTokenInEveryCall) {
  Start(TokenLine("camera"), [](ServerOptions* options) { options->shared_memory.enabled = true; });
  client::ClientOptions options;
  options.token = "camera's";
  const auto client = client::Client::Connect(unix_address(), options);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(client->GetServerInfo().ok());
  const Image image(64, 48);
  EXPECT_TRUE(client->Detect(DetectorOptions(), image.view()).ok());
  EXPECT_TRUE(client->ShareMemory({}).ok());
  std::atomic<int> answers{0};
  auto stream = client->OpenStream({}, [&](const client::FrameResult&) { ++answers; });
  ASSERT_TRUE(stream.ok());
  EXPECT_TRUE((*stream)->Write(1, image.view()).ok());
  EXPECT_EQ((*stream)->Finish(), absl::OkStatus());
  EXPECT_EQ(answers, 1);
  for (const std::string& bad : {std::string("a b"), std::string("a\n"), std::string(5000, 'a')}) {
    options.token = bad;
    EXPECT_EQ(client::Client::Connect(unix_address(), options).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(AccessTest, RulesSayWhichMethodsAnIdentityMayCall) {
  Start(absl::StrCat("viewer may=GetServerInfo token=", HexDigest("viewer's"), "\nanonymous may=Detect\n"));
  EXPECT_TRUE(GetInfo(As<v1::Server>("viewer's").get()).ok());
  TestStream stream(As("viewer's").get());
  stream.Read();
  const grpc::Status refused = stream.Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(), "method: viewer may not call DetectStream");
  EXPECT_EQ(GetInfo(As<v1::Server>("").get()).error_message(), "method: anonymous may not call GetServerInfo");
  grpc::ClientContext context;
  v1::DetectResponse found;
  EXPECT_TRUE(As("")->Detect(&context, GrayRequest(), &found).ok());
  EXPECT_EQ(Metric("glint_access_refused_total{reason=\"permission_denied\"}"), 2);
}

TEST_F(AccessTest, UsersOfUnixSocketsAreKnownByTheKernel) {
  Start(absl::StrCat("me uid=", getuid(), "\n", TokenLine("camera")),
        [](ServerOptions* options) { options->shared_memory.enabled = true; });
  EXPECT_TRUE(GetInfo(server_->server_stub()).ok());
  EXPECT_EQ(GetInfo(As<v1::Server>("").get()).error_code(), StatusCode::UNAUTHENTICATED);  // by TCP nobody has a user
  const auto client = client::Client::Connect(unix_address());
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(client->ShareMemory({}).ok());

  file_->Write(absl::StrCat("other uid=", getuid() + 1, "\n", TokenLine("camera")));
  ASSERT_TRUE((*server_)->ReloadAccess().ok());
  const grpc::Status refused = GetInfo(server_->server_stub());
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(),
            absl::StrCat("user: ", getuid(), " is not allowed here, or not any more, without a token"));
  EXPECT_TRUE(GetInfo(DialAs<v1::Server>(unix_address(), "camera's").get()).ok());
  client::ClientOptions options;
  options.token = "camera's";
  EXPECT_THAT(client::Client::Connect(unix_address(), options)->ShareMemory({}).status().message(),
              HasSubstr("user: may not hand over memory (--access-file)"));
}

// Connections that the server accepts itself: many at once, and the end of the server while they are open.
TEST_F(AccessTest, ManyConnectionsOfAUnixSocketWork) {
  Start(absl::StrCat("me uid=", getuid(), "\n"));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<v1::FeatureDetection::Stub>> stubs;
    std::vector<std::unique_ptr<TestStream>> streams;
    for (int i = 0; i < 20; ++i) stubs.push_back(DialAs(unix_address(), ""));
    for (const auto& stub : stubs) streams.push_back(OpenStream(stub.get()));
    for (const auto& stream : streams) EXPECT_FALSE(stream->ended());
    streams.clear();
    ASSERT_TRUE(Eventually([&] { return (*server_)->sessions() == 0; }));
  }
  const auto open = OpenStream(server_->stub());
  EXPECT_TRUE((*server_)->Shutdown(absl::Seconds(10)).ok());
  EXPECT_NE(access(unix_address().substr(5).c_str(), F_OK), 0);  // the socket is gone
}

// ---- Reloading.

TEST_F(AccessTest, AChangedFileIsReadAndABadOneIsNot) {
  Start(TokenLine("camera"));
  file_->Write(TokenLine("camera") + TokenLine("robot"));
  EXPECT_TRUE(Eventually([&] { return GetInfo(As<v1::Server>("robot's").get()).ok(); }));
  EXPECT_EQ(Metric("glint_access_reloads_total{result=\"ok\"}"), 1);
  file_->Write("robot token=oops\n");
  EXPECT_TRUE(Eventually([&] { return Metric("glint_access_reloads_total{result=\"error\"}") == 1; }));
  EXPECT_TRUE(GetInfo(As<v1::Server>("camera's").get()).ok());
  EXPECT_THAT((*server_)->ReloadAccess().message(), HasSubstr(":1: token: is not the SHA-256 of a token"));
  EXPECT_EQ(Metric("glint_access_identities"), 2);
}

TEST_F(AccessTest, AServerDoesNotBeginWithABadFile) {
  TestAccessFile file("camera\n");
  ServerOptions options = TestOptions();
  options.access_file = file.path();
  options.create_lanes = FakeLanes(&control_);
  auto server = Server::Create(options);
  ASSERT_TRUE(server.ok());
  EXPECT_THAT((*server)->Start().message(), HasSubstr(file.path() + ":1: camera: has none of token"));
}

// A client that streams on and counts what it lacks.
class SteadyClient {
 public:
  explicit SteadyClient(std::unique_ptr<v1::FeatureDetection::Stub> stub)
      : stub_(std::move(stub)), stream_(stub_.get()), thread_([this] { Run(); }) {}
  ~SteadyClient() { Stop(); }
  int answered() const { return answered_; }
  // OK if each frame had its answer.
  grpc::Status Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return end_;
  }

 private:
  void Run() {
    if (!stream_.Write(OptionsMessage())) return;
    for (uint64_t id = 1; !stop_; ++id) {
      if (!stream_.Write(FrameMessage(id))) break;
      const v1::DetectStreamResponse reply = stream_.Read();
      if (stream_.ended() || reply.frame_id() != id || !reply.has_features()) break;
      ++answered_;
    }
    const bool lost = !stop_;
    stream_.WritesDone();
    end_ = stream_.Finish();
    if (lost) end_ = grpc::Status(StatusCode::DATA_LOSS, "a frame was lost: " + end_.error_message());
  }

  const std::unique_ptr<v1::FeatureDetection::Stub> stub_;
  TestStream stream_;
  std::atomic<bool> stop_{false};
  std::atomic<int> answered_{0};
  grpc::Status end_;
  std::thread thread_;
};

TEST_F(AccessTest, ARevokedTokenEndsItsStreamAndNoOther) {
  Start(TokenLine("camera") + TokenLine("thief"));
  SteadyClient good(As("camera's"));
  const auto stub = As("thief's");
  const auto bad = OpenStream(stub.get());
  ASSERT_FALSE(bad->ended());
  ASSERT_TRUE(Eventually([&] { return good.answered() > 0; }));

  file_->Write(TokenLine("camera"));
  const absl::Time reloaded = absl::Now();
  ASSERT_TRUE((*server_)->ReloadAccess().ok());
  bad->Read();
  RecordProperty("seconds_to_end_of_stream", absl::FormatDuration(absl::Now() - reloaded));
  EXPECT_TRUE(bad->ended());
  const grpc::Status end = bad->Finish();
  EXPECT_EQ(end.error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(end.error_message(), "authorization: this token is not valid, or not any more");
  EXPECT_EQ(GetInfo(As<v1::Server>("thief's").get()).error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Metric("glint_access_revoked_total"), 1);

  const int before = good.answered();
  EXPECT_TRUE(Eventually([&] { return good.answered() > before; }));
  const grpc::Status status = good.Stop();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(AccessTest, AMethodThatIsTakenAwayEndsItsStreams) {
  Start(TokenLine("camera"));
  const auto stub = As("camera's");
  const auto stream = OpenStream(stub.get());
  file_->Write(absl::StrCat("camera may=Detect token=", HexDigest("camera's"), "\n"));
  stream->Read();  // the file is followed without a signal, too
  EXPECT_TRUE(stream->ended());
  const grpc::Status end = stream->Finish();
  EXPECT_EQ(end.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(end.error_message(), "method: camera may not call DetectStream");
}

// Frames that wait are answered by why, and not worked on.
TEST_F(AccessTest, FramesThatWaitAreNotWorkedOnOnceTheirStreamIsRevoked) {
  Start(TokenLine("camera") + TokenLine("thief"));
  const auto stub = As("thief's");
  const auto stream = OpenStream(stub.get());
  const int runs = control_.runs();
  control_.Hold(true);
  for (uint64_t id = 2; id <= 4; ++id) ASSERT_TRUE(stream->Write(FrameMessage(id)));
  control_.WaitUntilRunning(1);
  ASSERT_TRUE(Eventually([&] { return (*server_)->frames_in_flight() == 3; }));
  file_->Write(TokenLine("camera"));
  ASSERT_TRUE((*server_)->ReloadAccess().ok());
  control_.Hold(false);
  EXPECT_EQ(stream->Read().status().message(), "authorization: this token is not valid, or not any more");
  for (uint64_t id = 3; id <= 4; ++id) {
    const v1::DetectStreamResponse reply = stream->Read();
    EXPECT_EQ(reply.frame_id(), id);
    EXPECT_EQ(reply.status().code(), StatusCode::UNAUTHENTICATED);
  }
  stream->Read();
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(control_.runs(), runs + 1);
}

// Whatever lanes and clients do: a stream that cannot end well is cut off, as is a call of Detect.
TEST_F(AccessTest, ARevokedStreamEndsThoughItsFrameIsStuckOnALane) {
  Start(TokenLine("camera") + TokenLine("thief"));
  const auto stub = As("thief's");
  const auto stream = OpenStream(stub.get());
  control_.Hold(true);
  ASSERT_TRUE(stream->Write(FrameMessage(2)));
  std::thread caller([&] {
    grpc::ClientContext context;
    v1::DetectResponse response;
    EXPECT_EQ(stub->Detect(&context, GrayRequest(), &response).error_code(), StatusCode::CANCELLED);
  });
  ASSERT_TRUE(Eventually([&] { return (*server_)->frames_in_flight() == 2; }));
  control_.WaitUntilRunning(1);
  file_->Write(TokenLine("camera"));
  const absl::Time reloaded = absl::Now();
  ASSERT_TRUE((*server_)->ReloadAccess().ok());
  stream->Read();
  RecordProperty("seconds_to_end_of_stream", absl::FormatDuration(absl::Now() - reloaded));
  EXPECT_TRUE(stream->ended());
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  caller.join();
  EXPECT_EQ(Metric("glint_access_revoked_total"), 2);
  control_.Hold(false);
  EXPECT_TRUE(Eventually([&] { return (*server_)->calls() == 0 && (*server_)->frames_in_flight() == 0; }));
}

TEST_F(AccessTest, AServerStopsWhileItReloads) {
  Start(TokenLine("camera") + TokenLine("thief"));
  SteadyClient good(As("camera's"));
  std::atomic<bool> stop{false};
  std::thread operators([&] {
    for (int i = 0; !stop; ++i) {
      file_->Write(TokenLine("camera") + (i % 2 == 0 ? "" : TokenLine("thief")));
      EXPECT_TRUE((*server_)->ReloadAccess().ok());
    }
  });
  std::thread thief([&] {
    const auto stub = As("thief's");
    while (!stop) OpenStream(stub.get());
  });
  ASSERT_TRUE(Eventually([&] { return good.answered() > 50; }));
  const grpc::Status status = good.Stop();
  EXPECT_TRUE(status.ok()) << status.error_message();
  stop = true;
  operators.join();
  thief.join();
  EXPECT_TRUE((*server_)->Shutdown(absl::Seconds(10)).ok());
}

// ---- Plaintext.

std::string StartUpLog(bool allow) {
  ::testing::internal::CaptureStderr();
  {
    LaneControl control;
    ServerOptions options = TestOptions();
    options.listen = {"0.0.0.0:0", "127.0.0.1:0"};
    options.allow_plaintext = allow;
    TestServer server(options, &control);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(PlaintextTest, IsWarnedOf) {
  EXPECT_THAT(StartUpLog(false),
              AllOf(HasSubstr("warning NOT ENCRYPTED listen=0.0.0.0:"), Not(HasSubstr("listen=127"))));
  EXPECT_EQ(StartUpLog(true), "");
}

}  // namespace
}  // namespace glint::testing
