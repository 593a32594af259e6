// Stereo pairs and matches of images of a CUDA lane: the bytes of a CPU lane. Skips without a usable GPU and says why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "features/options.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/scene/scene.h"
#include "tests/server/gpu_lanes.h"
#include "tests/support/features.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

// Pixels that the lane has to copy.
class Rows final : public PixelRows {
 public:
  explicit Rows(const ImageView& image) : image_(image) {}
  Shape shape() const override { return image_.shape(); }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override {
    for (int y = 0; y < count; ++y) {
      std::memcpy(to + y * stride, image_.row(first + y), static_cast<size_t>(image_.width));
    }
  }

 private:
  const ImageView image_;
};

class GpuPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu_ = OneGpuLane();
    if (!gpu_.ok()) GTEST_SKIP() << gpu_.status().message();
    LaneOptions options;
    options.backend = Backend::kCpu;
    options.lanes = 1;
    cpu_ = CreateLanes(options);
    ASSERT_TRUE(cpu_.ok()) << cpu_.status();
  }
  Lane& gpu() { return *gpu_->lanes[0]; }

  // The reply of both lanes is the same, for pixels in memory and for rows.
  void ExpectAsOnTheCpu(const DetectorOptions& detector, const StereoOptions& stereo, const ImageView& left,
                        const ImageView& right) {
    StereoPairResult expected;
    StageTimes times;
    ASSERT_TRUE(cpu_->lanes[0]->RunStereo(detector, stereo, {left, right}, &expected, &times).ok());
    const Rows rows[2] = {Rows(left), Rows(right)};
    for (const bool copies : {false, true}) {
      StereoPairResult actual;
      const absl::Status status = copies ? gpu().RunStereo(detector, stereo, {&rows[0], &rows[1]}, &actual, &times)
                                         : gpu().RunStereo(detector, stereo, {left, right}, &actual, &times);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(SameFeatures(expected.left, actual.left));
      EXPECT_TRUE(SameFeatures(expected.right, actual.right));
      ExpectSame(expected.matches, actual.matches);
      EXPECT_GT(times.detect_ns, 0);
      EXPECT_GT(actual.match_ns, 0);
    }
  }

  absl::StatusOr<LaneSet> gpu_, cpu_;
};

TEST_F(GpuPairs, OfEveryPresetAndShapeAreThoseOfTheCpu) {
  for (const Shape shape : {Shape{331, 243}, Shape{640, 480}, Shape{97, 211}}) {
    scene::SceneOptions options;
    options.shape = shape;
    const scene::Scene scene(options);
    const scene::Pose pose = scene.PoseAt(2);
    const Image left = scene.Render(pose);
    const Image right = scene.Render(scene.RightOf(pose));
    for (const std::string& preset : PresetNames()) {
      SCOPED_TRACE(preset);
      DetectorOptions detector = *PresetOptions(preset);
      if (detector.orientation == Orientation::kNone) detector.orientation = Orientation::kIntensityCentroid;
      if (detector.descriptor == Descriptor::kNone) detector.descriptor = Descriptor::kRbrief;
      // Pairs have the presets that single images have; the others are refused in the same words.
      Features features;
      StageTimes times;
      const absl::Status of_image = gpu().Run(detector, left, {}, &features, &times);
      if (absl::IsUnimplemented(of_image)) {
        StereoPairResult found;
        EXPECT_EQ(gpu().RunStereo(detector, {}, {left, right}, &found, &times), of_image);
        continue;
      }
      for (const StereoOptions& stereo : StereoOptionsToTry()) ExpectAsOnTheCpu(detector, stereo, left, right);
    }
  }
}

// Of images of unlike shapes, one of them without a keypoint, and of pixels that the lane has to copy.
TEST_F(GpuPairs, MatchesOfImagesAreThoseOfTheCpu) {
  const Image texture = Texture({700, 480}, 4);
  const ImageView first{texture.row(0), 600, 400, texture.stride()};
  const ImageView second{texture.row(21) + 13, 680, 450, texture.stride()};
  const Image flat = Flat({80, 90}, 3);
  const Rows rows(second);
  const DetectorOptions detector = OrbWithDescriptors(1500);
  MatchOptions options;
  options.cross_check = true;
  const auto ask = [&](Lane* lane, const Pixels& a, const Pixels& b, Features* queries, Features* trains,
                       MatchResult* matches) {
    StageTimes times;
    if (absl::Status s = lane->RunBoth(detector, a, b, queries, trains, &times); !s.ok()) return s;
    EXPECT_GT(times.detect_ns, 0);
    MatchInput input;
    input.query = {queries->descriptors.data(), static_cast<int>(queries->count()), queries->descriptor_bytes};
    input.train = {trains->descriptors.data(), static_cast<int>(trains->count()), trains->descriptor_bytes};
    return lane->MatchBoth(input, options, matches);
  };
  const std::pair<Pixels, Pixels> pairs[] = {
      {first, second}, {first, &rows}, {second, first}, {flat.view(), first}, {first, flat.view()}};
  size_t most = 0;
  for (const auto& [a, b] : pairs) {
    Features queries[2], trains[2];
    MatchResult matches[2];
    ASSERT_TRUE(ask(cpu_->lanes[0].get(), a, b, &queries[0], &trains[0], &matches[0]).ok());
    const absl::Status status = ask(&gpu(), a, b, &queries[1], &trains[1], &matches[1]);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(SameFeatures(queries[0], queries[1]));
    EXPECT_TRUE(SameFeatures(trains[0], trains[1]));
    EXPECT_EQ(matches[0].index, matches[1].index);
    EXPECT_EQ(matches[0].distance, matches[1].distance);
    most = std::max(most, matches[0].index.size());
  }
  EXPECT_GT(most, 1000u);
}

// More keypoints than are checked; then a single image, which has other memory; then a pair again.
TEST_F(GpuPairs, AndSingleImagesTakeTurns) {
  const Image texture = Texture({760, 480}, 3);
  const ImageView left{texture.row(0), 752, 480, texture.stride()};
  const ImageView right{texture.row(0) + 8, 752, 480, texture.stride()};
  const DetectorOptions detector = OrbWithDescriptors(2000);
  ExpectAsOnTheCpu(detector, {}, left, right);
  Features expected, actual;
  StageTimes times;
  ASSERT_TRUE(cpu_->lanes[0]->Run(detector, texture, {}, &expected, &times).ok());
  ASSERT_TRUE(gpu().Run(detector, texture, {}, &actual, &times).ok());
  EXPECT_TRUE(SameFeatures(expected, actual));
  ExpectAsOnTheCpu(detector, {}, right, left);
  EXPECT_TRUE(gpu().fatal().ok());
}

}  // namespace
}  // namespace glint::testing
