// Localization on lanes: a lane as the front end finds what the CPU's detector, matchers and tracker find without one,
// bit for bit, whichever lane has the pair; and what it fails by is answered.
#include "slam/front_end/lane_front_end.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "features/reference/remap.h"
#include "lane/lane.h"
#include "lane/rectified_rows.h"
#include "tests/server/localize_pairs.h"
#include "tests/slam/cpu_front_end.h"
#include "tests/support/remap_cases.h"

namespace glint::testing {
namespace {

using slam::CpuFrontEnd;
using slam::LaneFrontEnd;

constexpr Shape kShape = {320, 200};
constexpr int kFeatures = 300;

std::vector<std::unique_ptr<Lane>> CpuLanes(int count, int threads) {
  LaneOptions options;
  options.backend = Backend::kCpu;
  options.lanes = count;
  options.threads_per_lane = threads;
  auto set = CreateLanes(options);
  EXPECT_TRUE(set.ok()) << set.status();
  return std::move(set->lanes);
}

enum class Step { kNone, kOne, kStereo, kMakeFrames, kSetFrame, kFollow, kMatch };

// A lane whose step fails, from the `after`-th time on that it is asked for.
class FailingLane final : public Lane {
 public:
  explicit FailingLane(std::unique_ptr<Lane> lane) : lane_(std::move(lane)) {}
  void FailAt(Step step, int after = 0) {
    step_ = step;
    left_ = after;
  }

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    if (Fails(Step::kOne)) return Failure();
    return lane_->Run(options, image, mask, features, times);
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes* times) override {
    if (Fails(Step::kStereo)) return Failure();
    return lane_->RunStereo(options, stereo, pair, found, times);
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    if (Fails(Step::kMatch)) return Failure();
    return lane_->Match(input, options, result);
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options, int points,
                                                               int count) override {
    if (Fails(Step::kMakeFrames)) return Failure();
    return lane_->MakeTrackFrames(shape, options, points, count);
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    if (Fails(Step::kSetFrame)) return Failure();
    return lane_->SetTrackFrame(frames, number, image);
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult* result) override {
    if (Fails(Step::kFollow)) return Failure();
    return lane_->StartFollow(frames, to, points, segments, options, result);
  }
  absl::Status FinishFollow(TrackFrames* frames, TrackResult* result) override {
    return lane_->FinishFollow(frames, result);
  }
  absl::Status fatal() const override { return lane_->fatal(); }
  const std::string& device() const override { return lane_->device(); }

 private:
  bool Fails(Step step) { return step == step_ && left_-- <= 0; }
  static absl::Status Failure() { return absl::InternalError("the device"); }

  const std::unique_ptr<Lane> lane_;
  Step step_ = Step::kNone;
  int left_ = 0;
};

void ExpectSame(const slam::StereoFrame& a, const slam::StereoFrame& b) {
  EXPECT_EQ(a.left.x, b.left.x);
  EXPECT_EQ(a.left.descriptors, b.left.descriptors);
  EXPECT_EQ(a.is_stereo, b.is_stereo);
  EXPECT_EQ(a.disparity, b.disparity);
  EXPECT_EQ(a.vertical_disparity, b.vertical_disparity);
  EXPECT_EQ(a.levels, b.levels);
  EXPECT_EQ(a.scale, b.scale);
}

// From the reference frame to the last one, as if that were a step further along the wall. The number of points that
// were not lost.
ptrdiff_t ExpectSameFollowed(const Features& from, slam::FrontEnd* expected, slam::FrontEnd* actual) {
  std::vector<float> to_x = from.x, to_y = from.y;
  for (float& v : to_x) v -= kStep;
  std::vector<float> lane_x = to_x, lane_y = to_y;
  std::vector<uint8_t> followed, lane_followed;
  expected->Follow(from.x, from.y, &to_x, &to_y, &followed);
  actual->Follow(from.x, from.y, &lane_x, &lane_y, &lane_followed);
  EXPECT_EQ(followed, lane_followed);
  EXPECT_EQ(to_x, lane_x);
  EXPECT_EQ(to_y, lane_y);
  return std::count(followed.begin(), followed.end(), 1);
}

TEST(LaneFrontEnd, IsTheCpusOnWhicheverLane) {
  const std::vector<Pair> pairs = PairsAlongAWall(kShape, 6);
  const DetectorOptions detector = WallOptions(kShape, kFeatures).detector;
  std::vector<std::unique_ptr<Lane>> lanes = CpuLanes(2, 1);
  lanes.push_back(std::move(CpuLanes(1, 3).front()));
  CpuFrontEnd expected(detector, 1);
  LaneFrontEnd on_lanes(detector), on_its_own(detector, 2);
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    on_lanes.Begin(lanes[i % lanes.size()].get());
    slam::StereoFrame a;
    ASSERT_TRUE(expected.Find({pairs[i].left, pairs[i].right}, &a).ok());
    for (LaneFrontEnd* actual : {&on_lanes, &on_its_own}) {
      slam::StereoFrame b;
      ASSERT_TRUE(actual->Find({pairs[i].left, pairs[i].right}, &b).ok());
      ExpectSame(a, b);
      EXPECT_GT(actual->stages().detect_ns, 0);
      EXPECT_GT(actual->match_ns(), 0);
      if (i > 0) ExpectSameFollowed(a.left, &expected, actual);  // back to the kept one
      if (i % 3 == 0) actual->SetReferenceFrame();
      EXPECT_TRUE(actual->status().ok()) << actual->status();
    }
    if (i % 3 == 0) expected.SetReferenceFrame();
  }
}

// Of a single image, as of one with depths, before and after pairs.
TEST(LaneFrontEnd, IsTheCpusForOneImage) {
  const std::vector<Pair> pairs = PairsAlongAWall(kShape, 5);
  const DetectorOptions detector = WallOptions(kShape, kFeatures).detector;
  std::vector<std::unique_ptr<Lane>> lanes = CpuLanes(2, 1);
  lanes.push_back(std::move(CpuLanes(1, 3).front()));
  CpuFrontEnd expected(detector, 2);
  LaneFrontEnd actual(detector);
  Image some = Flat(kShape, 255);  // a mask, of some of them
  for (int y = 0; y < 20; ++y) std::fill_n(some.row(y), kShape.width, uint8_t{0});
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    actual.Begin(lanes[i % lanes.size()].get());
    slam::StereoFrame a, b;
    if (i == 2) {
      const PixelPair pair{pairs[i].left, pairs[i].right, some, some};
      ASSERT_TRUE(expected.Find(pair, &a).ok());
      ASSERT_TRUE(actual.Find(pair, &b).ok());
    } else {
      const ImageView mask = i == 3 ? some.view() : ImageView();
      ASSERT_TRUE(expected.FindOne(pairs[i].left, mask, &a).ok());
      ASSERT_TRUE(actual.FindOne(pairs[i].left, mask, &b).ok());
      EXPECT_EQ(b.is_stereo, std::vector<uint8_t>(b.left.count(), 0));
    }
    EXPECT_GT(b.left.count(), 100u);
    ExpectSame(a, b);
    EXPECT_GT(actual.stages().detect_ns, 0);
    if (i > 0) {  // back to the one before
      EXPECT_GT(ExpectSameFollowed(a.left, &expected, &actual), 20);
    }
    expected.SetReferenceFrame();
    actual.SetReferenceFrame();
    EXPECT_TRUE(actual.status().ok()) << actual.status();
  }
}

// Raw pairs, as a lane has them whose device remaps: without a view of what they become.
class RawPairs {
 public:
  // A bit larger in the middle of the rectified images, of which each has fewer pixels.
  static constexpr Shape kRaw = {360, 230};

  explicit RawPairs(int count) : raw_(PairsAlongAWall(kRaw, count)), rows_(2 * raw_.size()) {
    for (size_t i = 0; i < raw_.size(); ++i) {
      rows_[2 * i].Use(raw_[i].left, table_);
      rows_[2 * i + 1].Use(raw_[i].right, table_);
    }
  }
  std::vector<Pair>& raw() { return raw_; }
  PixelPair At(size_t i) const { return {&rows_[2 * i], &rows_[2 * i + 1]}; }
  Pair Rectified(size_t i) const {
    Pair pair;
    reference::Remap(raw_[i].left, table_, &pair.left);
    reference::Remap(raw_[i].right, table_, &pair.right);
    return pair;
  }

 private:
  const RemapTable table_ = LensTable(kRaw, kShape, 0.01, 1.02, 0.03);
  std::vector<Pair> raw_;
  std::vector<RectifiedRows> rows_;
};

TEST(LaneFrontEnd, FindsInRawImagesWhatIsInRectifiedOnes) {
  const RawPairs pairs(4);
  const DetectorOptions detector = WallOptions(kShape, kFeatures).detector;
  CpuFrontEnd expected(detector, 1);
  LaneFrontEnd actual(detector, 1);
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const Pair rectified = pairs.Rectified(i);
    const PixelPair raw = pairs.At(i);
    slam::StereoFrame a, b;
    ASSERT_TRUE(
        (i == 2 ? expected.FindOne(rectified.left, {}, &a) : expected.Find({rectified.left, rectified.right}, &a))
            .ok());
    ASSERT_TRUE((i == 2 ? actual.FindOne(raw.left, {}, &b) : actual.Find(raw, &b)).ok());
    EXPECT_GT(b.left.count(), 100u);
    ExpectSame(a, b);
    if (i > 0) {
      EXPECT_GT(ExpectSameFollowed(a.left, &expected, &actual), 20);
    }
    expected.SetReferenceFrame();
    actual.SetReferenceFrame();
  }
}

// A pixel of the raw image that no rectified one is made of says that the image is another one.
TEST(LaneFrontEnd, ARawImageIsFrozenIfAllOfItIs) {
  RawPairs pairs(10);
  std::vector<Pair>& raw = pairs.raw();
  // In place: the rows have these images.
  for (const size_t i : {6, 8}) {
    for (int y = 0; y < RawPairs::kRaw.height; ++y) {
      std::memcpy(raw[i].left.row(y), raw[i - 1].left.row(y), static_cast<size_t>(RawPairs::kRaw.width));
    }
  }
  raw[8].left.row(0)[0] ^= 1;
  EXPECT_EQ(std::memcmp(pairs.Rectified(8).left.row(0), pairs.Rectified(7).left.row(0), 320), 0);
  const std::unique_ptr<Lane> lane = std::move(CpuLanes(1, 1).front());
  auto localization = Localization::Create(WallOptions(kShape, kFeatures));
  ASSERT_TRUE(localization.ok()) << localization.status();
  for (size_t i = 0; i < raw.size(); ++i) {
    const PixelPair pair = pairs.At(i);
    Location location;
    FrameTimes times;
    const absl::Status status = (*localization)
                                    ->Track(lane.get(), {pair.left, pair.right, {}}, i,
                                            static_cast<int64_t>(i + 1) * kFrameNs, &location, &times);
    EXPECT_TRUE(status.ok()) << status;
    const bool is_frozen = std::any_of(location.warnings.begin(), location.warnings.end(),
                                       [](const Warning& w) { return w.kind == WarningKind::kFrozenImage; });
    EXPECT_EQ(is_frozen, i == 6) << i;
  }
}

TEST(LaneFrontEnd, RefusesWhatIsNoImage) {
  LaneFrontEnd front_end(WallOptions(kShape, kFeatures).detector, 1);
  const Image image = std::move(PairsAlongAWall(kShape, 1).front().left);
  ImageView narrow = image;
  narrow.stride = kShape.width - 1;
  slam::StereoFrame frame;
  EXPECT_EQ(front_end.Find({image, {}}, &frame).message(), "image: has no pixels");
  EXPECT_EQ(front_end.FindOne(narrow, {}, &frame).message(), "image.stride: 319 is less than the row of 320 bytes");
}

// Whatever fails, and whenever: the pair is answered with the error, and pairs after it are located.
TEST(LaneFrontEnd, WhatALaneFailsByIsAnsweredAndTheStreamGoesOn) {
  const std::vector<Pair> pairs = PairsAlongAWall(kShape, 12);
  for (const auto& [step, after] : std::vector<std::pair<Step, int>>{{Step::kStereo, 0},
                                                                     {Step::kMakeFrames, 0},
                                                                     {Step::kSetFrame, 0},
                                                                     {Step::kSetFrame, 1},
                                                                     {Step::kFollow, 0},
                                                                     {Step::kFollow, 1},
                                                                     {Step::kMatch, 0},
                                                                     {Step::kMatch, 1}}) {
    SCOPED_TRACE(::testing::Message() << "step " << static_cast<int>(step) << " after " << after);
    FailingLane lane(std::move(CpuLanes(1, 1).front()));
    auto localization = Localization::Create(WallOptions(kShape, kFeatures));
    ASSERT_TRUE(localization.ok()) << localization.status();
    Location location;
    FrameTimes times;
    const size_t failing = step == Step::kMakeFrames ? 0 : 5;  // they are made once
    int64_t time_ns = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      lane.FailAt(i == failing ? step : Step::kNone, after);
      const absl::Status status =
          (*localization)->Track(&lane, {pairs[i].left, pairs[i].right, {}}, i, time_ns += kFrameNs, &location, &times);
      EXPECT_EQ(status.message(), i == failing ? "the device" : "");
    }
    EXPECT_EQ(location.status, LocationStatus::kTracking);
    const double from = step == Step::kMakeFrames ? 1 : 0;  // the world begins with the first pair that did not fail
    EXPECT_NEAR(location.pose.position[0], (11 - from) * 0.16, 0.05);
  }
}

// The same of an image with depths: the wall is 4 m away.
TEST(LaneFrontEnd, WhatALaneFailsByWithDepthIsAnsweredAndTheStreamGoesOn) {
  const std::vector<Pair> pairs = PairsAlongAWall(kShape, 8);
  std::vector<uint8_t> depth;
  for (int i = 0; i < kShape.pixels(); ++i) depth.insert(depth.end(), {4000 & 255, 4000 >> 8});
  LocalizationOptions options = WallOptions(kShape, kFeatures);
  options.localizer.odometry.refine_rig = false;
  options.depth = DepthSensor{0.001, 0, 0};
  const DepthView view = {depth.data(), kShape.width, kShape.height, 2 * kShape.width, *options.depth};
  for (const auto& [step, after] : std::vector<std::pair<Step, int>>{
           {Step::kOne, 0}, {Step::kSetFrame, 0}, {Step::kFollow, 0}, {Step::kMatch, 0}, {Step::kMatch, 1}}) {
    SCOPED_TRACE(::testing::Message() << "step " << static_cast<int>(step) << " after " << after);
    FailingLane lane(std::move(CpuLanes(1, 1).front()));
    auto localization = Localization::Create(options);
    ASSERT_TRUE(localization.ok()) << localization.status();
    Location location;
    FrameTimes times;
    for (size_t i = 0; i < pairs.size(); ++i) {
      lane.FailAt(i == 4 ? step : Step::kNone, after);
      const auto time_ns = static_cast<int64_t>(i + 1) * kFrameNs;
      const absl::Status status =
          (*localization)->Track(&lane, {pairs[i].left, {}, view}, i, time_ns, &location, &times);
      EXPECT_EQ(status.message(), i == 4 ? "the device" : "");
    }
    EXPECT_EQ(location.status, LocationStatus::kTracking);
    EXPECT_NEAR(location.pose.position[0], 7 * 0.16, 0.05);
  }
}

}  // namespace
}  // namespace glint::testing
