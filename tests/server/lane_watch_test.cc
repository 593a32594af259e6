// A lane that hangs is told from one that is busy, and health says so.
#include "server/schedule/lane_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

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
