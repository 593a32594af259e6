// The client library's stream against servers that behave well, badly, or not at all.
#include "client/stream.h"

#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"
#include "tests/support/images.h"
#include "tests/support/status.h"

namespace glint::client {
namespace {

using ::glint::testing::CodeAndText;
using ::glint::testing::Flat;
using ::testing::HasSubstr;

std::unique_ptr<DetectStream> Open(const Client& client, const StreamOptions& options, ResultCallback on_result) {
  auto stream = client.OpenStream(options, std::move(on_result));
  EXPECT_TRUE(stream.ok()) << stream.status();
  return *std::move(stream);
}

TEST(StreamTest, DeliversOneResultForEachFrameInOrder) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    EXPECT_EQ(request.options().detector().max_features(), 321);
    EXPECT_EQ(request.options().mask().raw().width(), 4u);
    while (stream->Read(&request)) {
      v1::DetectStreamResponse response;
      const uint64_t id = request.frame().frame_id();
      EXPECT_EQ(request.frame().has_mask(), id % 3 == 0);
      response.set_frame_id(id);
      response.mutable_timings()->set_detect_ns(static_cast<int64_t>(id));
      if (id % 2 == 1) {
        response.mutable_status()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
        response.mutable_status()->set_message("image: odd");
      } else {
        SetKeypoints(static_cast<int>(id), response.mutable_features());
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const Image mask = Flat({4, 4}, 255);
  StreamOptions options;
  options.detector.max_features = 321;
  options.mask = mask;
  uint64_t next = 0;
  const auto stream = Open(client, options, [&next](const FrameResult& result) {
    EXPECT_EQ(result.frame_id, next++);
    EXPECT_EQ(result.detection.timings.detect_ns, static_cast<int64_t>(result.frame_id));
    EXPECT_GT(result.detection.round_trip, absl::ZeroDuration());
    if (result.frame_id % 2 == 1) {
      EXPECT_EQ(result.status, absl::InvalidArgumentError("image: odd"));
      EXPECT_EQ(result.detection.features.count(), 0u);
    } else {
      EXPECT_TRUE(result.status.ok());
      EXPECT_EQ(result.detection.features.count(), result.frame_id);
    }
  });
  for (uint64_t id = 0; id < 50; ++id) {
    ASSERT_TRUE(stream->Write(id, Flat({4, 4}, 1), id % 3 == 0 ? ImageInput(mask) : ImageInput()).ok());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(next, 50u);
  EXPECT_EQ(stream->in_flight(), 0);
}

TEST(StreamTest, WithACameraResultsHaveRays) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    EXPECT_EQ(request.options().camera().fov().w(), 0.9);
    EXPECT_EQ(request.options().camera().fx(), 3);
    while (stream->Read(&request)) {
      v1::DetectStreamResponse response;
      const int id = static_cast<int>(request.frame().frame_id());
      response.set_frame_id(request.frame().frame_id());
      if (id == 2) {
        response.mutable_status()->set_code(grpc::StatusCode::INVALID_ARGUMENT);
      } else {
        SetKeypoints(id, response.mutable_features());
      }
      for (int i = 0; i < id && id != 2; ++i) {
        response.mutable_features()->add_ray_x(static_cast<float>(i));
        response.mutable_features()->add_ray_y(0);
        if (i != 4) response.mutable_features()->add_ray_z(1);
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  StreamOptions options;
  options.camera.emplace();
  options.camera->model = CameraModel::kFov;
  options.camera->lens[0] = 0.9;
  options.camera->fx = 3;
  uint64_t answers = 0;
  const auto stream = Open(client, options, [&answers](const FrameResult& result) {
    ++answers;
    const Rays& rays = result.detection.rays;
    const size_t count = result.frame_id == 2 ? 0 : result.frame_id;  // nothing is left of frame 1
    EXPECT_EQ(rays.x.size(), count);
    EXPECT_EQ(rays.y.size(), count);
    EXPECT_EQ(rays.z.size(), count);
    for (size_t i = 0; i < rays.x.size(); ++i) EXPECT_EQ(rays.x[i], static_cast<float>(i));
  });
  for (uint64_t id = 1; id < 5; ++id) ASSERT_TRUE(stream->Write(id, Flat({4, 4}, 1)).ok());
  stream->Write(5, Flat({4, 4}, 1)).IgnoreError();
  EXPECT_EQ(stream->Finish().code(), absl::StatusCode::kInternal);  // of frame 5 one is missing
  EXPECT_EQ(answers, 4u);
}

TEST(StreamTest, SaysThatItIsDoneWhenAllIsAnswered) {
  constexpr uint64_t kFrames = 5;
  FakeServer server;
  std::atomic<bool> done{false};
  server.on_stream = [&done](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    for (uint64_t i = 0; i < 1 + kFrames; ++i) EXPECT_TRUE(stream->Read(&request));
    std::thread reader([&] {
      v1::DetectStreamRequest more;
      EXPECT_FALSE(stream->Read(&more));
      done = true;
    });
    for (uint64_t id = 0; id < kFrames; ++id) {
      absl::SleepFor(absl::Milliseconds(50));
      EXPECT_FALSE(done);
      v1::DetectStreamResponse response;
      response.set_frame_id(id);
      stream->Write(response);
    }
    reader.join();
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  const auto stream = Open(client, {}, [](const FrameResult&) {});
  for (uint64_t id = 0; id < kFrames; ++id) ASSERT_TRUE(stream->Write(id, Flat({4, 4}, 1)).ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(done);
}

TEST(StreamTest, NeverHasMoreFramesInFlightThanAllowed) {
  FakeServer server;
  std::atomic<int> outstanding{0};
  int most = 0;
  server.on_stream = [&](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    std::vector<uint64_t> unanswered;
    // Answers three at a time: a fourth frame cannot come before.
    while (stream->Read(&request)) {
      unanswered.push_back(request.frame().frame_id());
      if (unanswered.size() < 3) continue;
      for (const uint64_t id : unanswered) {
        v1::DetectStreamResponse response;
        response.set_frame_id(id);
        stream->Write(response);
      }
      unanswered.clear();
    }
    return grpc::Status::OK;
  };
  const Client client = server.Connect();
  StreamOptions options;
  options.in_flight = 3;
  const auto stream = Open(client, options, [&](const FrameResult&) { --outstanding; });
  for (uint64_t id = 0; id < 60; ++id) {
    ASSERT_TRUE(stream->Write(id, Flat({4, 4}, 1)).ok());
    most = std::max(most, ++outstanding);
    EXPECT_LE(stream->in_flight(), 3);
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_LE(most, 4);  // the callback counts down a moment before the window does
}

TEST(StreamTest, RefusesWindowsOutOfRange) {
  FakeServer server;
  const Client client = server.Connect();
  StreamOptions options;
  for (const int window : {0, -1, 4097}) {
    options.in_flight = window;
    EXPECT_EQ(CodeAndText(client.OpenStream(options, nullptr).status()),
              absl::InvalidArgumentError(absl::StrCat("in_flight: ", window, " is not in 1..4096")));
  }
}

// Results larger than every flow-control window, from a server that takes no frame before its last result has gone: a
// client that read only after writing would stop here for ever.
TEST(StreamTest, CallerThatOnlyWritesIsNotStoppedByFlowControl) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream, 20000); };
  const Client client = server.Connect();
  StreamOptions options;
  options.in_flight = 64;
  int results = 0;
  const auto stream = Open(client, options, [&results](const FrameResult& result) {
    EXPECT_EQ(result.detection.features.count(), 20000u);
    ++results;
  });
  const Image frame = Flat({1024, 1024}, 7);
  for (uint64_t id = 0; id < 60; ++id) ASSERT_TRUE(stream->Write(id, frame).ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(results, 60);
}

// Reads the options and no more until the call is over.
grpc::Status ReadNothing(grpc::ServerContext* context, FakeServer::Stream* stream) {
  v1::DetectStreamRequest request;
  stream->Read(&request);
  while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(2));
  return grpc::Status::CANCELLED;
}

TEST(StreamTest, CancelEndsAWriteThatTheServerDoesNotTake) {
  FakeServer server;
  server.on_stream = ReadNothing;
  const Client client = server.Connect();
  StreamOptions options;
  options.in_flight = 4096;
  const auto stream = Open(client, options, nullptr);
  absl::Status written;
  std::thread writer([&] {
    const Image frame = Flat({2048, 2048}, 7);
    for (uint64_t id = 0; written.ok(); ++id) written = stream->Write(id, frame);
  });
  while (stream->in_flight() == 0) absl::SleepFor(absl::Milliseconds(1));
  stream->Cancel();
  writer.join();
  EXPECT_TRUE(absl::IsCancelled(written)) << written;
  EXPECT_TRUE(absl::IsCancelled(stream->Finish()));
}

TEST(StreamTest, CancelEndsAWriteThatWaitsForRoom) {
  FakeServer server;
  server.on_stream = ReadNothing;
  const Client client = server.Connect();
  StreamOptions options;
  options.in_flight = 1;
  const auto stream = Open(client, options, nullptr);
  ASSERT_TRUE(stream->Write(0, Flat({4, 4}, 1)).ok());
  absl::Status written;
  std::thread writer([&] { written = stream->Write(1, Flat({4, 4}, 1)); });
  absl::SleepFor(absl::Milliseconds(20));
  stream->Cancel();
  writer.join();
  EXPECT_TRUE(absl::IsCancelled(written)) << written;
}

TEST(StreamTest, EndsAtItsTimeout) {
  FakeServer server;
  server.on_stream = ReadNothing;
  const Client client = server.Connect();
  StreamOptions options;
  options.in_flight = 2;
  options.timeout = absl::Milliseconds(100);
  const auto stream = Open(client, options, nullptr);
  absl::Status written;
  for (uint64_t id = 0; written.ok(); ++id) written = stream->Write(id, Flat({64, 64}, 1));
  EXPECT_TRUE(absl::IsDeadlineExceeded(written)) << written;
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->Finish()));
}

TEST(StreamTest, CanBeDestroyedAtAnyPoint) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream, 100); };
  const Client client = server.Connect();
  const Image frame = Flat({256, 256}, 7);
  for (uint64_t frames = 0; frames < 40; ++frames) {
    std::atomic<bool> destroyed{false};
    {
      const auto stream = Open(client, {}, [&destroyed](const FrameResult&) { EXPECT_FALSE(destroyed); });
      for (uint64_t id = 0; id < frames; ++id) ASSERT_TRUE(stream->Write(id, frame).ok());
    }
    destroyed = true;
  }
}

TEST(StreamTest, CanBeDestroyedWhileTheServerIsStuck) {
  FakeServer server;
  server.on_stream = ReadNothing;
  const Client client = server.Connect();
  const auto stream = Open(client, {}, nullptr);
  EXPECT_TRUE(stream->Write(0, Flat({256, 256}, 7)).ok());
}

TEST(StreamTest, OutlivesItsClient) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  auto client = std::make_unique<Client>(server.Connect());
  int results = 0;
  const auto stream = Open(*client, {}, [&results](const FrameResult&) { ++results; });
  client.reset();
  for (uint64_t id = 0; id < 20; ++id) ASSERT_TRUE(stream->Write(id, Flat({16, 16}, 7)).ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(results, 20);
}

TEST(StreamTest, FinishIsFinal) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  const auto stream = Open(client, {}, nullptr);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(stream->Write(0, Flat({4, 4}, 1))));
}

TEST(StreamTest, ImageThatCannotBeSentIsRefusedAndTheStreamLivesOn) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  int results = 0;
  const auto stream = Open(client, {}, [&results](const FrameResult&) { ++results; });
  EXPECT_TRUE(absl::IsInvalidArgument(stream->Write(0, ImageInput())));
  EXPECT_TRUE(stream->Write(1, Flat({4, 4}, 1)).ok());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(results, 1);
}

// The error must reach a caller whose frames fill the socket, and one that only finishes.
TEST(StreamTest, ErrorThatEndsTheStreamIsReported) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    for (int i = 0; i < 2; ++i) stream->Read(&request);  // after the first alone, OpenStream() may have the error
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "levels: 99 is not in 1..12");
  };
  const Client client = server.Connect();
  const absl::Status expected = absl::InvalidArgumentError("levels: 99 is not in 1..12");
  for (const int side : {4, 2048}) {
    StreamOptions options;
    options.in_flight = 4096;
    const auto stream = Open(client, options, nullptr);
    const Image frame = Flat({side, side}, 7);
    absl::Status written;
    for (uint64_t id = 0; written.ok(); ++id) written = stream->Write(id, frame);
    EXPECT_EQ(written, expected);
    EXPECT_EQ(stream->Finish(), expected);
  }
  EXPECT_EQ(Open(client, {}, nullptr)->Finish(), expected);
}

TEST(StreamTest, ServerThatBreaksTheContractIsFoundOut) {
  // Each with a server of its own, which may still be answering when the client has seen enough.
  const auto run = [](const std::vector<uint64_t>& answers) {
    FakeServer server;
    server.on_stream = [&answers](grpc::ServerContext*, FakeServer::Stream* stream) {
      v1::DetectStreamRequest request;
      stream->Read(&request);
      stream->Read(&request);
      stream->Read(&request);
      for (const uint64_t id : answers) {
        v1::DetectStreamResponse response;
        response.set_frame_id(id);
        stream->Write(response);
      }
      return grpc::Status::OK;
    };
    const Client client = server.Connect();
    const auto stream = Open(client, {}, nullptr);
    // Either may already see the end.
    (void)stream->Write(10, Flat({4, 4}, 1));
    (void)stream->Write(11, Flat({4, 4}, 1));
    return stream->Finish();
  };
  EXPECT_TRUE(run({10, 11}).ok());
  EXPECT_THAT(run({11, 10}).ToString(), HasSubstr("answered frame 11 instead of 10"));
  EXPECT_THAT(run({10, 11, 12}).ToString(), HasSubstr("a result without a frame"));
  EXPECT_THAT(run({10}).ToString(), HasSubstr("left 1 frames unanswered"));
}

TEST(StreamTest, CallbackMayCancel) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  std::promise<void> opened;
  const std::shared_future<void> is_open = opened.get_future().share();
  DetectStream* opened_stream = nullptr;
  const auto stream = Open(client, {}, [&](const FrameResult&) {
    is_open.wait();
    opened_stream->Cancel();
  });
  opened_stream = stream.get();
  opened.set_value();
  absl::Status written;
  for (uint64_t id = 0; written.ok(); ++id) written = stream->Write(id, Flat({4, 4}, 1));
  EXPECT_TRUE(absl::IsCancelled(written)) << written;
}

TEST(StreamTest, TakesFramesFromManyThreads) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server.Connect();
  std::vector<int> seen(400);
  const auto stream = Open(client, {}, [&seen](const FrameResult& result) { ++seen[result.frame_id]; });
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&stream, t] {
      for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(stream->Write(t * 100 + i, Flat({8, 8}, 1)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(seen, std::vector<int>(400, 1));
}

TEST(StreamTest, ServerThatDiesEndsTheStream) {
  auto server = std::make_unique<FakeServer>();
  server->on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) { return AnswerFrames(stream); };
  const Client client = server->Connect();
  const auto stream = Open(client, {}, nullptr);
  ASSERT_TRUE(stream->Write(0, Flat({8, 8}, 1)).ok());
  std::thread killer([&server] { server.reset(); });
  absl::Status written;
  for (uint64_t id = 1; written.ok(); ++id) written = stream->Write(id, Flat({64, 64}, 1));
  killer.join();
  EXPECT_TRUE(absl::IsUnavailable(written) || absl::IsCancelled(written)) << written;
}

}  // namespace
}  // namespace glint::client
