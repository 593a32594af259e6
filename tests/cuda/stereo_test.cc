// Stereo matching on the GPU, against features/reference/stereo.h element for element: of keypoints and pyramids from
// the host, and of pairs of images. Skips without a usable GPU and says why.
#include "features/reference/stereo.h"

#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/stereo/stereo_matcher.h"
#include "cuda/match/matcher.h"
#include "cuda/pipeline.h"
#include "cuda/stereo/stereo_matcher.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "features/reference/matcher.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/scene/scene.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::cuda {
namespace {

using testing::ExpectSame;
using testing::OrbWithDescriptors;
using testing::SameFeatures;
using testing::StereoOptionsToTry;
using testing::StereoPair;

class CudaStereoTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    device_ = new absl::Status(ProbeDevice(0));
    if (!device_->ok()) std::cout << "GLINT_SKIP_ALL: " << device_->message() << std::endl;
  }
  static void TearDownTestSuite() { delete device_; }
  void SetUp() override {
    if (!device_->ok()) GTEST_SKIP() << device_->message();
  }

  static std::unique_ptr<StereoMatcher> MakeMatcher(int sm_limit = 0) {
    StereoMatcherOptions options;
    options.sm_limit = sm_limit;
    auto matcher = StereoMatcher::Create(options);
    EXPECT_TRUE(matcher.ok()) << matcher.status();
    return matcher.ok() ? *std::move(matcher) : nullptr;
  }
  static std::unique_ptr<StereoPipeline> MakePipeline(int sm_limit = 0) {
    PipelineOptions options;
    options.sm_limit = sm_limit;
    auto pipeline = StereoPipeline::Create(options);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    return pipeline.ok() ? *std::move(pipeline) : nullptr;
  }

 private:
  static absl::Status* device_;
};
absl::Status* CudaStereoTest::device_ = nullptr;

void ExpectReference(StereoMatcher* matcher, const StereoPair& pair, const StereoOptions& options) {
  ASSERT_TRUE(ValidateStereoOptions(options).ok());
  ASSERT_TRUE(ValidateStereoInput(pair.input(), options).ok());
  StereoResult actual;
  const absl::Status status = matcher->Match(pair.input(), options, &actual);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSame(reference::MatchStereo(pair.input(), options), actual);
}

TEST_F(CudaStereoTest, IsTheReference) {
  const Image image = testing::Texture({330, 240}, 6);
  const ImageView first{image.row(0), 320, 240, image.stride()};
  const ImageView moved{image.row(0) + 9, 320, 240, image.stride()};
  const StereoPair pair(OrbWithDescriptors(400), first, moved);
  const StereoPair unlike(OrbWithDescriptors(150), testing::Texture({200, 100}, 1), testing::Texture({200, 100}, 2));
  const StereoPair same(OrbWithDescriptors(150), first, first);
  for (const int sm_limit : {0, 1, 8}) {
    const auto matcher = MakeMatcher(sm_limit);
    ASSERT_NE(matcher, nullptr);
    for (const StereoOptions& options : StereoOptionsToTry()) {
      for (const StereoPair* p : {&pair, &unlike, &same}) ExpectReference(matcher.get(), *p, options);
    }
  }
}

TEST_F(CudaStereoTest, TiesAndEdges) {
  StereoPair pair(OrbWithDescriptors(300), testing::Texture({160, 120}, 3), testing::Texture({160, 120}, 3));
  const auto matcher = MakeMatcher();
  ASSERT_NE(matcher, nullptr);
  for (const uint32_t seed : {4u, 5u}) {
    testing::MakeTies(seed, &pair);
    for (const StereoOptions& options : StereoOptionsToTry()) ExpectReference(matcher.get(), pair, options);
  }
}

// Random keypoints and descriptors of other widths; eyes without any; more rows than a block has threads.
TEST_F(CudaStereoTest, SizesAndWidths) {
  const auto matcher = MakeMatcher();
  ASSERT_NE(matcher, nullptr);
  testing::Random random(1);
  for (const Shape shape : {Shape{64, 48}, Shape{333, 77}, Shape{40, 2500}}) {
    StereoPair pair(OrbWithDescriptors(10), testing::Noise(shape, 1), testing::Noise(shape, 2));
    for (const int bytes : {8, 32, 40, kMaxDescriptorBytes}) {
      for (const auto& [lefts, rights] : {std::pair{0, 5}, std::pair{5, 0}, std::pair{1, 1}, std::pair{33, 700},
                                          std::pair{1025, 31}, std::pair{600, 600}}) {
        for (auto [features, count] : {std::pair{&pair.left(), lefts}, std::pair{&pair.right(), rights}}) {
          features->Resize(static_cast<size_t>(count), bytes);
          for (size_t i = 0; i < features->count(); ++i) {
            features->x[i] = random.Uniform(0.0f, static_cast<float>(shape.width) - 0.1f);
            features->y[i] = random.Uniform(0.0f, static_cast<float>(shape.height) - 0.1f);
            features->octave[i] = random.Uniform(0, 2);
          }
          for (uint8_t& byte : features->descriptors) byte = random.OneIn(3) ? 1 : 0;
        }
        StereoOptions options;
        options.max_distance = 8 * bytes;
        options.refine = random.OneIn(2);
        ExpectReference(matcher.get(), pair, options);
      }
    }
  }
}

// Of which the reference would take too long.
TEST_F(CudaStereoTest, ManyKeypointsAreThoseOfTheCpu) {
  scene::SceneOptions scene_options;
  scene_options.shape = {1226, 370};
  const scene::Scene scene(scene_options);
  const scene::Pose pose = scene.PoseAt(3);
  const StereoPair pair(OrbWithDescriptors(5000), scene.Render(pose), scene.Render(scene.RightOf(pose)));
  cpu::StereoMatcher on_cpu;
  for (const int sm_limit : {0, 8}) {
    const auto matcher = MakeMatcher(sm_limit);
    ASSERT_NE(matcher, nullptr);
    int matches = 0;
    for (const StereoOptions& options : StereoOptionsToTry()) {
      StereoResult expected, actual;
      on_cpu.Match(pair.input(), options, &expected);
      ASSERT_TRUE(matcher->Match(pair.input(), options, &actual).ok());
      ExpectSame(expected, actual);
      matches += actual.matches;
    }
    EXPECT_GT(matches, 1000);
  }
}

// ---- pairs of images

void ExpectReference(StereoPipeline* pipeline, const DetectorOptions& detector, const ImagePair& pair,
                     const StereoOptions& options) {
  const StereoPair expected(detector, pair);
  Features features[2];
  StereoResult result;
  StereoTimes times;
  const PixelPair pixels{pair.left, pair.right, pair.left_mask, pair.right_mask};
  const absl::Status status = pipeline->Detect(detector, pixels, options, &features[0], &features[1], &result, &times);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(SameFeatures(*expected.input().left.features, features[0])) << testing::ToString(detector);
  EXPECT_TRUE(SameFeatures(*expected.input().right.features, features[1])) << testing::ToString(detector);
  ExpectSame(reference::MatchStereo(expected.input(), options), result);
  EXPECT_GT(times.detect_ns, 0);
  EXPECT_GT(times.match_ns, 0);
}

void ExpectReference(StereoPipeline* pipeline, const DetectorOptions& detector, const ImageView& left,
                     const ImageView& right, const StereoOptions& options) {
  ExpectReference(pipeline, detector, ImagePair{left, right}, options);
}

// One mask, both and none in turn.
TEST_F(CudaStereoTest, PairsWithMasks) {
  const auto pipeline = MakePipeline();
  ASSERT_NE(pipeline, nullptr);
  const Shape shape = {331, 243};
  const Image texture = testing::Texture({shape.width + 7, shape.height}, 5);
  const ImageView left{texture.row(0), shape.width, shape.height, texture.stride()};
  const ImageView right{texture.row(0) + 7, shape.width, shape.height, texture.stride()};
  Image left_mask = testing::Flat(shape, 255), right_mask = testing::Flat(shape, 1);
  for (int y = 0; y < 120; ++y) {
    std::fill_n(left_mask.row(y), 90, uint8_t{0});
    std::fill_n(right_mask.row(y + 100) + 200, 131, uint8_t{0});
  }
  for (const char* preset : {"orb", "orbslam", "bfrost"}) {
    SCOPED_TRACE(preset);
    DetectorOptions detector = *PresetOptions(preset);
    detector.max_features = 300;
    for (int masks = 4; masks-- > 0;) {
      const ImagePair pair{left, right, (masks & 1) != 0 ? left_mask.view() : ImageView(),
                           (masks & 2) != 0 ? right_mask.view() : ImageView()};
      ExpectReference(pipeline.get(), detector, pair, {});
    }
  }
}

TEST_F(CudaStereoTest, PairsOfEveryPreset) {
  scene::SceneOptions scene_options;
  scene_options.shape = {331, 243};
  const scene::Scene scene(scene_options);
  const scene::Pose pose = scene.PoseAt(2);
  const Image left = scene.Render(pose);
  const Image right = scene.Render(scene.RightOf(pose));
  const auto pipeline = MakePipeline();
  ASSERT_NE(pipeline, nullptr);
  for (const char* preset : {"orb", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris"}) {
    SCOPED_TRACE(preset);
    DetectorOptions detector = *PresetOptions(preset);
    if (detector.orientation == Orientation::kNone) detector.orientation = Orientation::kIntensityCentroid;
    if (detector.descriptor == Descriptor::kNone) detector.descriptor = Descriptor::kRbrief;
    ASSERT_TRUE(ValidateOptions(detector).ok()) << ValidateOptions(detector);
    for (const StereoOptions& options : StereoOptionsToTry()) {
      ExpectReference(pipeline.get(), detector, left, right, options);
    }
  }
}

// One pipeline after the other shape; eyes without keypoints; rows that are not aligned.
TEST_F(CudaStereoTest, PairsOfManyShapes) {
  for (const int sm_limit : {0, 1, 8}) {
    const auto pipeline = MakePipeline(sm_limit);
    ASSERT_NE(pipeline, nullptr);
    uint32_t seed = 1;
    for (const Shape shape : {Shape{160, 120}, Shape{97, 211}, Shape{640, 480}, Shape{64, 64}, Shape{97, 211}}) {
      const Image texture = testing::Texture({shape.width + 7, shape.height}, ++seed);
      const ImageView left{texture.row(0), shape.width, shape.height, texture.stride()};
      const ImageView right{texture.row(0) + 7, shape.width, shape.height, texture.stride()};
      const Image flat = testing::Flat(shape, 9);
      ExpectReference(pipeline.get(), OrbWithDescriptors(300), left, right, {});
      ExpectReference(pipeline.get(), OrbWithDescriptors(300), flat, right, {});
      ExpectReference(pipeline.get(), OrbWithDescriptors(300), left, flat, {});
      ExpectReference(pipeline.get(), OrbWithDescriptors(700), right, left, {});
    }
  }
}

// More corners than the detector may return.
TEST_F(CudaStereoTest, TruncatedEyes) {
  const auto pipeline = MakePipeline();
  ASSERT_NE(pipeline, nullptr);
  const Image ties = testing::TieGrid({400, 400});
  DetectorOptions detector = OrbWithDescriptors(5);
  detector.levels = 2;
  ExpectReference(pipeline.get(), detector, ties, ties, {});
}

TEST_F(CudaStereoTest, EyesOfTheQuadtree) {
  const auto pipeline = MakePipeline();
  ASSERT_NE(pipeline, nullptr);
  const Image left = testing::Texture({640, 300}, 1);
  const Image right = testing::Texture({640, 300}, 2);
  ExpectReference(pipeline.get(), *PresetOptions("orbslam"), left, left, {});
  ExpectReference(pipeline.get(), *PresetOptions("orbslam"), left, right, {});
}

TEST_F(CudaStereoTest, RefusesWhatHasNoMeaning) {
  const auto pipeline = MakePipeline();
  ASSERT_NE(pipeline, nullptr);
  const Image image = testing::Texture({100, 80}, 1);
  const Image other = testing::Texture({100, 81}, 1);
  Features left, right;
  StereoResult result;
  EXPECT_EQ(pipeline->Detect(OrbWithDescriptors(50), {image, other}, {}, &left, &right, &result, nullptr).message(),
            "right: 100x81, but the left image has 100x80");
  EXPECT_EQ(
      pipeline->Detect(*PresetOptions("oriented_fast"), {image, image}, {}, &left, &right, &result, nullptr).message(),
      "descriptor: stereo matching needs descriptors");
  DescriptorsOnDevice on_device;
  EXPECT_EQ(pipeline->DetectImages(*PresetOptions("oriented_fast"), image, other, &left, &right, &on_device, nullptr)
                .message(),
            "descriptor: matching needs descriptors");
  ExpectReference(pipeline.get(), OrbWithDescriptors(50), image, image, {});
}

// Features of two images of unlike shapes, and matches of the descriptors that stayed on the device.
TEST_F(CudaStereoTest, ImagesForTheMatcher) {
  const Image texture = testing::Texture({400, 300}, 5);
  const ImageView first{texture.row(0), 320, 240, texture.stride()};
  const ImageView second{texture.row(11) + 7, 390, 280, texture.stride()};
  const Image flat = testing::Flat({64, 64}, 9);
  for (const int sm_limit : {0, 8}) {
    const auto pipeline = MakePipeline(sm_limit);
    MatcherOptions matcher_options;
    matcher_options.sm_limit = sm_limit;
    auto matcher = Matcher::Create(matcher_options);
    ASSERT_TRUE(pipeline != nullptr && matcher.ok()) << matcher.status();
    for (const char* preset : {"orb", "bfrost", "orbslam"}) {
      SCOPED_TRACE(preset);
      DetectorOptions detector = *PresetOptions(preset);
      detector.max_features = 400;
      ASSERT_NE(detector.descriptor, Descriptor::kNone);
      for (const auto& [a, b] : {std::pair{first, second}, std::pair{second, first}, std::pair{flat.view(), first},
                                 std::pair{first, flat.view()}}) {
        Features queries, trains;
        DescriptorsOnDevice on_device;
        StereoTimes times;
        ASSERT_TRUE(pipeline->DetectImages(detector, a, b, &queries, &trains, &on_device, &times).ok());
        EXPECT_TRUE(SameFeatures(reference::Detect(detector, a), queries));
        EXPECT_TRUE(SameFeatures(reference::Detect(detector, b), trains));
        ASSERT_EQ(on_device.first.count, static_cast<int>(queries.count()));
        ASSERT_EQ(on_device.second.count, static_cast<int>(trains.count()));
        for (const bool windows : {false, true}) {
          MatchInput input;
          input.query = {queries.descriptors.data(), on_device.first.count, 32};
          input.train = {trains.descriptors.data(), on_device.second.count, 32};
          const std::vector<float> radius(queries.count(), 30);
          if (windows) {
            input.conditions.x = queries.x.data();
            input.conditions.y = queries.y.data();
            input.conditions.radius = radius.data();
          }
          input.keypoints = {trains.x.data(), trains.y.data(), trains.octave.data(), trains.angle.data()};
          MatchOptions options;
          options.cross_check = true;
          const MatchResult expected = reference::Match(input, options);
          MatchResult actual;
          MatchInput there = input;
          there.query = on_device.first;
          there.train = on_device.second;
          const absl::Status status = (*matcher)->MatchOnDevice(there, options, &actual);
          ASSERT_TRUE(status.ok()) << status;
          EXPECT_EQ(expected.index, actual.index);
          EXPECT_EQ(expected.distance, actual.distance);
        }
      }
    }
  }
}

}  // namespace
}  // namespace glint::cuda
