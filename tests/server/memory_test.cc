// The memory that a server says it may take is enough for what clients can make it take, and its parts are bounds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "server/memory/memory_bound.h"
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

// What a lane takes of one picture, then of a pair of as many pixels and keypoints, then of a match of as many
// descriptors: all of it is within the lane's share, which also has room for decoding.
void ExpectWithinShare(int threads) {
  const Image image = Noise(1920, 1080);
  const ImageView halves[2] = {{image.row(0), 1920, 540, image.stride()}, {image.row(540), 1920, 540, image.stride()}};
  const auto pixels = static_cast<int64_t>(image.shape().pixels());
  ServerOptions options;
  options.lanes.backend = Backend::kCpu;
  options.lanes.lanes = 1;
  options.lanes.threads_per_lane = threads;
  options.lanes.max_image_pixels = pixels;
  options.max_features = 20000;
  const int64_t bound = ComputeMemoryBound(options, 1).lanes;
  auto set = CreateLanes(options.lanes);
  ASSERT_TRUE(set.ok());
  Lane& lane = *set->lanes[0];
  const int64_t before = BytesInUse();
  for (const char* preset : {"orb", "oriented_fast"}) {
    DetectorOptions detector = *PresetOptions(preset);
    detector.max_features = options.max_features;
    detector.levels = 12;
    detector.scale_factor = 1.05f;  // the largest pyramid there is
    detector.fast_threshold = 1;
    detector.descriptor = Descriptor::kRbrief;
    detector.orientation = Orientation::kIntensityCentroid;
    Features features;
    StageTimes times;
    ASSERT_TRUE(lane.Run(detector, image, {}, &features, &times).ok());
    EXPECT_GT(features.count(), 10000u);
    const int64_t of_frame = BytesInUse() - before;
    detector.max_features /= 2;
    StereoFound found;
    ASSERT_TRUE(lane.RunStereo(detector, {}, halves[0], halves[1], &found, &times).ok());
    EXPECT_GT(found.right.count(), 5000u);
    const int64_t of_pair = BytesInUse() - before - of_frame;
    MatchOptions nearest;
    nearest.k = kMaxMatchK;
    MatchResult matches;
    const auto view = [](const Features& f) {
      return DescriptorView{f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
    };
    ASSERT_TRUE(lane.Match({view(found.left), view(found.right), {}, {}}, nearest, &matches).ok());
    const int64_t all = BytesInUse() - before;
    EXPECT_LE(all, bound) << preset;
    std::cout << preset << ", " << threads << " threads: " << of_frame / pixels << " bytes a pixel, a pair "
              << of_pair / pixels << " more, a match " << (all - of_frame - of_pair) / options.max_features
              << " bytes a descriptor; of " << bound / pixels << " a pixel\n";
  }
}

TEST(MemoryBoundTest, ALaneTakesNoMoreThanItsShare) { ExpectWithinShare(1); }
TEST(MemoryBoundTest, NorDoesOneOfTwoThreads) { ExpectWithinShare(2); }

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
