// Tracking on the GPU, against features/reference/tracker.h element for element. Skips without a usable GPU and says
// why.
#include "cuda/track/tracker.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/devices.h"
#include "cuda/runtime/api.h"
#include "cuda/runtime/hooks.h"
#include "features/reference/tracker.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/track_cases.h"

namespace glint::cuda {
namespace {

using testing::RandomTrackCase;

class CudaTrackTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cudaDeviceProp properties{};
    device_ = new absl::Status(CheckDevice(&CudaApi(), 0, &properties));
    if (!device_->ok()) std::cout << "GLINT_SKIP_ALL: " << device_->message() << std::endl;
  }
  static void TearDownTestSuite() { delete device_; }
  void SetUp() override {
    if (!device_->ok()) GTEST_SKIP() << device_->message();
  }

  static std::unique_ptr<Tracker> Make(int max_points, Shape max_shape, int sm_limit = 0) {
    TrackerOptions options;
    options.max_points = max_points;
    options.max_shape = max_shape;
    options.sm_limit = sm_limit;
    auto tracker = Tracker::Create(options);
    EXPECT_TRUE(tracker.ok()) << tracker.status();
    return tracker.ok() ? *std::move(tracker) : nullptr;
  }

 private:
  static absl::Status* device_;
};
absl::Status* CudaTrackTest::device_ = nullptr;

// The pyramid as the device makes it.
class Pyramid {
 public:
  Pyramid(const ImageView& image, int levels) {
    images_.push_back(Image::CopyOf(image));
    for (int l = 1; l < levels; ++l) images_.push_back(reference::HalveForTracking(images_.back()));
    for (const Image& level : images_) views_.push_back(level);
  }
  TrackPyramid view() const { return {views_.data(), static_cast<int>(views_.size())}; }

 private:
  std::vector<Image> images_;
  std::vector<ImageView> views_;
};

::testing::AssertionResult IsTheReference(Tracker* tracker, const TrackInput& points, const ImageView& from,
                                          const ImageView& to, const TrackOptions& options,
                                          testing::TrackStatusCounts* seen) {
  const int levels = UsedTrackLevels(options, from.shape());
  const Pyramid from_pyramid(from, levels);
  const Pyramid to_pyramid(to, levels);
  TrackInput input = points;
  input.from = from_pyramid.view();
  input.to = to_pyramid.view();
  absl::Status status = tracker->SetFrame(0, from);
  if (status.ok()) status = tracker->SetFrame(1, to);
  TrackResult actual;
  const FramePoints frame_points = {0, 1, points.count, points.x, points.y, points.to_x, points.to_y};
  if (status.ok()) status = tracker->Track(frame_points, options, &actual);
  if (!status.ok()) return ::testing::AssertionFailure() << status;
  const TrackResult expected = reference::Track(input, options);
  if (seen != nullptr) seen->Add(expected);
  return testing::SameTracks(expected, actual);
}

TEST_F(CudaTrackTest, IsTheReferenceOnAThousandRandomCases) {
  const auto tracker = Make(64, {160, 120});
  ASSERT_NE(tracker, nullptr);
  testing::TrackStatusCounts seen;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const RandomTrackCase test(seed);
    const TrackInput& input = test.input();
    ASSERT_TRUE(IsTheReference(tracker.get(), input, input.from.levels[0], input.to.levels[0], test.options(), &seen))
        << test.name();
  }
  seen.ExpectAll();
}

TEST_F(CudaTrackTest, ManyPointsOnFewMultiprocessors) {
  const auto tracker = Make(3000, {752, 480}, 8);
  if (tracker == nullptr) return;
  const Image from = testing::Texture({752, 480}, 1, 3);
  const Image to = testing::Texture({752, 480}, 1, 2);
  testing::Random random(3);
  std::vector<float> x, y;
  for (int i = 0; i < 3000; ++i) {
    x.push_back(random.Uniform(-0.5f, 751.4f));
    y.push_back(random.Uniform(-0.5f, 479.4f));
  }
  TrackInput input;
  input.count = 3000;
  input.x = x.data();
  input.y = y.data();
  EXPECT_TRUE(IsTheReference(tracker.get(), input, from, to, {}, nullptr));
}

// Predictions so far off that patches leave the windows that were loaded, in all directions.
TEST_F(CudaTrackTest, PointsThatWander) {
  const auto tracker = Make(40, {260, 190});
  ASSERT_NE(tracker, nullptr);
  testing::Random random(4);
  for (int i = 0; i < 72; ++i) {
    SCOPED_TRACE(i);
    const Image scene = testing::Texture({300, 220}, static_cast<uint32_t>(i), 4);
    const ImageView from{scene.row(0), 260, 190, scene.stride()};
    const ImageView to{scene.row(i % 29) + i * 7 % 37, 260, 190, scene.stride()};
    std::vector<float> x, y, to_x, to_y;
    for (int p = 0; p < 40; ++p) {
      x.push_back(random.Uniform(0, 259));
      y.push_back(random.Uniform(0, 189));
      to_x.push_back(x.back() + random.Uniform(-25, 25));
      to_y.push_back(y.back() + random.Uniform(-25, 25));
    }
    TrackInput input;
    input.count = 40;
    input.x = x.data();
    input.y = y.data();
    input.to_x = to_x.data();
    input.to_y = to_y.data();
    TrackOptions options;
    options.levels = 1 + i % 3;
    options.patch_size = std::vector<int>{16, 8, 21, 32, 13, 3}[static_cast<size_t>(i) % 6];
    options.fine_levels = i % 2 == 0 ? 1 : kMaxTrackLevels;
    options.intensity = static_cast<IntensityModel>(i / 3 % 4);
    options.epsilon = 0;
    options.max_backward_error = i % 5 == 0 ? 1.0f : 0.0f;
    EXPECT_TRUE(IsTheReference(tracker.get(), input, from, to, options, nullptr));
  }
}

// Points of several frames at once, and two trackers at the same time.
TEST_F(CudaTrackTest, SegmentsAreThoseOfTheirFrames) {
  TrackerOptions options;
  options.max_points = 30;
  options.max_shape = {160, 120};
  options.frames = 4;
  std::array<std::unique_ptr<Tracker>, 2> trackers;
  for (auto& tracker : trackers) {
    auto made = Tracker::Create(options);
    ASSERT_TRUE(made.ok()) << made.status();
    tracker = *std::move(made);
  }
  const Image scene = testing::Texture({200, 150}, 5, 3);
  testing::Random random(6);
  std::vector<float> x, y, to_x, to_y;
  for (int i = 0; i < 30; ++i) {
    x.push_back(random.Uniform(0, 159));
    y.push_back(random.Uniform(0, 119));
    to_x.push_back(x.back() + random.Uniform(-2, 2));
    to_y.push_back(y.back() + random.Uniform(-2, 2));
  }
  TrackInput input;
  input.count = 30;
  input.x = x.data();
  input.y = y.data();
  input.to_x = to_x.data();
  input.to_y = to_y.data();
  const std::vector<TrackSegment> segments = {{3, 11}, {0, 0}, {1, 19}};
  std::vector<std::vector<ImageView>> frames;
  for (int t = 0; t < 2; ++t) {
    frames.emplace_back();
    for (int f = 0; f < 4; ++f) frames.back().push_back({scene.row(2 * f + t) + 3 * f, 160, 120, scene.stride()});
  }
  for (int round = 0; round < 2; ++round) {
    for (size_t t = 0; t < 2; ++t) {
      for (int f = 0; f < 4; ++f) {
        ASSERT_TRUE(trackers[t]->SetFrame(f, frames[t][static_cast<size_t>(f)]).ok());
      }
      const absl::Status started = trackers[t]->Start(2, input, segments, {});
      ASSERT_TRUE(started.ok()) << started;
      // One that nobody asked for in the end.
      if (round == 0) {
        ASSERT_TRUE(trackers[t]->Start(2, input, segments, {}).ok());
      }
    }
    for (size_t t = 0; t < 2; ++t) {
      TrackResult actual, expected;
      ASSERT_TRUE(trackers[t]->Finish(&actual).ok());
      expected.Resize(30);
      int begin = 0;
      for (const TrackSegment& segment : segments) {
        const Pyramid from(frames[t][static_cast<size_t>(segment.frame)], 5);
        const Pyramid to(frames[t][2], 5);
        TrackInput part = input;
        part.from = from.view();
        part.to = to.view();
        part.count = segment.count;
        for (const float** array : {&part.x, &part.y, &part.to_x, &part.to_y}) *array += begin;
        expected.Put(static_cast<size_t>(begin), reference::Track(part, {}));
        begin += segment.count;
      }
      EXPECT_TRUE(testing::SameTracks(expected, actual));
      ASSERT_TRUE(trackers[t]->Finish(&actual).ok());
      EXPECT_EQ(actual.count(), 0u);  // there was no other Start()
    }
  }
}

// Few points of few levels have a warp for each level, others one: both are the reference.
TEST_F(CudaTrackTest, AWarpALevelOrAPoint) {
  const auto tracker = Make(64, {160, 120}, 8);
  ASSERT_NE(tracker, nullptr);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const RandomTrackCase test(seed);
    const TrackInput& input = test.input();
    TrackOptions options = test.options();
    options.levels = 2 + static_cast<int>(seed % 6);
    ASSERT_TRUE(IsTheReference(tracker.get(), input, input.from.levels[0], input.to.levels[0], options, nullptr))
        << test.name();
  }
}

TEST_F(CudaTrackTest, LentPixelsAreThoseOfAFrame) {
  const auto tracker = Make(100, {160, 120});
  ASSERT_NE(tracker, nullptr);
  const Image from = testing::Texture({160, 120}, 1, 3), to = testing::Texture({160, 120}, 1, 2);
  constexpr int kStride = 170;
  auto memory = PinnedMemory::Allocate(kStride * 120);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const ImageView lent{memory->data(), 160, 120, kStride};
  testing::Random random(5);
  std::vector<float> x, y;
  for (int i = 0; i < 100; ++i) {
    x.push_back(random.Uniform(0, 159));
    y.push_back(random.Uniform(0, 119));
  }
  const FramePoints points = {0, 1, 100, x.data(), y.data(), nullptr, nullptr};
  TrackResult expected, actual;
  ASSERT_TRUE(tracker->SetFrame(0, from).ok());
  ASSERT_TRUE(tracker->SetFrame(1, to).ok());
  ASSERT_TRUE(tracker->Track(points, {}, &expected).ok());
  for (const int frame : {0, 1}) {
    const Image& image = frame == 0 ? from : to;
    for (int row = 0; row < 120; ++row) std::copy_n(image.row(row), 160, memory->data() + row * kStride);
    const auto taken = tracker->LendFrame(frame, lent);
    ASSERT_TRUE(taken.ok()) << taken.status();
    ASSERT_TRUE(*taken);
    ASSERT_TRUE(tracker->Release().ok());
    std::fill_n(memory->data(), kStride * 120, uint8_t{0});
  }
  ASSERT_TRUE(tracker->Track(points, {}, &actual).ok());
  EXPECT_TRUE(testing::SameTracks(expected, actual));
  const auto pageable = tracker->LendFrame(0, from);
  ASSERT_TRUE(pageable.ok()) << pageable.status();
  EXPECT_FALSE(*pageable);
}

// Every level, of sides that are odd, of one pixel, and beyond a block's tile: where patches are flat to the border,
// pixels beyond it show.
TEST_F(CudaTrackTest, LevelsOfAnySize) {
  const auto tracker = Make(9, {150, 150});
  ASSERT_NE(tracker, nullptr);
  const std::vector<float> at = {0.1f, 0.5f, 0.9f};
  for (const Shape shape : {Shape{33, 31}, Shape{2, 2}, Shape{3, 150}, Shape{150, 5}, Shape{129, 65}, Shape{64, 32},
                            Shape{67, 133}, Shape{1, 9}, Shape{128, 128}}) {
    SCOPED_TRACE(::testing::Message() << shape.width << "x" << shape.height);
    std::vector<float> x, y;
    for (const float u : at) {
      for (const float v : at) {
        x.push_back(u * static_cast<float>(shape.width - 1));
        y.push_back(v * static_cast<float>(shape.height - 1));
      }
    }
    TrackInput input;
    input.count = 9;
    input.x = x.data();
    input.y = y.data();
    TrackOptions options;
    options.min_eigenvalue = 0;
    for (const int levels : {1, 2, 3, 4, 5, 8}) {
      options.levels = levels;
      options.fine_levels = levels % 2;
      EXPECT_TRUE(
          IsTheReference(tracker.get(), input, testing::Noise(shape, 1), testing::Noise(shape, 2), options, nullptr))
          << levels;
    }
  }
}

TEST_F(CudaTrackTest, RefusesWhatItHasNoRoomFor) {
  const auto tracker = Make(10, {64, 48});
  ASSERT_NE(tracker, nullptr);
  EXPECT_EQ(tracker->SetFrame(2, testing::Flat({64, 48}, 1)).message(), "frame: 2 is not in 0..1");
  EXPECT_EQ(tracker->SetFrame(0, testing::Flat({65, 48}, 1)).message(), "image.width: 65 is not in 1..64");
  const std::vector<float> x(11, 5);
  FramePoints points;
  points.count = 11;
  points.x = points.y = x.data();
  TrackResult result;
  EXPECT_EQ(tracker->Track(points, {}, &result).message(), "count: 11 is not in 0..10");
  points.count = 1;
  EXPECT_EQ(tracker->Track(points, {}, &result).message(), "from: frame 0 is not set");
  TrackerOptions options;
  options.levels = 9;
  EXPECT_EQ(Tracker::Create(options).status().message(), "levels: 9 is not in 1..8");
  options.levels = 4;
  const auto flat = Tracker::Create(options);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_EQ((*flat)->Track(points, {}, &result).message(), "levels: 5 is not in 1..4");
  ASSERT_TRUE(tracker->SetFrame(0, testing::Flat({64, 48}, 1)).ok());
  ASSERT_TRUE(tracker->SetFrame(1, testing::Flat({63, 48}, 1)).ok());
  EXPECT_EQ(tracker->Track(points, {}, &result).message(), "to: 63x48, but frame 0 is 64x48");
  points.to = 0;
  EXPECT_TRUE(tracker->Track(points, {}, &result).ok());
  EXPECT_EQ(result.status[0], TrackStatus::kFlat);
}

}  // namespace
}  // namespace glint::cuda
