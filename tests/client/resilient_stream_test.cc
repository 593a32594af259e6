// A stream that outlives its servers: each frame is delivered once, in order, whatever breaks.
#include "client/resilient_stream.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::Flat;

RetryOptions Impatient() {
  RetryOptions retry;
  retry.pause = absl::Milliseconds(1);
  retry.max_pause = absl::Milliseconds(20);
  return retry;
}

// What was delivered. Complains at once about a frame that is not the next one.
class Delivered {
 public:
  void Add(const FrameResult& result) {
    EXPECT_EQ(result.frame_id, next_) << "lost, twice, or out of order";
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_GT(result.detection.features.count(), 0u);
    next_ = result.frame_id + 1;
  }
  uint64_t count() const { return next_; }

 private:
  std::atomic<uint64_t> next_{0};
};

// Reads frames like AnswerFrames() does, answers the first `answers`, takes `more` without an answer, and breaks.
grpc::Status AnswerSome(FakeServer::Stream* stream, int answers, int more) {
  v1::DetectStreamRequest request;
  if (!stream->Read(&request)) return grpc::Status::CANCELLED;
  for (int i = 0; i < answers + more; ++i) {
    if (!stream->Read(&request)) return grpc::Status::OK;
    if (i >= answers) continue;
    v1::DetectStreamResponse response;
    SetKeypoints(1, response.mutable_features());
    response.set_frame_id(request.frame().frame_id());
    stream->Write(response);
  }
  return {grpc::StatusCode::UNAVAILABLE, "gone"};
}

TEST(ResilientStream, SendsAgainWhatABrokenStreamLeftUnanswered) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    const int n = streams++;
    return AnswerSome(stream, n % 5, n % 3 + 1);  // some streams answer nothing at all
  };
  const Client client = server.Connect();
  Delivered delivered;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  for (uint64_t id = 0; id < 100; ++id) ASSERT_TRUE(stream.Write(id, Flat({8, 8}, 1)).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), 100u);
  EXPECT_GE(streams, 40);
  EXPECT_EQ(stream.reopened() + 1, streams);
}

TEST(ResilientStream, SendsEachFrameWithItsOwnBytes) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    const bool last = ++streams == 4;
    v1::DetectStreamRequest request;
    if (!stream->Read(&request)) return grpc::Status::CANCELLED;
    for (int i = 0; last || i < 6; ++i) {
      if (!stream->Read(&request)) return grpc::Status::OK;
      const v1::DetectFrame& frame = request.frame();
      EXPECT_EQ(frame.image().raw().data(), std::string(12, static_cast<char>(frame.frame_id())));
      if (!last) continue;
      v1::DetectStreamResponse response;
      SetKeypoints(1, response.mutable_features());
      response.set_frame_id(frame.frame_id());
      stream->Write(response);
    }
    return grpc::Status{grpc::StatusCode::INTERNAL, "broken"};
  };
  const Client client = server.Connect();
  Delivered delivered;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  for (uint64_t id = 0; id < 30; ++id) {
    // Gone when the call returns, and with a stride.
    const Image image = Flat({4, 3}, static_cast<uint8_t>(id));
    ASSERT_TRUE(stream.Write(id, image).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), 30u);
}

TEST(ResilientStream, OutlivesAServerThatIsKilledAndComesBack) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  Delivered delivered;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  uint64_t id = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(stream.Write(id++, Flat({8, 8}, 1)).ok());
    server.Stop();
    std::thread back([&] {
      absl::SleepFor(absl::Milliseconds(50));
      server.Start();
    });
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(stream.Write(id++, Flat({8, 8}, 1)).ok());
    back.join();
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), id);
  EXPECT_GE(stream.reopened(), 3);
}

TEST(ResilientStream, TakesARefusalForNoAnswer) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    if (streams++ > 0) return AnswerFrames(stream);
    v1::DetectStreamRequest request;
    stream->Read(&request);
    for (int i = 0; i < 6 && stream->Read(&request); ++i) {
      v1::DetectStreamResponse response;
      response.set_frame_id(request.frame().frame_id());
      if (i < 3) {
        SetKeypoints(1, response.mutable_features());
      } else {
        response.mutable_status()->set_code(grpc::StatusCode::UNAVAILABLE);
      }
      stream->Write(response);
    }
    return grpc::Status{grpc::StatusCode::UNAVAILABLE, "draining"};
  };
  const Client client = server.Connect();
  Delivered delivered;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  for (uint64_t id = 0; id < 20; ++id) ASSERT_TRUE(stream.Write(id, Flat({8, 8}, 1)).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), 20u);
  EXPECT_EQ(stream.reopened(), 1);
}

TEST(ResilientStream, OutlivesARealServerThatDrains) {
  ServerOptions options = testing::TestOptions();
  auto server = std::make_unique<testing::TestServer>(options);
  ASSERT_TRUE((*server)->WaitUntilServing(absl::Seconds(60)));
  auto client = Client::Connect(options.listen[0]);
  ASSERT_TRUE(client.ok()) << client.status();
  const Image image = testing::Noise({64, 64}, 1);
  Delivered delivered;
  ResilientStream stream(&*client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  uint64_t id = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(stream.Write(id++, image).ok());
    std::thread restart([&] {
      EXPECT_TRUE((*server)->Shutdown(absl::Seconds(30)).ok());
      server = nullptr;
      server = std::make_unique<testing::TestServer>(options);
    });
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(stream.Write(id++, image).ok());
    restart.join();
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), id);
}

TEST(ResilientStream, MovesToAnotherStreamWithAge) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    ++streams;
    return AnswerFrames(stream);
  };
  const Client client = server.Connect();
  RetryOptions retry = Impatient();
  retry.max_age = absl::ZeroDuration();  // each frame has its own
  Delivered delivered;
  ResilientStream stream(&client, {}, retry, [&](const FrameResult& result) { delivered.Add(result); });
  for (uint64_t id = 0; id < 10; ++id) ASSERT_TRUE(stream.Write(id, Flat({8, 8}, 1)).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), 10u);
  EXPECT_EQ(streams, stream.reopened() + 1);
  EXPECT_GE(streams, 10);
}

TEST(ResilientStream, GivesUpWhenPatienceIsOver) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream*) {
    ++streams;
    return grpc::Status{grpc::StatusCode::UNAVAILABLE, "never"};
  };
  const Client client = server.Connect();
  RetryOptions retry = Impatient();
  retry.patience = absl::Milliseconds(500);
  ResilientStream stream(&client, {}, retry, [](const FrameResult&) { FAIL(); });
  absl::Status status = stream.Write(0, Flat({8, 8}, 1));
  if (status.ok()) status = stream.Finish();
  EXPECT_EQ(status, absl::UnavailableError("never"));
  EXPECT_GT(streams, 2);
  EXPECT_LT(streams, 60);  // pauses of 1, 2, 4, 8, 16 and then 20 ms
}

TEST(ResilientStream, StopsTryingWhenAsked) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream*) {
    return grpc::Status{grpc::StatusCode::UNAVAILABLE, "never"};
  };
  const Client client = server.Connect();
  RetryOptions retry = Impatient();
  retry.patience = absl::Hours(1);
  std::atomic<int> asked{0};
  retry.stop = [&] { return ++asked == 3; };
  ResilientStream stream(&client, {}, retry, {});
  absl::Status status = stream.Write(0, Flat({8, 8}, 1));
  if (status.ok()) status = stream.Finish();
  EXPECT_EQ(status, absl::UnavailableError("never"));
  EXPECT_EQ(asked, 3);
}

TEST(ResilientStream, IsOneStreamWithoutPatience) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    ++streams;
    return AnswerSome(stream, 3, 2);
  };
  const Client client = server.Connect();
  RetryOptions retry;
  retry.patience = absl::ZeroDuration();
  Delivered delivered;
  ResilientStream stream(&client, {}, retry, [&](const FrameResult& result) { delivered.Add(result); });
  absl::Status status;
  for (uint64_t id = 0; id < 100 && status.ok(); ++id) status = stream.Write(id, Flat({8, 8}, 1));
  EXPECT_EQ(status, absl::UnavailableError("gone"));
  EXPECT_EQ(stream.Finish(), absl::UnavailableError("gone"));
  EXPECT_EQ(delivered.count(), 3u);
  EXPECT_EQ(streams, 1);
}

TEST(ResilientStream, DoesNotTryAgainWhatCannotHelp) {
  FakeServer server;
  std::atomic<int> streams{0};
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream*) {
    ++streams;
    return grpc::Status{grpc::StatusCode::INVALID_ARGUMENT, "levels: 99"};
  };
  const Client client = server.Connect();
  ResilientStream stream(&client, {}, Impatient(), {});
  absl::Status status;
  for (uint64_t id = 0; id < 100 && status.ok(); ++id) status = stream.Write(id, Flat({8, 8}, 1));
  EXPECT_EQ(status, absl::InvalidArgumentError("levels: 99"));
  EXPECT_EQ(streams, 1);
}

TEST(ResilientStream, LivesOnAfterAPictureThatCannotBeSent) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  Delivered delivered;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult& result) { delivered.Add(result); });
  EXPECT_TRUE(absl::IsInvalidArgument(stream.Write(0, ImageInput())));  // the first one, which opens the stream, too
  EXPECT_TRUE(stream.Write(0, Flat({8, 8}, 1)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(stream.Write(1, ImageInput())));
  EXPECT_TRUE(stream.Write(1, Flat({8, 8}, 1)).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(delivered.count(), 2u);
}

TEST(ResilientStream, IsCancelledByItsCallbackOrAnotherThread) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  ResilientStream* open = nullptr;
  ResilientStream stream(&client, {}, Impatient(), [&](const FrameResult&) { open->Cancel(); });
  open = &stream;
  absl::Status status;
  for (uint64_t id = 0; id < 100 && status.ok(); ++id) status = stream.Write(id, Flat({8, 8}, 1));
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_TRUE(absl::IsCancelled(stream.Finish()));

  // While it looks for a server.
  server.Stop();
  RetryOptions retry = Impatient();
  retry.patience = absl::Hours(1);
  ResilientStream lost(&client, {}, retry, {});
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    lost.Cancel();
  });
  status = lost.Write(0, Flat({8, 8}, 1));
  if (status.ok()) status = lost.Finish();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  canceller.join();
}

TEST(ResilientStream, WithoutFramesOpensNothing) {
  FakeServer server;
  const Client client = server.Connect();
  ResilientStream stream(&client, {}, {}, {});
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(stream.reopened(), 0);
}

}  // namespace
}  // namespace glint::client
