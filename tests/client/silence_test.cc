// What a client does when answers do not come: keepalive, timeouts, patience, cancelling; and after fork().
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "absl/time/clock.h"
#include "client/client.h"
#include "client/resilient_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/client/silent_server.h"
#include "tests/support/images.h"
#include "tests/support/status.h"

namespace glint::client {
namespace {

using ::glint::testing::Flat;
using ::testing::HasSubstr;

const Image kImage = Flat({64, 64}, 1);

// Reads frames and answers none.
grpc::Status AnswerNothing(FakeServer::Stream* stream) {
  v1::DetectStreamRequest request;
  while (stream->Read(&request)) {
  }
  return grpc::Status::OK;
}

TEST(SilenceTest, KeepaliveEndsCallsAndStreamsOfASilentConnection) {
  const SilentServer server;
  ClientOptions options;
  options.keepalive_time = absl::Seconds(5);
  options.keepalive_timeout = absl::Milliseconds(500);
  const auto client = Client::Connect(server.address(), options);
  ASSERT_TRUE(client.ok()) << client.status();
  auto call =
      std::async(std::launch::async, [&] { return client->Detect({}, kImage, {}, absl::InfiniteDuration()).status(); });
  auto stream = client->OpenStream({}, nullptr);
  ASSERT_TRUE(stream.ok()) << stream.status();
  absl::Status written;
  while (written.ok()) written = (*stream)->Write(0, kImage);  // waits for an answer
  EXPECT_TRUE(absl::IsUnavailable(written)) << written;
  EXPECT_TRUE(absl::IsUnavailable((*stream)->Finish()));
  EXPECT_TRUE(absl::IsUnavailable(call.get()));
}

TEST(SilenceTest, KeepaliveHasARange) {
  ClientOptions options;
  options.keepalive_time = absl::Seconds(1);
  EXPECT_EQ(Client::Connect("127.0.0.1:1", options).status().message(), "keepalive_time: 1s is not in 5s..24h");
  options.keepalive_time = absl::Hours(24);
  options.keepalive_timeout = absl::InfiniteDuration();
  EXPECT_EQ(Client::Connect("127.0.0.1:1", options).status().message(), "keepalive_timeout: inf is not in 100ms..24h");
}

TEST(SilenceTest, CallsHaveADeadlineByDefault) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse*) { return grpc::Status::OK; };
  const Client client = server.Connect();
  ASSERT_TRUE(client.Detect({}, kImage).ok());
  EXPECT_GT(server.detect_deadline(), kDefaultCallTimeout / 2);
  EXPECT_LT(server.detect_deadline(), 2 * kDefaultCallTimeout);
  ASSERT_TRUE(client.Detect({}, kImage, {}, absl::InfiniteDuration()).ok());
  EXPECT_GT(server.detect_deadline(), absl::Hours(24));
}

TEST(SilenceTest, ATimeoutIsTheWaitForAnAnswer) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  StreamOptions options;
  options.timeout = absl::Seconds(1);
  const absl::Duration longer = absl::Milliseconds(1300);
  std::atomic<int> answers{0};
  const auto stream = client.OpenStream(options, [&](const FrameResult&) {
    if (++answers == 1) absl::SleepFor(longer);  // time of the caller
  });
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (uint64_t id = 0; id < 3; ++id) {
    ASSERT_TRUE((*stream)->Write(id, kImage).ok());
    while (answers < static_cast<int>(id + 1)) absl::SleepFor(absl::Milliseconds(5));
    absl::SleepFor(longer);  // nothing is unanswered
  }
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(answers, 3);
}

TEST(SilenceTest, AStreamWithoutAnAnswerEndsAtItsTimeout) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerNothing(stream); };
  const Client client = server.Connect();
  StreamOptions options;
  options.timeout = absl::Milliseconds(200);
  const auto stream = client.OpenStream(options, nullptr);
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Write(0, kImage).ok());
  EXPECT_EQ((*stream)->Finish(), absl::DeadlineExceededError("no answer from the server for 200ms"));
}

// gRPC's write to a socket that takes no more is not ended by cancelling the call.
TEST(SilenceTest, AStreamEndsWhoseSocketTakesNoMore) {
  const SilentServer server(SilentServer::Kind::kReadsNothing);
  const Image large = Flat({4096, 4096}, 1);
  {
    const auto client = Client::Connect(server.address());
    ASSERT_TRUE(client.ok()) << client.status();
    StreamOptions options;
    options.timeout = absl::Milliseconds(300);
    auto stream = client->OpenStream(options, nullptr);
    ASSERT_TRUE(stream.ok()) << stream.status();
    absl::Status written;
    while (written.ok()) written = (*stream)->Write(0, large);
    EXPECT_EQ(written, absl::DeadlineExceededError("no answer from the server for 300ms"));
    EXPECT_EQ((*stream)->Finish(), written);
  }
  const auto client = Client::Connect(server.address());
  ASSERT_TRUE(client.ok()) << client.status();
  auto stream = client->OpenStream({}, nullptr);
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::thread cancel([&] {
    absl::SleepFor(absl::Milliseconds(300));
    client->Cancel();
  });
  absl::Status written;
  while (written.ok()) written = (*stream)->Write(0, large);
  EXPECT_TRUE(absl::IsCancelled(written)) << written;
  cancel.join();
}

TEST(SilenceTest, PatienceCountsFromTheLastAnswer) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    ++streams;
    return AnswerNothing(stream);
  };
  const Client client = server.Connect();
  RetryOptions retry;
  retry.patience = absl::Milliseconds(300);
  ResilientStream stream(&client, {}, retry, nullptr);
  absl::Status status;
  for (uint64_t id = 0; status.ok(); ++id) status = stream.Write(id, kImage);  // waits for an answer
  EXPECT_EQ(status, absl::DeadlineExceededError("no frame was answered for 300ms"));
  EXPECT_EQ(stream.Finish(), status);
  EXPECT_EQ(streams, 1);
}

TEST(SilenceTest, AStreamThatIsSilentIsFollowedByAnother) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    return ++streams == 1 ? AnswerNothing(stream) : AnswerFrames(stream);
  };
  const Client client = server.Connect();
  StreamOptions options;
  options.timeout = absl::Seconds(1);
  std::atomic<uint64_t> answers{0};
  ResilientStream stream(&client, options, {}, [&](const FrameResult& result) {
    EXPECT_EQ(result.frame_id, answers);
    ++answers;
  });
  for (uint64_t id = 0; id < 20; ++id) ASSERT_TRUE(stream.Write(id, kImage).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(answers, 20u);
  EXPECT_GE(streams, 2);
}

TEST(SilenceTest, ABreakThatIsNoticedLateIsNoLackOfPatience) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    if (++streams > 1) return AnswerFrames(stream);
    v1::DetectStreamRequest request;
    for (int i = 0; i < 2; ++i) stream->Read(&request);
    return grpc::Status{grpc::StatusCode::UNAVAILABLE, "gone"};
  };
  const Client client = server.Connect();
  RetryOptions retry;
  retry.patience = absl::Seconds(2);
  std::atomic<int> answers{0};
  ResilientStream stream(&client, {}, retry, [&](const FrameResult&) { ++answers; });
  ASSERT_TRUE(stream.Write(0, kImage).ok());
  absl::SleepFor(retry.patience + absl::Milliseconds(300));  // as between the pictures of a slow camera
  EXPECT_TRUE(stream.Write(1, kImage).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(answers, 2);
}

TEST(SilenceTest, CancelEndsAllCallsAndStreams) {
  const SilentServer server;
  const auto client = Client::Connect(server.address());
  ASSERT_TRUE(client.ok()) << client.status();
  auto call = std::async(std::launch::async, [&] { return client->Detect({}, kImage).status(); });
  auto stream = client->OpenStream({}, nullptr);
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Write(0, kImage).ok());
  while (server.received() < 2 * 64 * 64) absl::SleepFor(absl::Milliseconds(5));
  client->Cancel();
  EXPECT_TRUE(absl::IsCancelled((*stream)->Finish()));
  EXPECT_TRUE(absl::IsCancelled(call.get()));
  EXPECT_TRUE(absl::IsCancelled(client->GetServerInfo().status()));
  EXPECT_TRUE(absl::IsCancelled(client->CheckHealth().status()));
}

TEST(SilenceTest, ConnectingEndsWhenAsked) {
  const SilentServer server(SilentServer::Kind::kNotConnected);
  ClientOptions options;
  options.connect_timeout = absl::InfiniteDuration();
  std::atomic<int> asked{0};
  options.stop = [&] { return ++asked == 3; };
  EXPECT_TRUE(absl::IsCancelled(Client::Connect(server.address(), options).status()));
}

TEST(SilenceTest, AClientIsOfTheProcessThatConnectedIt) {
  FakeServer server;
  server.on_detect = [](const v1::DetectRequest&, v1::DetectResponse*) { return grpc::Status::OK; };
  const Client client = server.Connect();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string said;
    for (const absl::Status& status :
         {client.Detect({}, kImage).status(), client.OpenStream({}, nullptr).status(), client.GetServerInfo().status(),
          client.CheckHealth().status(), Client::Connect(server.address()).status()}) {
      said += status.ToString() + "\n";
    }
    _exit(write(pipe_ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(pipe_ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) said.append(buffer, static_cast<size_t>(n));
  close(pipe_ends[0]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string ids = absl::StrCat("FAILED_PRECONDITION: client: gRPC's threads are those of process ", getpid(),
                                       ", and this is process ", child, ", after fork(); ");
  const std::string used = ids + "connect a client in each process\n";
  EXPECT_EQ(said, used + used + used + used + ids + "fork before the first client is connected\n");
  EXPECT_TRUE(client.Detect({}, kImage).ok());
}

}  // namespace
}  // namespace glint::client
