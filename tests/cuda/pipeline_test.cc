// The CUDA pipeline against the scalar reference, byte for byte. Skips without a usable GPU and says why.
#include "cuda/pipeline.h"

#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/runtime/host_region.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cuda/pipeline_fixture.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using ::glint::testing::OrbOptions;
using ::glint::testing::OrientedFastOptions;
using ::glint::testing::Random;
using ::glint::testing::SameFeatures;

class CudaPipelineTest : public PipelineFixture {};

std::vector<DetectorOptions> Presets() { return {OrbOptions(), OrientedFastOptions()}; }

TEST_F(CudaPipelineTest, SmallAndOddSizes) {
  std::vector<Shape> shapes;
  for (int side : {1, 2, 3, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70}) {
    shapes.push_back({side, side});
    shapes.push_back({side, 50});
    shapes.push_back({90, side});
  }
  shapes.push_back({631, 479});
  shapes.push_back({127, 193});
  uint32_t seed = 1;
  for (DetectorOptions options : Presets()) {
    for (Shape shape : shapes) {
      for (int edge : {0, 3, 4, 31}) {
        options.edge_threshold = edge;
        const Image image = seed % 2 == 0 ? testing::Noise(shape, seed) : testing::Texture(shape, seed);
        ++seed;
        EXPECT_TRUE(Equal(options, image));
      }
    }
  }
}

TEST_F(CudaPipelineTest, RandomOptionsMasksAndStrides) {
  Random random(7);
  for (int i = 0; i < testing::Repetitions(200); ++i) {
    const Shape shape{random.Uniform(1, random.OneIn(4) ? 900 : 300), random.Uniform(1, random.OneIn(4) ? 700 : 300)};
    const DetectorOptions options =
        testing::RandomOptions(&random, random.OneIn(2) ? OrbOptions() : OrientedFastOptions());
    ASSERT_TRUE(ValidateOptions(options).ok());
    const Image image = testing::RandomImage(&random, shape);
    const testing::StridedImage strided(image, shape.width + random.Uniform(0, 70));
    const Image mask = testing::RandomMask(&random, shape);
    EXPECT_TRUE(Equal(options, strided, random.OneIn(3) ? mask.view() : ImageView{})) << "round " << i;
  }
}

TEST_F(CudaPipelineTest, EveryArcLengthAndThreshold) {
  const Image image = testing::Texture({320, 240}, 11);
  for (DetectorOptions options : Presets()) {
    for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
      for (int threshold : {1, 2, 3, 19, 20, 21, 100, 253, 254}) {
        options.arc_length = arc;
        options.fast_threshold = threshold;
        EXPECT_TRUE(Equal(options, image));
      }
    }
  }
}

TEST_F(CudaPipelineTest, EveryPatchSize) {
  const Image image = testing::Texture({200, 150}, 5);
  for (int patch = kMinPatchSize; patch <= kMaxPatchSize; ++patch) {
    DetectorOptions options = OrbOptions();
    options.patch_size = patch;
    for (int edge : {0, 31}) {
      options.edge_threshold = edge;
      EXPECT_TRUE(Equal(options, image));
    }
  }
}

TEST_F(CudaPipelineTest, FlatDenseAndTyingImages) {
  for (DetectorOptions options : Presets()) {
    for (int features : {1, 8, 500, 3000}) {
      options.max_features = features;
      EXPECT_TRUE(Equal(options, testing::Flat({640, 480}, 128)));
      EXPECT_TRUE(Equal(options, testing::Noise({640, 480}, 3)));
      EXPECT_TRUE(Equal(options, testing::Speckle({640, 480}, 3)));
      EXPECT_TRUE(Equal(options, testing::Checkerboard({640, 480}, 5)));
      EXPECT_TRUE(Equal(options, testing::TieGrid({640, 480})));
    }
  }
}

// Steps at a strip's top hold nothing, and then something, at every row and by as much as the threshold or one more.
Image MostlyFlat(Shape shape, int threshold, int index, Random& random) {
  const int step = threshold + index % 4 - 1;
  Image image = testing::Noise(shape, index, 100, 100 + index % 8);
  for (int dots = random.Uniform(1, 60); dots > 0; --dots) {
    const int x = random.Uniform(0, image.width() - 2);
    const int y = random.Uniform(0, image.height() - 2);
    const auto value = static_cast<uint8_t>(random.OneIn(2) ? 107 + step : 100 - step);
    for (int v = 0; v < 2; ++v) std::memset(image.row(y + v) + x, value, 2);
  }
  return image;
}

TEST_F(CudaPipelineTest, MostlyFlatImages) {
  Random random(12);
  for (int i = 0; i < 24; ++i) {
    DetectorOptions options = i % 2 == 0 ? OrbOptions() : OrientedFastOptions();
    options.edge_threshold = i % 3 == 0 ? 0 : 31;
    options.levels = i % 4 == 0 ? 8 : 1;
    const Shape shape = {random.Uniform(130, 700), random.Uniform(100, 700)};
    EXPECT_TRUE(Equal(options, MostlyFlat(shape, options.fast_threshold, i, random)));
  }
}

// More ties than the output holds: the first ones in raster order are reported, and the cut is.
TEST_F(CudaPipelineTest, MoreTiesThanTheOutputHolds) {
  for (DetectorOptions options : Presets()) {
    for (int levels : {1, 3}) {
      options.levels = levels;
      options.max_features = 10;
      const Image image = testing::TieGrid({1600, 1200});
      EXPECT_TRUE(Equal(options, image));
      Features features;
      ASSERT_TRUE(pipeline_->Detect(options, image, {}, &features, nullptr).ok());
      EXPECT_TRUE(features.truncated);
    }
  }
}

TEST_F(CudaPipelineTest, ManyFeatures) {
  const Image image = testing::Noise({1300, 900}, 9);
  for (DetectorOptions options : Presets()) {
    for (int features : {10000, kMaxFeatures}) {
      options.max_features = features;
      EXPECT_TRUE(Equal(options, image));
    }
  }
}

// A bin of responses may hold more than a block has room for, or have the cut in it.
TEST_F(CudaPipelineTest, FewAndManyOfOneResponse) {
  for (DetectorOptions options : Presets()) {
    for (Orientation orientation : {Orientation::kIntensityCentroid, Orientation::kNone}) {
      options.orientation = orientation;
      if (orientation == Orientation::kNone) options.descriptor = Descriptor::kNone;
      for (int levels : {1, kMaxLevels}) {
        options.levels = levels;
        for (int features : {1, 700, 3000, 20000}) {
          options.max_features = features;
          EXPECT_TRUE(Equal(options, testing::Noise({900, 700}, 9)));
          EXPECT_TRUE(Equal(options, testing::Speckle({500, 300}, 4)));
          EXPECT_TRUE(Equal(options, testing::TieGrid({900, 300})));
        }
      }
    }
  }
}

// Bands of stronger, equal and weaker corners, so that many tie at the best places, the worst and between them.
Image TiesAmongOthers(Shape shape) {
  Image image = testing::Noise(shape, 5);
  const Image ties = testing::TieGrid(shape);
  const Image faint = testing::Noise(shape, 6, 100, 160);
  for (int y = 0; y < shape.height; ++y) {
    const int band = y / 40 % 3;
    if (band != 0) std::memcpy(image.row(y), (band == 1 ? ties : faint).view().row(y), shape.width);
  }
  return image;
}

TEST_F(CudaPipelineTest, TiesAmongOthers) {
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  pipelines.push_back(std::move(pipeline_));
  // Where blocks have more places than some buckets have room.
  PipelineOptions few;
  few.sm_limit = 8;
  auto limited = Pipeline::Create(few);
  if (limited.status().code() != absl::StatusCode::kFailedPrecondition) {  // this driver or device cannot
    ASSERT_TRUE(limited.ok()) << limited.status();
    pipelines.push_back(*std::move(limited));
  }
  const Image image = TiesAmongOthers({420, 330});
  for (std::unique_ptr<Pipeline>& pipeline : pipelines) {
    pipeline_ = std::move(pipeline);
    for (DetectorOptions options : Presets()) {
      for (int levels : {1, 3}) {
        options.levels = levels;
        for (int features : {30, 300, 1200, 4000, 20000}) {
          options.max_features = features;
          EXPECT_TRUE(Equal(options, image));
        }
      }
    }
  }
}

// Dots of a few strengths on next to nothing: many corners of one response, others of nearly the same.
Image NearTies(Shape shape, int strengths, int noise) {
  Image image = testing::Noise(shape, 3, 0, noise);
  Random random(strengths);
  for (int y = 0; y < shape.height; y += 5) {
    for (int x = 0; x < shape.width; x += 5) image.row(y)[x] = static_cast<uint8_t>(255 - random.Uniform(0, strengths));
  }
  return image;
}

TEST_F(CudaPipelineTest, NearTies) {
  for (DetectorOptions options : Presets()) {
    options.levels = 2;
    for (Orientation orientation : {Orientation::kIntensityCentroid, Orientation::kNone}) {
      options.orientation = orientation;
      if (orientation == Orientation::kNone) options.descriptor = Descriptor::kNone;
      for (int noise : {0, 2}) {
        for (int strengths : {1, 6}) {
          const Image image = NearTies({1000, 700}, strengths, noise);
          for (int features : {20, 600, 2500, 5000, 20000}) {
            options.max_features = features;
            EXPECT_TRUE(Equal(options, image));
          }
        }
      }
    }
  }
}

TEST_F(CudaPipelineTest, LargeImage) {
  DetectorOptions options = OrbOptions();
  options.max_features = 2000;
  EXPECT_TRUE(Equal(options, testing::Texture({3840, 2160}, 1)));
}

// So large that they come in parts, down to levels that have next to nothing in the first of them.
TEST_F(CudaPipelineTest, ImagesInParts) {
  uint32_t seed = 1;
  for (Shape shape : {Shape{2003, 1999}, {16000, 257}, {16001, 251}, {259, 15999}}) {
    for (DetectorOptions options : Presets()) {
      options.max_features = 2000;
      EXPECT_TRUE(Equal(options, testing::Texture(shape, ++seed)));
      options.edge_threshold = 3;
      options.levels = 3;
      EXPECT_TRUE(Equal(options, testing::Noise(shape, ++seed)));
    }
  }
  // One after the other, with those that come whole between them.
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(Equal(OrbOptions(), testing::Texture(i % 3 == 0 ? Shape{320, 240} : Shape{2500, 1601 + i}, ++seed)));
  }
}

// Of several pipelines, the one that finds the device idle takes its image in parts, the others whole.
TEST_F(CudaPipelineTest, ImagesInPartsAndWholeSideBySide) {
  const Image image = testing::Texture({1920, 1080}, 3);
  const Features expected = reference::Detect(OrbOptions(), image);
  const auto detect = [&] {
    auto pipeline = Pipeline::Create({});
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    auto pinned = PinnedMemory::Allocate(static_cast<size_t>(image.shape().pixels()));
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    for (int y = 0; y < 1080; ++y) std::memcpy(pinned->data() + y * 1920, image.row(y), 1920);
    Features actual;
    for (int i = 0; i < 100; ++i) {
      const ImageView view = i % 4 == 0 ? image.view() : ImageView{pinned->data(), 1920, 1080, 1920};
      ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), view, {}, &actual, nullptr).ok());
      ASSERT_TRUE(SameFeatures(expected, actual)) << "frame " << i;
    }
  };
  detect();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(detect);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaPipelineTest, LevelsOfLargeFactorsInParts) {
  uint32_t seed = 1;
  for (float factor : {1.4f, 1.7f, 2.0f}) {
    DetectorOptions options = OrbOptions();
    options.scale_factor = factor;
    options.edge_threshold = 9;
    EXPECT_TRUE(Equal(options, testing::Texture({2003, 1999}, ++seed)));
  }
}

TEST_F(CudaPipelineTest, PinnedInputOfAnyStride) {
  const Image image = testing::Texture({333, 222}, 4);
  for (int stride : {333, 336, 400}) {
    auto pinned = PinnedMemory::Allocate(static_cast<size_t>(stride) * 222);
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    for (int y = 0; y < 222; ++y) std::memcpy(pinned->data() + y * stride, image.row(y), 333);
    EXPECT_TRUE(Equal(OrbOptions(), ImageView{pinned->data(), 333, 222, stride}));
  }
  const Image large = testing::Texture({2401, 1701}, 4);
  for (int stride : {2401, 2416, 2500}) {
    auto pinned = PinnedMemory::Allocate(static_cast<size_t>(stride) * 1701);
    ASSERT_TRUE(pinned.ok()) << pinned.status();
    for (int y = 0; y < 1701; ++y) std::memcpy(pinned->data() + y * stride, large.row(y), 2401);
    EXPECT_TRUE(Equal(OrbOptions(), ImageView{pinned->data(), 2401, 1701, stride}));
  }
}

// Frames of different pinned images, whose counts of corners differ, too, as a lane sees them.
TEST_F(CudaPipelineTest, PinnedImagesInTurns) {
  PipelineOptions spinning;
  spinning.wait = Wait::kSpin;
  auto pipeline = Pipeline::Create(spinning);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  constexpr Shape kShape{640, 480};
  const Image images[] = {testing::Texture(kShape, 1), testing::Flat(kShape, 9), testing::Noise(kShape, 2)};
  std::vector<PinnedMemory> pinned;
  for (const Image& image : images) {
    auto memory = PinnedMemory::Allocate(static_cast<size_t>(kShape.pixels()));
    ASSERT_TRUE(memory.ok()) << memory.status();
    for (int y = 0; y < kShape.height; ++y) std::memcpy(memory->data() + y * kShape.width, image.row(y), kShape.width);
    pinned.push_back(*std::move(memory));
  }
  for (const DetectorOptions& options : Presets()) {
    std::vector<Features> expected;
    for (const Image& image : images) expected.push_back(reference::Detect(options, image));
    Features actual;
    StageTimes times;
    for (int i = 0; i < 600; ++i) {
      const int which = i * 7 / 5 % 3;  // now and then the same again
      const ImageView view{pinned[which].data(), kShape.width, kShape.height, kShape.width};
      ASSERT_TRUE((*pipeline)->Detect(options, view, {}, &actual, i % 5 < 3 ? &times : nullptr).ok());
      ASSERT_TRUE(SameFeatures(expected[which], actual)) << "frame " << i;
    }
  }
}

// As when a camera's program ends and starts again: the next memory is where the last one was.
TEST_F(CudaPipelineTest, OtherPinnedMemoryAtTheSameAddress) {
  constexpr Shape kShape{640, 480};
  const auto bytes = static_cast<size_t>(kShape.pixels());
  void* address = nullptr;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    const Image image = testing::Texture(kShape, seed);
    void* const memory = mmap(address, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | (address == nullptr ? 0 : MAP_FIXED), -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    address = memory;
    auto* const pixels = static_cast<uint8_t*>(memory);
    for (int y = 0; y < kShape.height; ++y) std::memcpy(pixels + y * kShape.width, image.row(y), kShape.width);
    const bool locked = CopiesFromHostRegions(0);
    ASSERT_TRUE(!locked || LockHostRegion(0, memory, bytes).ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(Equal(OrbOptions(), ImageView{pixels, kShape.width, kShape.height, kShape.width})) << seed;
    }
    ASSERT_TRUE(!locked || UnlockHostRegion(0, memory).ok());
    // The address stays ours.
    ASSERT_EQ(mmap(memory, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), memory);
  }
  munmap(address, bytes);
}

TEST_F(CudaPipelineTest, TheSameFrameAThousandTimes) {
  const Image image = testing::Noise({640, 480}, 2);
  for (DetectorOptions options : Presets()) {
    options.max_features = 2000;
    const Features expected = reference::Detect(options, image);
    for (int i = 0; i < 1000; ++i) {
      Features actual;
      ASSERT_TRUE(pipeline_->Detect(options, image, {}, &actual, nullptr).ok());
      ASSERT_TRUE(SameFeatures(expected, actual)) << "run " << i;
    }
  }
}

// More shapes than graphs are kept, each seen again after it was dropped.
TEST_F(CudaPipelineTest, ChangingShapes) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(Equal(OrbOptions(), testing::Texture({100 + 7 * i, 220 - 5 * i}, 3)));
    }
  }
}

TEST_F(CudaPipelineTest, PipelinesSideBySide) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::vector<::testing::AssertionResult> results(kThreads, ::testing::AssertionSuccess());
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &results] {
      PipelineOptions pipeline_options;
      pipeline_options.wait = t % 3 == 0 ? Wait::kSpin : t % 3 == 1 ? Wait::kYield : Wait::kBlock;
      auto pipeline = Pipeline::Create(pipeline_options);
      if (!pipeline.ok()) {
        results[t] = ::testing::AssertionFailure() << pipeline.status();
        return;
      }
      const Image image = testing::Texture({400 + 16 * t, 300}, static_cast<uint32_t>(t));
      const DetectorOptions options = t % 2 == 0 ? OrbOptions() : OrientedFastOptions();
      const Features expected = reference::Detect(options, image);
      for (int i = 0; i < 100 && results[t]; ++i) {
        Features actual;
        StageTimes times;
        const absl::Status status = (*pipeline)->Detect(options, image, {}, &actual, &times);
        results[t] = status.ok() ? SameFeatures(expected, actual) : ::testing::AssertionFailure() << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_TRUE(result);
}

TEST_F(CudaPipelineTest, StageTimesAddUp) {
  Features features;
  StageTimes times;
  ASSERT_TRUE(pipeline_->Detect(OrbOptions(), testing::Noise({640, 480}, 1), {}, &features, &times).ok());
  EXPECT_GT(times.upload_ns, 0);
  EXPECT_GT(times.detect_ns, 0);
  EXPECT_GE(times.download_ns, 0);
}

// Whether measured by events or taken over from other frames: no time is negative, and together they are the call.
TEST_F(CudaPipelineTest, StageTimesOfEveryFrameAddUp) {
  using Clock = std::chrono::steady_clock;
  const Image images[] = {testing::Noise({640, 480}, 1), testing::Flat({640, 480}, 7), testing::Noise({2560, 1600}, 2)};
  Features features;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    StageTimes times;
    const Clock::time_point start = Clock::now();
    ASSERT_TRUE(pipeline_->Detect(OrbOptions(), images[i % 3], {}, &features, &times).ok());
    const int64_t wall_ns = std::chrono::nanoseconds(Clock::now() - start).count();
    EXPECT_GE(times.upload_ns, 0);
    EXPECT_GE(times.detect_ns, 0);
    EXPECT_GE(times.download_ns, 0);
    EXPECT_GT(times.upload_ns + times.detect_ns, 0);
    EXPECT_LE(times.upload_ns + times.detect_ns + times.download_ns, wall_ns);
  }
}

TEST_F(CudaPipelineTest, TimesReplaysAndFloors) {
  const Image image = testing::Noise({640, 480}, 1);
  const auto timing = pipeline_->TimeOnDevice(OrbOptions(), image, {}, 40);
  ASSERT_TRUE(timing.ok()) << timing.status();
  EXPECT_EQ(timing->replay_us.size(), 40u);
  Features features;
  ASSERT_TRUE(pipeline_->Detect(OrbOptions(), image, {}, &features, nullptr).ok());
  EXPECT_EQ(timing->keypoints, static_cast<int>(features.count()));
  EXPECT_GT(timing->stages.corners_ns, 0);
  EXPECT_TRUE(pipeline_->MeasureFloors(1000, 1000, 10).ok());
  EXPECT_TRUE(Equal(OrbOptions(), image));
}

TEST_F(CudaPipelineTest, OnFewMultiprocessors) {
  PipelineOptions few;
  few.sm_limit = 8;
  auto limited = Pipeline::Create(few);
  if (limited.status().code() == absl::StatusCode::kFailedPrecondition) GTEST_SKIP() << limited.status();
  ASSERT_TRUE(limited.ok()) << limited.status();
  pipeline_ = *std::move(limited);
  EXPECT_TRUE(Equal(OrbOptions(), testing::Noise({640, 480}, 6)));
  // Strips by the hundred for each, which are looked through before they are searched.
  Random random(13);
  for (int i = 0; i < 12; ++i) {
    DetectorOptions options = Presets()[i / 4 % 2];
    options.edge_threshold = i % 3 == 0 ? 0 : 31;
    options.arc_length = 9 + i % 4;
    const Shape shape = {random.Uniform(1400, 1700), random.Uniform(800, 1000)};
    EXPECT_TRUE(Equal(options, MostlyFlat(shape, options.fast_threshold, i, random)));
  }
  // Tiles by the dozen for each.
  for (int i = 0; i < 48; ++i) {
    DetectorOptions options = Presets()[i / 4 % 2];
    options.edge_threshold = i % 3 == 0 ? 0 : 31;
    options.arc_length = 9 + i % 4;
    const Shape shape = {random.Uniform(250, 700), random.Uniform(180, 420)};
    const Image image = i % 8 == 7 ? testing::Noise(shape, i) : testing::RandomImage(&random, shape);
    const Image mask = testing::RandomMask(&random, shape);
    EXPECT_TRUE(Equal(options, image, random.OneIn(3) ? mask.view() : ImageView{})) << "round " << i;
  }
}

TEST_F(CudaPipelineTest, NamesAMissingDevice) {
  PipelineOptions missing;
  missing.device = 99;
  const auto pipeline = Pipeline::Create(missing);
  EXPECT_EQ(pipeline.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(pipeline.status().message().find("no CUDA device 99"), absl::string_view::npos) << pipeline.status();
}

}  // namespace
}  // namespace glint::cuda
