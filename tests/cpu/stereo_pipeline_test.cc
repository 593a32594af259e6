// Pairs of images on the CPU: features are those of a pipeline for each eye, matches those of the reference.
#include "cpu/stereo/stereo_pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "features/reference/stereo.h"
#include "gtest/gtest.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint {
namespace {

using testing::ExpectSame;
using testing::OrbWithDescriptors;
using testing::SameFeatures;
using testing::StereoPair;

DetectorOptions WithDescriptors(const std::string& preset, int features) {
  DetectorOptions options = *PresetOptions(preset);
  if (options.orientation == Orientation::kNone) options.orientation = Orientation::kIntensityCentroid;
  if (options.descriptor == Descriptor::kNone) options.descriptor = Descriptor::kRbrief;
  options.max_features = features;
  return options;
}

StereoOptions RandomStereoOptions(testing::Random* random) {
  StereoOptions o;
  o.max_distance = random->OneIn(3) ? random->Uniform(0, 256) : 75;
  o.band = random->OneIn(3) ? random->Uniform(0.0f, kMaxStereoBand) : 2;
  o.max_octave_difference = random->Uniform(0, kMaxLevels - 1);
  o.min_disparity = random->OneIn(2) ? 0 : random->Uniform(-30.0f, 5.0f);
  o.max_disparity = random->OneIn(2) ? kMaxImageSide : random->Uniform(5.0f, 60.0f);
  o.cross_check = !random->OneIn(4);
  o.refine = !random->OneIn(4);
  o.median_cut = !random->OneIn(4);
  o.check_pair = !random->OneIn(4);
  if (random->OneIn(2)) {
    o.focal_length = 400;
    o.baseline = 0.1f;
  }
  return o;
}

// Two views of one texture, some pixels apart.
struct Eyes {
  Eyes(Shape shape, int apart, uint32_t seed) : texture(testing::Texture({shape.width + apart, shape.height}, seed)) {
    left = {texture.row(0), shape.width, shape.height, texture.stride()};
    right = {texture.row(0) + apart, shape.width, shape.height, texture.stride()};
  }
  Image texture;
  ImageView left, right;
};

// Returns how many matches there are.
int ExpectReference(cpu::StereoPipeline* pipeline, const DetectorOptions& detector, const ImagePair& pair,
                    const StereoOptions& options) {
  SCOPED_TRACE(testing::ToString(detector));
  EXPECT_TRUE(ValidateOptions(detector).ok()) << ValidateOptions(detector);
  EXPECT_TRUE(ValidateStereoOptions(options).ok()) << ValidateStereoOptions(options);
  const StereoPair expected(detector, pair);
  Features features[2];
  StereoResult result;
  cpu::StereoTimes times;
  const absl::Status status = pipeline->Detect(detector, pair, options, &features[0], &features[1], &result, &times);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(SameFeatures(*expected.input().left.features, features[0]));
  EXPECT_TRUE(SameFeatures(*expected.input().right.features, features[1]));
  ExpectSame(reference::MatchStereo(expected.input(), options), result);
  EXPECT_GT(times.detect_ns, 0);
  EXPECT_GT(times.match_ns, 0);
  EXPECT_GT(times.left.detect_ns, 0);
  EXPECT_GT(times.right.detect_ns, 0);
  return result.matches;
}

int ExpectReference(cpu::StereoPipeline* pipeline, const DetectorOptions& detector, const ImageView& left,
                    const ImageView& right, const StereoOptions& options) {
  return ExpectReference(pipeline, detector, ImagePair{left, right}, options);
}

class StereoPipelineTest : public ::testing::TestWithParam<int> {
 protected:
  cpu::StereoPipeline pipeline_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, StereoPipelineTest, ::testing::Values(1, 2, 3));

// One pipeline after the other preset, shape and row band.
TEST_P(StereoPipelineTest, EveryPresetIsTheReference) {
  testing::Random random(7);
  uint32_t seed = 0;
  for (const char* preset : {"orb", "orbslam", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris"}) {
    int matches = 0;
    for (const Shape shape : {Shape{331, 243}, Shape{160, 120}, Shape{97, 211}}) {
      const Eyes eyes(shape, 7, ++seed);
      const DetectorOptions detector = WithDescriptors(preset, 300);
      matches += ExpectReference(&pipeline_, detector, eyes.left, eyes.right, {});
      ExpectReference(&pipeline_, detector, eyes.left, eyes.right, RandomStereoOptions(&random));
    }
    EXPECT_GT(matches, 20) << preset;
  }
}

TEST_P(StereoPipelineTest, RandomOptionsAreTheReference) {
  testing::Random random(static_cast<uint32_t>(GetParam()));
  for (int i = 0; i < testing::Repetitions(12); ++i) {
    const Shape shape = {random.Uniform(64, 260), random.Uniform(64, 200)};
    const Eyes eyes(shape, random.Uniform(0, 12), static_cast<uint32_t>(i));
    DetectorOptions detector =
        random.OneIn(2) ? testing::RandomDetector(&random) : testing::RandomOptions(&random, testing::OrbOptions());
    if (detector.orientation == Orientation::kNone) detector.orientation = Orientation::kIntensityCentroid;
    if (detector.descriptor == Descriptor::kNone) detector.descriptor = Descriptor::kRbrief;
    detector.max_features = std::min(detector.max_features, 400);
    if (!ValidateOptions(detector).ok()) continue;
    ExpectReference(&pipeline_, detector, eyes.left, eyes.right, RandomStereoOptions(&random));
  }
}

// More keypoints than are checked.
TEST_P(StereoPipelineTest, ChecksOfEveryNthKeypoint) {
  const Eyes eyes({480, 360}, 9, 3);
  const int features = 2 * kKeypointsToCheck + 100 * GetParam() + 7;
  ExpectReference(&pipeline_, OrbWithDescriptors(features), eyes.left, eyes.right, {});
  // As a pair that is not rectified has it: row distances of more than a pixel, and matches the other way round.
  const ImageView lower{eyes.right.row(4), 480, 356, eyes.right.stride};
  const ImageView upper{eyes.left.row(0), 480, 356, eyes.left.stride};
  ExpectReference(&pipeline_, OrbWithDescriptors(features), lower, upper, {});
}

TEST_P(StereoPipelineTest, EyesWithoutKeypoints) {
  const Eyes eyes({160, 120}, 5, 4);
  const Image flat = testing::Flat({160, 120}, 9);
  for (const auto& [left, right] :
       {std::pair{eyes.left, flat.view()}, std::pair{flat.view(), eyes.right}, std::pair{flat.view(), flat.view()}}) {
    EXPECT_EQ(ExpectReference(&pipeline_, OrbWithDescriptors(100), left, right, {}), 0);
  }
  EXPECT_GT(ExpectReference(&pipeline_, OrbWithDescriptors(100), eyes.left, eyes.right, {}), 0);
}

// Each image has the keypoints of its mask, and none of another pair's.
TEST_P(StereoPipelineTest, MasksAreThoseOfDetection) {
  const Shape shape = {331, 243};
  const Eyes eyes(shape, 7, 5);
  Image left_mask = testing::Flat(shape, 255), right_mask = testing::Flat(shape, 1);
  for (int y = 0; y < shape.height; ++y) {
    std::fill_n(left_mask.row(y), y < 120 ? 90 : 0, uint8_t{0});
    std::fill_n(right_mask.row(y) + 200, y > 150 ? 131 : 0, uint8_t{0});
  }
  for (const char* preset : {"orb", "orbslam", "oriented_fast", "bfrost"}) {
    const DetectorOptions detector = WithDescriptors(preset, 300);
    const int all = ExpectReference(&pipeline_, detector, eyes.left, eyes.right, {});
    const ImagePair masked{eyes.left, eyes.right, left_mask, right_mask};
    EXPECT_GT(ExpectReference(&pipeline_, detector, masked, {}), 10) << preset;
    ExpectReference(&pipeline_, detector, ImagePair{eyes.left, eyes.right, {}, right_mask}, {});
    ExpectReference(&pipeline_, detector, ImagePair{eyes.left, eyes.right, left_mask, {}}, {});
    EXPECT_EQ(ExpectReference(&pipeline_, detector, eyes.left, eyes.right, {}), all) << preset;
  }
  Features left, right;
  StereoResult result;
  const ImagePair masked{eyes.left, eyes.right, left_mask, right_mask};
  ASSERT_TRUE(pipeline_.Detect(WithDescriptors("orbslam", 300), masked, {}, &left, &right, &result, nullptr).ok());
  ASSERT_GT(left.count(), 100u);
  for (size_t i = 0; i < left.count(); ++i) EXPECT_FALSE(left.x[i] < 88 && left.y[i] < 118) << i;
  for (size_t i = 0; i < right.count(); ++i) EXPECT_FALSE(right.x[i] > 202 && right.y[i] > 153) << i;
}

TEST_P(StereoPipelineTest, RefusesWhatHasNoMeaning) {
  const Image image = testing::Texture({100, 80}, 1);
  const Image other = testing::Texture({100, 81}, 1);
  Features left, right;
  left.Resize(3, 0);
  StereoResult result;
  result.Reset(3);
  EXPECT_EQ(pipeline_.Detect(OrbWithDescriptors(50), {image, other}, {}, &left, &right, &result, nullptr).message(),
            "right: 100x81, but the left image has 100x80");
  EXPECT_EQ(left.count(), 0u);
  EXPECT_TRUE(result.right_index.empty());
  EXPECT_EQ(
      pipeline_.Detect(*PresetOptions("oriented_fast"), {image, image}, {}, &left, &right, &result, nullptr).message(),
      "descriptor: stereo matching needs descriptors");
}

TEST(StereoChecks, LookAtKeypointsFromTheFirstToTheLast) {
  EXPECT_EQ(CheckedKeypoints(0), 0);
  for (int lefts = 1; lefts < 5000; ++lefts) {
    const int checked = CheckedKeypoints(lefts);
    EXPECT_LT((checked - 1) * CheckStride(lefts), lefts);
    EXPECT_GE(checked * CheckStride(lefts), lefts);
    EXPECT_GE(checked, std::min(lefts, kKeypointsToCheck));
    EXPECT_LT(checked, 2 * kKeypointsToCheck);
  }
}

}  // namespace
}  // namespace glint
