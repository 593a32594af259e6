// The load generator against servers whose behaviour a test knows.
#include "client/load/load.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "absl/time/clock.h"
#include "client/load/echo_server.h"
#include "client/load/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake_server.h"

namespace glint::load {
namespace {

using client::FakeServer;
using ::testing::HasSubstr;

constexpr double kMs = 1e6;  // ns
// Of the test with a stall: frames/s, how long it lasts, and which frame meets it.
constexpr int kRate = 200, kStallMs = 500, kStallAt = 100;

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() {
    frames_.push_back(FrameBody::Of(SyntheticPicture({64, 48}, 1)).value());
    frames_.push_back(FrameBody::Of(SyntheticPicture({80, 48}, 1)).value());
  }

  Target TargetOf(const FakeServer& server) {
    Target target;
    target.address = server.address();
    target.first = SerializeOptions(client::StreamOptions()).value();
    return target;
  }

  // Reads the options, then calls answer(frame, response) for every frame, in order.
  template <typename Answer>
  void AnswerBy(FakeServer* server, Answer answer) {
    server->on_stream = [answer](grpc::ServerContext*, FakeServer::Stream* stream) {
      v1::DetectStreamRequest request;
      if (!stream->Read(&request)) return grpc::Status::CANCELLED;
      EXPECT_TRUE(request.has_options());
      while (stream->Read(&request)) {
        v1::DetectStreamResponse response;
        response.set_frame_id(request.frame().frame_id());
        answer(request.frame(), &response);
        if (!stream->Write(response)) break;
      }
      return grpc::Status::OK;
    };
  }

  static RunOptions Short() {
    RunOptions run;
    run.warm_up = absl::Milliseconds(50);
    run.duration = absl::Milliseconds(300);
    return run;
  }

  std::vector<FrameBody> frames_;
};

TEST_F(LoadTest, ClosedLoopCountsWhatTheServerCounts) {
  FakeServer server;
  std::atomic<int64_t> seen{0}, wide{0};
  AnswerBy(&server, [&](const v1::DetectFrame& frame, v1::DetectStreamResponse* response) {
    ++seen;
    if (frame.image().raw().width() == 80) ++wide;
    client::SetKeypoints(3, response->mutable_features());
    response->mutable_timings()->set_detect_ns(1000);
    response->mutable_timings()->set_download_ns(500);
    response->mutable_timings()->set_total_ns(2000);
  });
  Load load(TargetOf(server), 3, &frames_);
  RunOptions run = Short();
  run.warm_up = absl::ZeroDuration();
  int64_t measured = 0;
  for (int round = 0; round < 2; ++round) {
    const auto result = load.Run(run);
    ASSERT_TRUE(result.ok()) << result.status();
    const Measurement& m = result->measured;
    EXPECT_GT(m.ok, 0);
    EXPECT_EQ(m.frames(), m.ok);
    EXPECT_EQ(m.keypoints, 3 * m.ok);
    EXPECT_EQ(m.server.Percentile(0.5), 2000 / 8 * 8);
    EXPECT_NEAR(static_cast<double>(m.lane.Percentile(1)), 1500, 1500 / 128.0);
    EXPECT_GT(m.outside.min(), 0);
    EXPECT_GE(result->seconds, 0.3);
    measured += m.frames();
  }
  EXPECT_TRUE(load.Close(absl::Seconds(10)).ok());
  EXPECT_EQ(measured, seen);
  EXPECT_NEAR(static_cast<double>(wide), static_cast<double>(seen) / 2, 2);  // pictures take turns in each stream
}

TEST_F(LoadTest, ClosedLoopHasNoMoreInFlightThanAsked) {
  FakeServer server;
  std::atomic<int> most{0};
  server.on_stream = [&most](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    std::mutex mutex;
    std::deque<uint64_t> unanswered;
    bool over = false;
    std::thread answers([&] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        v1::DetectStreamResponse response;
        {
          std::lock_guard<std::mutex> lock(mutex);
          if (unanswered.empty() && over) return;
          if (unanswered.empty()) continue;
          most = std::max(most.load(), static_cast<int>(unanswered.size()));
          response.set_frame_id(unanswered.front());
          unanswered.pop_front();
        }
        stream->Write(response);
      }
    });
    while (stream->Read(&request)) {
      std::lock_guard<std::mutex> lock(mutex);
      unanswered.push_back(request.frame().frame_id());
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    answers.join();
    return grpc::Status::OK;
  };
  Load load(TargetOf(server), 1, &frames_);
  RunOptions run = Short();
  run.in_flight = 5;
  ASSERT_TRUE(load.Run(run).ok());
  EXPECT_TRUE(load.Close(absl::Seconds(10)).ok());
  EXPECT_EQ(most, 5);
}

// A server that answers at once but for one stall. Whoever was due during it waited, on average half of it; a generator
// that waits for answers before it sends would have seen one slow frame.
TEST_F(LoadTest, OpenLoopChargesAStallToEveryFrameThatWasDueInIt) {
  FakeServer server;
  AnswerBy(&server, [n = std::make_shared<std::atomic<int>>(0)](const v1::DetectFrame&, v1::DetectStreamResponse*) {
    if (++*n == kStallAt) std::this_thread::sleep_for(std::chrono::milliseconds(kStallMs));
  });
  Load load(TargetOf(server), 1, &frames_);
  RunOptions run;
  run.rate = kRate;
  run.duration = absl::Seconds(2);
  const auto open = load.Run(run);
  ASSERT_TRUE(open.ok()) << open.status();
  const Measurement& m = open->measured;
  EXPECT_EQ(m.frames(), 2 * kRate);
  EXPECT_EQ(m.unanswered, 0);
  EXPECT_FALSE(load.given_up());
  const auto slower_than = [&m](int ms) {
    int64_t frames = 0;
    for (const auto& [from_ns, count] : m.latency.Buckets())
      frames += static_cast<double>(from_ns) >= ms * kMs ? count : 0;
    return frames;
  };
  // kRate * kStallMs / 1000 frames were due in the stall; four fifths of them in its first 400 ms, and so on.
  EXPECT_GE(slower_than(100), kRate * (kStallMs - 100) / 1000 - 2);
  EXPECT_GE(slower_than(300), kRate * (kStallMs - 300) / 1000 - 2);
  EXPECT_GE(static_cast<double>(m.latency.max()), kStallMs * kMs * 127 / 128);
  EXPECT_LT(slower_than(100), 2 * kRate / 2);  // the rest were answered in time, also on a busy machine

  run.rate = 0;
  run.duration = absl::Milliseconds(700);
  AnswerBy(&server, [n = std::make_shared<std::atomic<int>>(0)](const v1::DetectFrame&, v1::DetectStreamResponse*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(++*n == 20 ? kStallMs : 5));
  });
  Load other(TargetOf(server), 1, &frames_);
  const auto closed = other.Run(run);
  ASSERT_TRUE(closed.ok()) << closed.status();
  int64_t stalled = 0;
  for (const auto& [from_ns, count] : closed->measured.latency.Buckets()) {
    stalled += static_cast<double>(from_ns) >= 400 * kMs ? count : 0;
  }
  EXPECT_GE(stalled, 1);
  EXPECT_LE(stalled, 3);  // of more than twenty; a busy machine may have a stall of its own
}

TEST_F(LoadTest, OpenLoopSpreadsItsRateOverTheStreams) {
  FakeServer server;
  std::mutex mutex;
  std::multiset<uint64_t> ids;  // of all streams; each counts its own from 0
  AnswerBy(&server, [&](const v1::DetectFrame& frame, v1::DetectStreamResponse*) {
    std::lock_guard<std::mutex> lock(mutex);
    ids.insert(frame.frame_id());
  });
  Load load(TargetOf(server), 4, &frames_);
  RunOptions run;
  run.rate = 100;
  run.duration = absl::Seconds(1);
  const auto result = load.Run(run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->measured.frames(), 100);
  for (uint64_t id = 0; id < 25; ++id) EXPECT_EQ(ids.count(id), 4) << id;
  // Nothing kept back the first frame of a stream. On a busy machine others may have waited for the one before.
  EXPECT_GE(result->measured.late.count(), 4);
  EXPECT_LE(result->measured.late.count(), 100);
}

TEST_F(LoadTest, CountsFramesThatAreNeverAnswered) {
  FakeServer server;
  server.on_stream = [](grpc::ServerContext* context, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    for (int i = 0; i < 30 && stream->Read(&request); ++i) {
      v1::DetectStreamResponse response;
      response.set_frame_id(request.frame().frame_id());
      stream->Write(response);
    }
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return grpc::Status::CANCELLED;
  };
  Load load(TargetOf(server), 1, &frames_);
  RunOptions run;
  run.rate = 100;
  run.duration = absl::Seconds(1);
  run.patience = absl::Milliseconds(300);
  const auto result = load.Run(run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(load.given_up());
  EXPECT_EQ(result->measured.frames(), 100);
  EXPECT_EQ(result->measured.ok, 30);
  EXPECT_EQ(result->measured.unanswered, 70);
  // The first of them was due after 0.3 s, so it has waited for 1 s.
  EXPECT_GE(static_cast<double>(result->measured.latency.max()), 1000 * kMs);
  EXPECT_GE(result->seconds, 1.29);
  EXPECT_LT(result->seconds, 5);
  BenchReport report;
  report.run = run;
  report.server.Add(*result);
  EXPECT_THAT(Warnings(report), ::testing::Contains(HasSubstr("70 frames were never answered")));
  EXPECT_THAT(Warnings(report), ::testing::Contains(HasSubstr("of the 100 frames/s that were due")));
}

TEST_F(LoadTest, CountsFailedFramesByCode) {
  FakeServer server;
  AnswerBy(&server, [](const v1::DetectFrame& frame, v1::DetectStreamResponse* response) {
    if (frame.frame_id() % 2 == 1) response->mutable_status()->set_code(grpc::StatusCode::ABORTED);
  });
  Load load(TargetOf(server), 1, &frames_);
  RunOptions run;  // 30 frames, on a busy machine, too
  run.rate = 100;
  run.duration = absl::Milliseconds(300);
  const auto result = load.Run(run);
  ASSERT_TRUE(result.ok()) << result.status();
  const Measurement& m = result->measured;
  EXPECT_EQ(m.ok, 15);
  EXPECT_THAT(m.failed, ::testing::ElementsAre(::testing::Pair(grpc::StatusCode::ABORTED, 15)));
  EXPECT_EQ(m.latency.count(), 30);
  EXPECT_EQ(m.server.count(), 15);
}

TEST_F(LoadTest, ReportsServersThatEndOrMixUpTheStream) {
  FakeServer server;
  AnswerBy(&server, [](const v1::DetectFrame& frame, v1::DetectStreamResponse* response) {
    if (frame.frame_id() == 7) response->set_frame_id(6);
  });
  {
    Load load(TargetOf(server), 1, &frames_);
    const auto result = load.Run(Short());
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("answered frame 6 instead of 7"));
  }
  server.on_stream = [](grpc::ServerContext*, FakeServer::Stream* stream) {
    v1::DetectStreamRequest request;
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "sessions: full");
  };
  Load load(TargetOf(server), 1, &frames_);
  const auto result = load.Run(Short());
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("sessions: full"));
  Target nobody = TargetOf(server);
  nobody.address += "-not";
  EXPECT_EQ(Load(nobody, 1, &frames_).Run(Short()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(LoadTest, StopsWhenAsked) {
  FakeServer server;
  AnswerBy(&server, [](const v1::DetectFrame&, v1::DetectStreamResponse*) {});
  for (const double rate : {0.0, 100.0}) {
    Load load(TargetOf(server), 2, &frames_);
    RunOptions run;
    run.rate = rate;
    run.duration = absl::Hours(1);
    run.stop = [end = absl::Now() + absl::Milliseconds(300)] { return absl::Now() > end; };
    const auto result = load.Run(run);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->measured.ok, 0);
    EXPECT_EQ(result->measured.unanswered, 0);
    EXPECT_LT(result->seconds, 10);
  }
}

TEST_F(LoadTest, EchoServerAnswersWithTheFirstMessage) {
  const auto echo = EchoServer::Start("127.0.0.1:0");
  ASSERT_TRUE(echo.ok()) << echo.status();
  Load load({(*echo)->address(), Task::kDetect, false, std::string(12345, 'r')}, 2, &frames_);
  RunOptions run = Short();
  run.warm_up = absl::ZeroDuration();
  run.in_flight = 20;  // more than the window of the server
  const auto result = load.Run(run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GE(result->measured.ok, 2 * 20);
  EXPECT_EQ(result->measured.reply_bytes, 12345 * result->measured.ok);
  EXPECT_EQ(result->measured.server.count(), 0);
  EXPECT_TRUE(load.Close(absl::Seconds(10)).ok());
  EXPECT_EQ(EchoServer::Start((*echo)->address()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(EchoServer::Start("nowhere").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LoadTest, EchoServerWorksAsLongAsItIsTold) {
  const auto echo = EchoServer::Start("127.0.0.1:0", absl::Milliseconds(20));
  ASSERT_TRUE(echo.ok()) << echo.status();
  Load load({(*echo)->address(), Task::kDetect, false, "reply"}, 1, &frames_);
  RunOptions run = Short();
  run.warm_up = absl::ZeroDuration();
  const auto result = load.Run(run);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->measured.ok, 0);
  EXPECT_GE(result->measured.latency.min(), 20'000'000);
  EXPECT_TRUE(load.Close(absl::Seconds(10)).ok());
}

}  // namespace
}  // namespace glint::load
