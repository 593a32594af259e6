// Frames for tracking that a CUDA lane keeps of the images it has found features in: followed like those of a CPU lane,
// which have been written into memory once more. Skips without a usable GPU and says why.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/options.h"
#include "lane/lane.h"
#include "lane/rectified_rows.h"
#include "tests/server/gpu_lanes.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/remap_cases.h"

namespace glint::testing {
namespace {

constexpr Shape kRaw = {376, 240}, kRectified = {350, 230};
constexpr int kPairs = 5, kFramesOfOne = 3, kRight = 2;

LaneSet Lanes(Backend backend, int count) {
  LaneOptions options;
  options.backend = backend;
  options.lanes = count;
  auto set = CreateLanes(options);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

DetectorOptions Detector() {
  DetectorOptions detector = *PresetOptions("orbslam");
  detector.max_features = 500;
  return detector;
}

// A camera that passes a wall, the right eye 9 pixels ahead, through two lenses.
struct Pairs {
  Pairs() {
    for (int i = 0; i < kPairs; ++i) {
      for (const int ahead : {0, 9}) {
        raw.push_back(Image::CopyOf({texture.row(2 * i) + 5 * i + ahead, kRaw.width, kRaw.height, texture.stride()}));
      }
    }
    rows.resize(raw.size());
    for (size_t i = 0; i < raw.size(); ++i) rows[i].Use(raw[i], tables[i % 2]);
  }
  Pixels at(int pair, bool is_right, bool is_raw) const {
    const size_t i = 2 * static_cast<size_t>(pair) + (is_right ? 1 : 0);
    return is_raw ? Pixels(&rows[i]) : Pixels(raw[i]);
  }

  const Image texture = Texture({460, 300}, 7);
  const RemapTable tables[2] = {LensTable(kRaw, kRectified, 0.01, 1.03, -0.05),
                                LensTable(kRaw, kRectified, -0.01, 1.03, -0.05)};
  std::vector<Image> raw;
  std::vector<RectifiedRows> rows;
};

struct Found {
  Features left;
  TrackResult to_right, from_last;  // of the pair's keypoints, and of those of the pair before
};

TrackResult Follow(Lane* lane, TrackFrames* frames, int from, int to, const Features& points) {
  TrackResult result;
  const auto count = static_cast<int>(points.count());
  const TrackInput input{{}, {}, count, points.x.data(), points.y.data(), points.x.data(), points.y.data()};
  const TrackSegment all{from, count};
  EXPECT_TRUE(lane->StartFollow(frames, to, input, {&all, 1}, {}, &result).ok());
  EXPECT_TRUE(lane->FinishFollow(frames, &result).ok());
  return result;
}

// Each pair on another lane, and on that lane another pair before anything is followed. `single`: the left images
// alone.
std::vector<Found> FindAll(const LaneSet& set, const Pairs& pairs, bool is_raw, bool single) {
  const Shape shape = is_raw ? kRectified : kRaw;
  auto frames = set.lanes[0]->MakeTrackFrames(shape, {}, 2000, kFramesOfOne);
  EXPECT_TRUE(frames.ok()) << frames.status();
  std::vector<Found> all(kPairs);
  StereoPairResult pair, other;
  StageTimes times;
  for (int i = 0; i < kPairs; ++i) {
    Found& found = all[static_cast<size_t>(i)];
    Lane* const lane = set.lanes[static_cast<size_t>(i) % set.lanes.size()].get();
    const Pixels left = pairs.at(i, false, is_raw), right = pairs.at(i, true, is_raw);
    const int number = i % 2;
    if (single) {
      EXPECT_TRUE(lane->Run(Detector(), left, {}, &found.left, &times).ok());
      EXPECT_TRUE(lane->KeepTrackFrame(frames->get(), number, FoundImage::kOnly, left).ok());
      EXPECT_TRUE(lane->ReleasePixels(frames->get()).ok());
      EXPECT_TRUE(lane->Run(Detector(), pairs.at(kPairs - 1 - i, true, is_raw), {}, &other.left, &times).ok());
    } else {
      EXPECT_TRUE(lane->RunStereo(Detector(), {}, {left, right}, &pair, &times).ok());
      EXPECT_TRUE(lane->KeepTrackFrame(frames->get(), number, FoundImage::kLeft, left).ok());
      EXPECT_TRUE(lane->KeepTrackFrame(frames->get(), kRight, FoundImage::kRight, right).ok());
      EXPECT_TRUE(lane->ReleasePixels(frames->get()).ok());
      std::swap(found.left, pair.left);
      EXPECT_TRUE(lane->RunStereo(Detector(), {}, {right, left}, &other, &times).ok());
      found.to_right = Follow(lane, frames->get(), number, kRight, found.left);
    }
    if (i > 0) {
      found.from_last = Follow(lane, frames->get(), 1 - number, number, all[static_cast<size_t>(i) - 1].left);
    }
  }
  return all;
}

// The number of points that were tracked.
int ExpectSame(const TrackResult& expected, const TrackResult& actual) {
  EXPECT_EQ(expected.x, actual.x);
  EXPECT_EQ(expected.y, actual.y);
  EXPECT_EQ(expected.status, actual.status);
  int tracked = 0;
  for (const TrackStatus status : expected.status) tracked += status == TrackStatus::kTracked ? 1 : 0;
  return tracked;
}

TEST(GpuLaneFrames, AreTheImagesThatWereFoundIn) {
  if (const auto set = OneGpuLane(); !set.ok()) GTEST_SKIP() << set.status().message();
  const Pairs pairs;
  const LaneSet cpu = Lanes(Backend::kCpu, 1), gpu = Lanes(Backend::kCuda, 2);
  EXPECT_FALSE(cpu.lanes[0]->remaps());
  EXPECT_TRUE(gpu.lanes[0]->remaps());
  for (const bool is_raw : {false, true}) {
    for (const bool single : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "raw " << is_raw << ", single " << single);
      const std::vector<Found> expected = FindAll(cpu, pairs, is_raw, single);
      const std::vector<Found> actual = FindAll(gpu, pairs, is_raw, single);
      int tracked = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE(i);
        EXPECT_TRUE(SameFeatures(expected[i].left, actual[i].left));
        tracked += ExpectSame(expected[i].to_right, actual[i].to_right);
        tracked += ExpectSame(expected[i].from_last, actual[i].from_last);
      }
      EXPECT_GT(tracked, single ? 800 : 1600);
    }
  }
}

}  // namespace
}  // namespace glint::testing
