// The time of day is set while a server runs: nothing that it waits for comes earlier or later. The program's own
// clock_gettime() adds what the tests say to CLOCK_REALTIME; gRPC, Abseil and the C++ library all ask it.
#include "absl/time/clock.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "client/client.h"
#include "server/base/clock.h"
#include "server/rpc/canary.h"
#include "server/shm/handoff.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"
#include "tests/server/raw_calls.h"

namespace {
std::atomic<int64_t> jump_s{0};
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += jump_s;
  return result;
}

namespace glint::testing {
namespace {

constexpr int64_t kDay = 24 * 60 * 60;

absl::Duration Elapsed(int64_t began) { return absl::Nanoseconds(MonotonicNs() - began); }

// With the time of day set a day ahead and a day back.
class ClockTest : public ::testing::TestWithParam<int64_t> {
 protected:
  ~ClockTest() override { jump_s = 0; }
  static void Jump() { jump_s += GetParam(); }

  LaneControl control_;
};

INSTANTIATE_TEST_SUITE_P(Jumps, ClockTest, ::testing::Values(kDay, -kDay));

TEST(FakeClockTest, ReachesEveryClockOfTheDay) {
  const absl::Time before = absl::Now();
  const auto system = std::chrono::system_clock::now();
  const int64_t steady = MonotonicNs();
  jump_s = kDay;
  EXPECT_GE(absl::Now() - before, absl::Seconds(kDay));
  EXPECT_GE(std::chrono::system_clock::now() - system, std::chrono::seconds(kDay));
  EXPECT_LT(Elapsed(steady), absl::Seconds(kDay) / 2);
  jump_s = 0;
}

TEST_P(ClockTest, ADrainLastsAsLongAsItSays) {
  TestServer server(TestOptions(), &control_);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control_.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control_.WaitUntilRunning(1);
  absl::Status drained;
  std::thread drain([&] { drained = server->Shutdown(absl::Seconds(60)); });
  ASSERT_TRUE(Eventually([&] { return !server->serving(); }));
  Jump();
  absl::SleepFor(absl::Milliseconds(200));
  control_.Hold(false);
  EXPECT_EQ(stream.Read().status().code(), 0);
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);  // as all streams do at a drain
  drain.join();
  EXPECT_EQ(drained, absl::OkStatus());
}

TEST_P(ClockTest, ADrainEndsWhenItsTimeIsOver) {
  TestServer server(TestOptions(), &control_);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  TestStream stream(server.stub());  // never half-closed
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  EXPECT_EQ(stream.Read().status().code(), 0);
  control_.Hold(true);
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  control_.WaitUntilRunning(1);
  const int64_t began = MonotonicNs();
  std::thread jump([&] {
    absl::SleepFor(absl::Milliseconds(50));
    Jump();
    absl::SleepFor(absl::Milliseconds(550));
    control_.Hold(false);
  });
  EXPECT_EQ(server->Shutdown(absl::Milliseconds(300)).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_GE(Elapsed(began), absl::Milliseconds(300));
  jump.join();
}

TEST_P(ClockTest, WaitingForServingLastsAsLongAsItSays) {
  control_.Hold(true);
  TestServer server(TestOptions(), &control_);
  control_.WaitUntilRunning(1);  // the warm-up frame
  std::thread jump([] {
    absl::SleepFor(absl::Milliseconds(50));
    Jump();
  });
  const int64_t began = MonotonicNs();
  EXPECT_FALSE(server->WaitUntilServing(absl::Milliseconds(300)));
  EXPECT_GE(Elapsed(began), absl::Milliseconds(300));
  jump.join();
  std::thread release([&] {
    absl::SleepFor(absl::Milliseconds(100));
    Jump();
    absl::SleepFor(absl::Milliseconds(100));
    control_.Hold(false);
  });
  EXPECT_TRUE(server->WaitUntilServing(absl::Seconds(60)));
  release.join();
}

TEST_P(ClockTest, TheCanaryAndStreamsGoOn) {
  ServerOptions options = TestOptions();
  options.stream_idle_timeout = absl::Minutes(1);
  TestServer server(options, &control_);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  Canary canary(server->InProcessChannel());
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  for (uint64_t id = 1; id < 5; ++id) {
    ASSERT_TRUE(stream.Write(FrameMessage(id)));
    EXPECT_EQ(stream.Read().status().code(), 0);
    EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::OkStatus());
    EXPECT_EQ(CheckHealth(server.channel()), kServing);
    Jump();
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// An answer that comes after the jump is still in time.
TEST_P(ClockTest, ACanaryFrameOnItsWayIsAwaited) {
  TestServer server(TestOptions(), &control_);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  Canary canary(server->InProcessChannel());
  control_.Hold(true);
  std::thread jump([&] {
    control_.WaitUntilRunning(1);
    Jump();
    absl::SleepFor(absl::Milliseconds(100));
    control_.Hold(false);
  });
  EXPECT_EQ(canary.Send(absl::Seconds(60)), absl::OkStatus());
  jump.join();
}

// A client that has connected and is about to send keeps its connection.
TEST_P(ClockTest, AHandoffThatHasBegunIsTaken) {
  MemoryPinning pinning;
  SharedMemoryOptions enabled;
  enabled.enabled = true;
  SharedMemory shared(enabled, &pinning, [](const absl::Status&) {});
  const std::string path = UniqueSocketPath();
  auto handoff = Handoff::Start(path, 4, &shared);
  ASSERT_TRUE(handoff.ok()) << handoff.status();
  HandoffClient early(path);
  ASSERT_TRUE(early.connected());
  absl::SleepFor(absl::Milliseconds(50));
  Jump();
  HandoffClient other(path);  // wakes the thread that looks at deadlines
  absl::SleepFor(absl::Milliseconds(50));
  const Memory memory(4096);
  EXPECT_NE(early.HandOver(memory), "");
  EXPECT_NE(other.HandOver(memory), "");
}

// The timeout of a client's call, of one before the jump and of one just after it.
TEST_P(ClockTest, ACallOfAClientIsAwaited) {
  TestServer server(TestOptions(), &control_);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const client::Client client(server.channel());
  const Image image(64, 64);
  control_.Hold(true);
  std::thread jump([&] {
    control_.WaitUntilRunning(1);
    Jump();
    absl::SleepFor(absl::Milliseconds(100));
    control_.Hold(false);
  });
  EXPECT_EQ(client.Detect(DetectorOptions(), image, {}, absl::Seconds(60)).status(), absl::OkStatus());
  jump.join();
  EXPECT_EQ(client.Detect(DetectorOptions(), image, {}, absl::Seconds(60)).status(), absl::OkStatus());
  EXPECT_EQ(client.CheckHealth("", absl::Seconds(60)).status(), absl::OkStatus());
}

}  // namespace
}  // namespace glint::testing
