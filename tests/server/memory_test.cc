// The memory that a server says it may take is enough for what clients can make it take, and its parts are bounds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "server/memory_bound.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

int64_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Noise that makes corners everywhere.
Image Noise(int width, int height) {
  Image image(width, height);
  uint32_t state = 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      state = state * 1664525u + 1013904223u;
      image.row(y)[x] = static_cast<uint8_t>(state >> 24);
    }
  }
  return image;
}

TEST(MemoryBoundTest, ALaneTakesNoMoreThanItsShare) {
  const Image image = Noise(1920, 1080);
  LaneOptions options;
  options.backend = Backend::kCpu;
  options.lanes = 1;
  auto set = CreateLanes(options);
  ASSERT_TRUE(set.ok());
  for (const char* preset : {"orb", "oriented_fast"}) {
    DetectorOptions detector = *PresetOptions(preset);
    detector.max_features = 20000;
    detector.levels = 12;
    detector.scale_factor = 1.05f;  // the largest pyramid there is
    detector.fast_threshold = 1;
    Features features;
    StageTimes times;
    const int64_t before = BytesInUse();
    ASSERT_TRUE(set->lanes[0]->Run(detector, image, {}, &features, &times).ok());
    EXPECT_GT(features.count(), 10000u);
    EXPECT_LE(BytesInUse() - before,
              image.shape().pixels() * kLaneBytesPerPixel + detector.max_features * kLaneBytesPerFeature)
        << preset;
  }
}

// Every stream writes as much as it can while the lane takes nothing.
TEST(MemoryBoundTest, ClientsCannotMakeAServerExceedIt) {
  constexpr int kStreams = 6, kSide = 1000;  // a megabyte a frame
  LaneControl control;
  ServerOptions options = TestOptions();
  options.max_sessions = kStreams;
  options.max_in_flight = 8;
  options.max_message_bytes = 1 << 20;
  options.max_pending_bytes = 4 << 20;
  options.max_features = 100;
  options.lanes.max_image_pixels = kSide * kSide;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const MemoryBound bound = ComputeMemoryBound(options, 1);
  EXPECT_EQ(server->memory_bound_bytes(), bound.total());
  control.Hold(true);
  const int64_t before = BytesInUse();
  std::vector<std::unique_ptr<TestStream>> streams;
  std::vector<std::thread> writers;
  std::atomic<int> written{0};
  for (int s = 0; s < kStreams; ++s) {
    streams.push_back(std::make_unique<TestStream>(server.stub()));
    v1::DetectStreamRequest first = OptionsMessage();
    first.mutable_options()->set_overload_policy(static_cast<v1::OverloadPolicy>(1 + s % 4));
    ASSERT_TRUE(streams.back()->Write(first));
  }
  for (int s = 0; s < kStreams; ++s) {
    writers.emplace_back([&, s] {
      const v1::DetectStreamRequest frame = FrameMessage(1, kSide, kSide);
      for (int i = 0; i < 60 && streams[static_cast<size_t>(s)]->Write(frame); ++i) ++written;
    });
  }
  // Until no writer gets on. This process holds the clients' ends, too: each has its message twice, and what the
  // transport holds is its own.
  const int64_t clients = kStreams * 3 * int64_t{options.max_message_bytes};
  for (int before_pause = -1; before_pause != written;) {
    before_pause = written;
    for (int i = 0; i < 20; ++i) {
      EXPECT_LE(BytesInUse() - before, bound.total() + clients);
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  EXPECT_GT(written, kStreams);
  for (const auto& stream : streams) stream->Cancel();
  control.Hold(false);
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
}

}  // namespace
}  // namespace glint::testing
