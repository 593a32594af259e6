// A client that disappears at any point of a stream leaves nothing behind: sessions, calls, file descriptors and memory
// return to where they were.
#include <dirent.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/harness.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

int OpenDescriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// Bytes that malloc has handed out and not got back: unlike resident pages, free of the allocator's hoarding.
size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Points at which a client can go, in the order of a stream's life.
enum class Point {
  kBeforeOptions,
  kAfterOptions,
  kFrameOnALane,
  kFramesInTheQueue,
  kWindowFull,
  kWaitingForRoom,
  kRepliesUnread,
  kAfterHalfClose,
};
constexpr Point kPoints[] = {Point::kBeforeOptions,    Point::kAfterOptions,  Point::kFrameOnALane,
                             Point::kFramesInTheQueue, Point::kWindowFull,    Point::kWaitingForRoom,
                             Point::kRepliesUnread,    Point::kAfterHalfClose};

class LeakTest : public ::testing::Test {
 protected:
  LeakTest() : server_(Options(), &control_) {
    EXPECT_TRUE(server_->WaitUntilServing(absl::Seconds(10)));
    address_ = server_->addresses()[0];
  }

  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.queue_capacity = 6;
    options.max_in_flight = 4;
    return options;
  }

  // A client with a connection of its own that gets to `point` and goes: by cancelling, or by closing the connection.
  void LiveAndDie(Point point, bool cancel) {
    auto channel = Dial(address_);
    auto stub = v1::FeatureDetection::NewStub(channel);
    control_.Hold(point != Point::kRepliesUnread);
    TestStream stream(stub.get());
    // Another stream of the same client makes the queue full, so that this one's frames wait outside it.
    TestStream other(stub.get());
    if (point == Point::kWaitingForRoom) WriteFrames(&other, 4);
    switch (point) {
      case Point::kBeforeOptions:
        break;
      case Point::kAfterOptions:
        stream.Write(OptionsMessage());
        break;
      case Point::kFrameOnALane:
        WriteFrames(&stream, 1);
        control_.WaitUntilRunning(1);
        break;
      case Point::kFramesInTheQueue:
      case Point::kRepliesUnread:
        WriteFrames(&stream, 3);
        break;
      case Point::kWindowFull:
      case Point::kWaitingForRoom:
        WriteFrames(&stream, 8);
        break;
      case Point::kAfterHalfClose:
        WriteFrames(&stream, 2);
        stream.WritesDone();
        break;
    }
    if (cancel) {
      stream.Cancel();
      other.Cancel();
    }
    // Else the streams' contexts go without a word, which resets them, and the channel's connection closes.
  }

  static void WriteFrames(TestStream* stream, uint64_t count) {
    stream->Write(OptionsMessage());
    for (uint64_t id = 1; id <= count; ++id) stream->Write(FrameMessage(id, 256, 256));
  }

  void ExpectAllGone() {
    control_.Hold(false);
    EXPECT_TRUE(Eventually([&] { return server_->sessions() == 0; })) << server_->sessions();
    EXPECT_TRUE(Eventually([&] { return server_->calls() == 0; })) << server_->calls();
  }

  LaneControl control_;
  TestServer server_;
  std::string address_;
};

TEST_F(LeakTest, SessionsEndWhereverTheClientGoes) {
  for (const Point point : kPoints) {
    for (const bool cancel : {true, false}) {
      SCOPED_TRACE(static_cast<int>(point));
      LiveAndDie(point, cancel);
      ExpectAllGone();
      // And a good client is served.
      grpc::ClientContext context;
      v1::DetectResponse response;
      ASSERT_TRUE(server_.stub()->Detect(&context, GrayRequest(), &response).ok());
    }
  }
}

TEST_F(LeakTest, ACallThatIsCancelledOnItsLaneEnds) {
  for (int i = 0; i < 20; ++i) {
    control_.Hold(true);
    grpc::ClientContext context;
    v1::DetectResponse response;
    std::thread canceller([&] {
      control_.WaitUntilRunning(1);
      context.TryCancel();
    });
    EXPECT_EQ(server_.stub()->Detect(&context, GrayRequest(), &response).error_code(), grpc::StatusCode::CANCELLED);
    canceller.join();
    ExpectAllGone();
  }
}

TEST_F(LeakTest, DescriptorsAndMemoryReturnToTheStart) {
  std::mt19937 random(1);
  const auto round = [&] {
    for (const Point point : kPoints) LiveAndDie(point, random() % 2 == 0);
    ExpectAllGone();
  };
  for (int i = 0; i < 12; ++i) round();  // fills pools
  // Connections close in the background.
  int settled = 0;
  ASSERT_TRUE(Eventually([&] { return std::exchange(settled, OpenDescriptors()) == OpenDescriptors(); }));
  const int descriptors = OpenDescriptors();
  const size_t bytes = BytesInUse();
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds; ++i) round();
  EXPECT_TRUE(Eventually([&] { return OpenDescriptors() <= descriptors; }))
      << OpenDescriptors() << " file descriptors, " << descriptors << " before";
  // 100 rounds made 1600 streams, some 3 KiB each here alone, over 800 connections, some 10 KiB each, and sent over
  // 2800 frames of 64 KiB: losing any of these in one of eight places would be seen.
  constexpr size_t kAllowance = 192 << 10;
  EXPECT_TRUE(Eventually([&] { return BytesInUse() < bytes + kAllowance; }))
      << BytesInUse() << " bytes in use, " << bytes << " before";
}

}  // namespace
}  // namespace glint::testing

// malloc without a cache for each thread: gRPC starts threads at any time, and what their caches keep, up to 231 KiB
// each, looks like a leak.
int main(int argc, char** argv) {
  if (std::getenv("GLIBC_TUNABLES") == nullptr) {
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", argv);
    std::perror("execv");
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
