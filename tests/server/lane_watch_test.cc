// A lane that hangs is told from one that is busy, and health says so.
#include "server/schedule/lane_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "features/checkpoint.h"
#include "glint/v1/matching.grpc.pb.h"
#include "lane/lane.h"
#include "server/base/clock.h"
#include "server/rpc/canary.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

TEST(LaneProgressTest, FramesThatEndInTimeAreProgressHoweverManyThereAre) {
  LaneProgress progress(2, /*limit_ns=*/100);
  int64_t now = 1;
  for (int frame = 0; frame < 50; ++frame) {
    progress.Begin(0, now);
    now += 90;
    EXPECT_EQ(progress.Check(now).count, 0);
    progress.End(0);
  }
  EXPECT_EQ(progress.Check(now + 1000).count, 0);  // idle
}

TEST(LaneProgressTest, OneThatTakesLongerIsStuckUntilItEnds) {
  LaneProgress progress(3, 100);
  progress.Begin(1, 1000);
  progress.Begin(2, 1050);
  EXPECT_EQ(progress.Check(1100).count, 0);
  EXPECT_EQ(progress.Check(1101).count, 1);
  const StuckLanes both = progress.Check(1200);
  EXPECT_EQ(both.count, 2);
  EXPECT_EQ(both.longest, 1);
  EXPECT_EQ(both.longest_ns, 200);
  progress.End(1);
  EXPECT_EQ(progress.Check(1200).longest, 2);
  progress.End(2);
  EXPECT_EQ(progress.Check(9999).longest, -1);
}

TEST(LaneProgressTest, PartsThatEndInTimeAreProgressHoweverLongTheFrameIs) {
  LaneProgress progress(1, 100);
  int64_t now = 1;
  progress.Begin(0, now);
  for (int part = 0; part < 50; ++part) {
    now += 90;
    EXPECT_EQ(progress.Check(now).count, 0);
    progress.Move(0, now);
  }
  EXPECT_EQ(progress.Check(now + 100).count, 0);
  const StuckLanes stuck = progress.Check(now + 101);  // in its last part
  EXPECT_EQ(stuck.count, 1);
  EXPECT_EQ(stuck.longest_ns, 101);
}

// Lanes whose matches take until they are ended, or until `last` parts of 5 ms are done.
class LongLane final : public Lane {
 public:
  LongLane(std::atomic<int>* parts, int last) : parts_(parts), last_(last) {}
  absl::Status Run(const DetectorOptions&, const Pixels&, const Pixels&, Features* features, StageTimes*) override {
    features->Clear();
    return absl::OkStatus();
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    result->Reset(input.query.count, options.k);
    while (GoesOn(checkpoint())) {
      if (++*parts_ >= last_) return absl::OkStatus();
      absl::SleepFor(absl::Milliseconds(5));
    }
    *parts_ = -1;
    return absl::CancelledError("ended");
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  std::atomic<int>* const parts_;
  const int last_;
  const std::string device_ = "fake:0";
};

ServerOptions WithLongLane(std::atomic<int>* parts, int last) {
  ServerOptions options = TestOptions();
  options.create_lanes = [parts, last](const LaneOptions&) -> absl::StatusOr<LaneSet> {
    LaneSet set;
    set.lanes.push_back(std::make_unique<LongLane>(parts, last));
    set.device = "a fake";
    set.simd = "NONE";
    return set;
  };
  return options;
}

v1::MatchRequest SmallMatch() {
  v1::MatchRequest request;
  for (v1::MatchSide* side : {request.mutable_query(), request.mutable_train()}) {
    side->mutable_descriptors()->set_data(std::string(32, 'x'));
    side->mutable_descriptors()->set_descriptor_bytes(32);
  }
  return request;
}

// What a lane of the CPU asks its checkpoint in matches and pairs, and that it ends there.
TEST(CpuLaneTest, AsksItsCheckpoint) {
  LaneOptions one;
  one.backend = Backend::kCpu;
  one.lanes = 1;
  auto lanes = CreateLanes(one);
  ASSERT_TRUE(lanes.ok()) << lanes.status();
  Lane* const lane = lanes->lanes[0].get();
  const std::vector<uint8_t> rows(300 * 32);
  const MatchInput input{{rows.data(), 300, 32}, {rows.data(), 300, 32}, {}, {}};
  Image image(160, 120);
  for (int y = 0; y < image.height(); ++y) std::fill_n(image.row(y), image.width(), static_cast<uint8_t>(y % 2 * 90));
  DetectorOptions detector = *PresetOptions("orb");
  detector.descriptor = Descriptor::kRbrief;
  const auto match = [&] {
    MatchResult result;
    return lane->Match(input, {}, &result);
  };
  const auto both = [&] {
    Features first, second;
    StageTimes times;
    return lane->RunBoth(detector, image, image, &first, &second, &times);
  };
  const auto pair = [&] {
    StereoPairResult found;
    StageTimes times;
    return lane->RunStereo(detector, {}, {image, image}, &found, &times);
  };
  for (const std::function<absl::Status()>& work : {std::function<absl::Status()>(match), {both}, {pair}}) {
    std::atomic<int> asked{0};
    lane->set_checkpoint([&] { return ++asked > 0; });
    EXPECT_EQ(work(), absl::OkStatus());
    EXPECT_GT(asked, 0);
    lane->set_checkpoint([] { return false; });
    EXPECT_EQ(work().code(), absl::StatusCode::kCancelled);
    lane->set_checkpoint({});
    EXPECT_EQ(work(), absl::OkStatus());
  }
}

TEST(LaneHealthTest, IsServingDuringALongMatchThatComesForward) {
  std::atomic<int> parts{0};
  ServerOptions options = WithLongLane(&parts, 300);
  options.lane_timeout = absl::Milliseconds(500);
  options.lane_grace = absl::Milliseconds(1);
  options.metrics_listen = "127.0.0.1:0";
  TestServer server(options);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const auto stub = v1::FeatureMatching::NewStub(server.channel());
  grpc::ClientContext context;
  v1::MatchResponse response;
  const int64_t begun_at = MonotonicNs();
  const grpc::Status status = stub->Match(&context, SmallMatch(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(MonotonicNs() - begun_at, 2 * 500'000'000);  // as long as two hangs
  EXPECT_TRUE(server->serving());                        // for good, had it been given up
  EXPECT_TRUE(server->lane_health().ok());
}

TEST(LaneHealthTest, AMatchEndsWithItsCall) {
  std::atomic<int> parts{0};
  TestServer server(WithLongLane(&parts, 1 << 20));
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const auto stub = v1::FeatureMatching::NewStub(server.channel());
  grpc::ClientContext context;
  v1::MatchResponse response;
  std::thread end([&] {
    EXPECT_TRUE(Eventually([&] { return parts > 3; }));
    context.TryCancel();
  });
  EXPECT_EQ(stub->Match(&context, SmallMatch(), &response).error_code(), grpc::StatusCode::CANCELLED);
  end.join();
  EXPECT_TRUE(Eventually([&] { return parts == -1; }));
  EXPECT_TRUE(Eventually([&] { return server->frames_in_flight() == 0; }));
}

TEST(LaneHealthTest, AMatchEndsWithItsStream) {
  std::atomic<int> parts{0};
  TestServer server(WithLongLane(&parts, 1 << 20));
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const auto stub = v1::FeatureMatching::NewStub(server.channel());
  {
    grpc::ClientContext context;
    auto stream = stub->MatchStream(&context);
    v1::MatchStreamRequest request;
    request.mutable_options();
    ASSERT_TRUE(stream->Write(request));
    const v1::MatchRequest match = SmallMatch();
    *request.mutable_pair()->mutable_query() = match.query();
    *request.mutable_pair()->mutable_train() = match.train();
    ASSERT_TRUE(stream->Write(request));
    EXPECT_TRUE(Eventually([&] { return parts > 3; }));
    context.TryCancel();
    EXPECT_FALSE(stream->Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return parts == -1; }));
}

TEST(LaneHealthTest, IsNotServingWhileALaneHangs) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.lane_timeout = absl::Milliseconds(50);
  options.lanes.lanes = 2;
  options.metrics_listen = "127.0.0.1:0";
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const auto stuck = [&] { return Sample(Http(server->metrics_address(), "GET /metrics"), "glint_lanes_stuck"); };
  EXPECT_EQ(stuck(), 0);
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));  // one of the two lanes
  EXPECT_TRUE(Eventually([&] { return !server->serving(); }));
  EXPECT_EQ(CheckHealth(server.channel()), kNotServing);
  EXPECT_EQ(server->lane_health().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(server->lane_health().message()),
              ::testing::MatchesRegex("lanes: lane [01] has been at one frame for .* \\(--lane-timeout=50ms\\)"));
  EXPECT_EQ(stuck(), 1);
  control.Hold(false);
  EXPECT_EQ(stream.Read().status().code(), 0);
  EXPECT_TRUE(Eventually([&] { return server->serving(); }));
  EXPECT_TRUE(server->lane_health().ok());
  EXPECT_EQ(stuck(), 0);
}

TEST(LaneWatchTest, GivesUpOnceAfterTheGrace) {
  std::atomic<int> changes{0}, given_up{0};
  std::atomic<int64_t> after_ns{0};
  LaneWatch::Events events;
  events.changed = [&](const StuckLanes&) { ++changes; };
  events.given_up = [&](const StuckLanes& stuck) {
    after_ns = stuck.longest_ns;
    ++given_up;
  };
  LaneWatch watch(2, {absl::Milliseconds(20), absl::Milliseconds(60)}, std::move(events));
  watch.LaneBusy(1, true);
  EXPECT_TRUE(Eventually([&] { return given_up > 0; }));
  EXPECT_EQ(changes, 1);
  EXPECT_GT(after_ns, 80'000'000);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(given_up, 1);
  const StuckLanes stuck = watch.Check();
  EXPECT_EQ(stuck.longest, 1);
  EXPECT_EQ(stuck.thread, static_cast<pid_t>(syscall(SYS_gettid)));
}

TEST(LaneWatchTest, AnInfiniteGraceNeverEnds) {
  std::atomic<int> given_up{0};
  LaneWatch::Events events;
  events.changed = [](const StuckLanes&) {};
  events.given_up = [&](const StuckLanes&) { ++given_up; };
  LaneWatch watch(1, {absl::Milliseconds(4), absl::InfiniteDuration()}, std::move(events));
  watch.LaneBusy(0, true);
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(given_up, 0);
}

TEST(LaneHealthTest, ALaneThatHangsForTooLongFailsTheServer) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.lane_timeout = absl::Milliseconds(300);  // the warm-up frame must not take as long
  options.lane_grace = absl::Milliseconds(200);
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  const absl::Status why = server->Wait();
  EXPECT_EQ(why.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(why.message()), ::testing::MatchesRegex("lanes: lane 0 has been at one frame for .* "
                                                                  "\\(--lane-timeout=300ms, --lane-grace=200ms\\)"));
  EXPECT_FALSE(server->serving());
  control.Hold(false);
  EXPECT_EQ(stream.Read().status().code(), 0);
  EXPECT_FALSE(server->serving());  // for good: the process is to exit
}

// Load alone: every slot taken, the queue full, frames waiting, for as long as the test runs.
TEST(LaneHealthTest, IsServingUnderFullLoad) {
  constexpr int kStreams = 8;
  LaneControl control;
  ServerOptions options = TestOptions();
  options.queue_capacity = 2;
  options.max_sessions = kStreams;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  std::atomic<bool> ended{false};
  control.Hold(true);
  std::vector<std::thread> clients;
  for (int c = 0; c < kStreams; ++c) {
    clients.emplace_back([&] {
      TestStream stream(server.stub());
      stream.Write(OptionsMessage());
      uint64_t written = 0;
      for (uint64_t read = 0; written < 4 || read < written;) {
        if (written < 4 || !ended) stream.Write(FrameMessage(++written));
        if (written < 4) continue;
        ASSERT_EQ(stream.Read().frame_id(), ++read);
      }
    });
  }
  EXPECT_TRUE(Eventually([&] { return server->sessions() == kStreams && server->frames_waiting() == 2; }));
  std::thread pace([&] {
    while (!ended) {
      control.Hold(false);
      absl::SleepFor(absl::Milliseconds(1));
      control.Hold(true);
      absl::SleepFor(absl::Milliseconds(4));
    }
    control.Hold(false);
  });
  Canary canary(server->InProcessChannel());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::OkStatus());
    EXPECT_TRUE(server->serving());
    EXPECT_EQ(CheckHealth(server.channel()), kServing);
  }
  EXPECT_EQ(server->sessions(), kStreams + 1);
  ended = true;
  for (std::thread& client : clients) client.join();
  pace.join();
}

}  // namespace
}  // namespace glint::testing
