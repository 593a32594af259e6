// Rectification on the GPU, against features/reference/remap.h byte for byte: the kernel alone, and raw images and
// pairs of whole pipelines, whose features are those of rectified ones. Skips without a usable GPU and says why.
#include "features/reference/remap.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/rectify/remapper.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/hooks.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "gtest/gtest.h"
#include "lane/rectified_rows.h"
#include "tests/cuda/pipeline_fixture.h"
#include "tests/support/images.h"
#include "tests/support/random.h"
#include "tests/support/remap_cases.h"

namespace glint::cuda {
namespace {

using testing::Random;
using testing::SameFeatures;

constexpr uint8_t kUntouched = 0xa5;

Image Rectified(const ImageView& source, const RemapTable& table) {
  Image image;
  reference::Remap(source, table, &image);
  return image;
}

class CudaRemapTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    if (IsSkipped()) return;
    auto made = Stream::Create(&CudaApi(), 0, /*multiprocessors=*/0);
    ASSERT_TRUE(made.ok()) << made.status();
    stream_ = *std::move(made);
  }

  // Remaps by the kernel, into rows `pitch` bytes apart, and compares all of that memory.
  absl::Status Check(const ImageView& source, const RemapTable& table, int pitch) {
    const StreamView s = stream_.view();
    if (!remapper_.Choose(table)) return absl::InternalError("not chosen");
    GLINT_RETURN_IF_ERROR(remapper_.Prepare(s, table));
    const auto width = static_cast<size_t>(source.width);
    for (int y = 0; y < source.height; ++y) {
      std::memcpy(remapper_.staging() + static_cast<size_t>(y) * width, source.row(y), width);
    }
    const auto bytes = static_cast<size_t>(pitch) * static_cast<size_t>(table.shape.height);
    std::vector<uint8_t> actual(bytes), expected(bytes, kUntouched);
    GLINT_ASSIGN_OR_RETURN(const auto to, DeviceBuffer::Create(s, bytes));
    GLINT_RETURN_IF_ERROR(ToStatus(s.api->MemsetAsync(to.data(), kUntouched, bytes, s.stream), "clearing"));
    GLINT_RETURN_IF_ERROR(
        ToStatus(s.api->MemcpyAsync(remapper_.source(), remapper_.staging(), width * static_cast<size_t>(source.height),
                                    cudaMemcpyHostToDevice, s.stream),
                 "copying"));
    GLINT_RETURN_IF_ERROR(remapper_.Enqueue(s, to.data(), pitch));
    GLINT_RETURN_IF_ERROR(
        ToStatus(s.api->MemcpyAsync(actual.data(), to.data(), bytes, cudaMemcpyDeviceToHost, s.stream), "copying"));
    GLINT_RETURN_IF_ERROR(ToStatus(s.api->StreamSynchronize(s.stream), "waiting"));
    const Image rectified = Rectified(source, table);
    for (int y = 0; y < table.shape.height; ++y) {
      std::copy_n(rectified.row(y), table.shape.width, expected.begin() + static_cast<ptrdiff_t>(y) * pitch);
    }
    return actual == expected ? absl::OkStatus() : absl::InternalError("other bytes");
  }

  // Whether features of the rows are those of the image that they are rectified to.
  ::testing::AssertionResult SameAsRectified(const DetectorOptions& options, const Pixels& source,
                                             const ImageView& view, const RemapTable& table, const ImageView& mask,
                                             bool timed) {
    rows_.Use(source, table);
    Features expected, actual;
    StageTimes times;
    const absl::Status raw = pipeline_->Detect(options, Pixels(&rows_), mask, &actual, timed ? &times : nullptr);
    const Image rectified = Rectified(view, table);
    const absl::Status plain = pipeline_->Detect(options, rectified, mask, &expected, nullptr);
    if (!raw.ok() || !plain.ok()) return ::testing::AssertionFailure() << raw << ", " << plain;
    found_ += expected.count();
    return SameFeatures(expected, actual);
  }

  Stream stream_;
  Remapper remapper_;
  RectifiedRows rows_;
};

TEST_F(CudaRemapTest, IsTheReferenceOnRandomTables) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    if (seed % TablePlaces::kTables == 0) remapper_.Drop();  // the last tables keep their places
    Random random(seed);
    const int most = seed % 3 == 0 ? 24 : 400;
    const Shape source = {random.Uniform(1, most), random.Uniform(1, most)};
    const Shape shape = {random.Uniform(1, most), random.Uniform(1, most)};
    const Image image = testing::RandomImage(&random, source);
    const testing::StridedImage strided(image, source.width + random.Uniform(0, 70), seed);
    const RemapTable table = testing::RandomRemapTable(&random, source, shape);
    const absl::Status status = Check(strided, table, shape.width + random.Uniform(0, 40));
    ASSERT_TRUE(status.ok()) << status << ", seed " << seed << ", " << source.width << "x" << source.height << " to "
                             << shape.width << "x" << shape.height;
  }
}

TEST_F(CudaRemapTest, UpToTheLargestSizes) {
  for (const auto& [source, shape] : {std::pair{Shape{1, 1}, Shape{1, 1}}, std::pair{Shape{61, 40}, Shape{4096, 3000}},
                                      std::pair{Shape{4096, 3000}, Shape{4096, 3000}}}) {
    remapper_.Drop();  // the last tables keep their places
    const RemapTable table = testing::LensTable(source, shape, 0.03, source.width / (0.97 * shape.width), 0.1);
    const absl::Status status = Check(testing::Noise(source, 1), table, shape.width + 8);
    EXPECT_TRUE(status.ok()) << status << ", " << source.width;
  }
}

// Tables that come back, and others in their place when they were long away.
TEST_F(CudaRemapTest, TablesTakeTurns) {
  std::vector<RemapTable> tables;
  for (int i = 0; i < 2 * TablePlaces::kTables; ++i) {
    const Shape shape = {100 + 31 * (i % 3), 60 + i};
    tables.push_back(testing::LensTable(shape, {150 - 7 * i, 90}, 0.1 * i, 1, 0.1));
  }
  const auto check = [&](int i) {
    const RemapTable& table = tables[static_cast<size_t>(i)];
    const absl::Status status = Check(testing::Noise(table.source, static_cast<uint32_t>(i)), table, 160);
    EXPECT_TRUE(status.ok()) << status << ", table " << i;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < TablePlaces::kTables; ++i) check(i);
  }
  for (int i = TablePlaces::kTables; i < 2 * TablePlaces::kTables; ++i) {
    for (uint64_t k = 0; k <= TablePlaces::kImagesKept; ++k) remapper_.Choose(tables[0]);
    check(i);
    check(0);
  }
}

// Sources with and without a view, pinned and not, with and without gaps, between images that are not raw.
TEST_F(CudaRemapTest, FeaturesOfRawImages) {
  struct Case {
    const char* preset;
    Shape source, shape;
  };
  const Case cases[] = {{"orb", {640, 480}, {640, 480}},     {"orb", {752, 480}, {701, 455}},
                        {"orbslam", {331, 243}, {300, 200}}, {"bfrost", {320, 240}, {400, 300}},
                        {"harris", {333, 222}, {320, 200}},  {"orb", {1920, 1080}, {1920, 1080}}};
  uint32_t seed = 1;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.preset);
    pipeline_ = *Pipeline::Create({});  // with room for the tables
    DetectorOptions options = *PresetOptions(c.preset);
    options.max_features = 500;
    const RemapTable table =
        testing::LensTable(c.source, c.shape, 0.02, 1.02 * c.source.width / static_cast<double>(c.shape.width), 0.1);
    const Image image = testing::Texture(c.source, ++seed);
    const testing::StridedImage strided(image, c.source.width + 13);
    auto memory = PinnedMemory::Allocate(static_cast<size_t>(c.source.pixels()));
    ASSERT_TRUE(memory.ok()) << memory.status();
    for (int y = 0; y < c.source.height; ++y) {
      std::memcpy(memory->data() + static_cast<ptrdiff_t>(y) * c.source.width, image.row(y),
                  static_cast<size_t>(c.source.width));
    }
    const ImageView pinned{memory->data(), c.source.width, c.source.height, c.source.width};
    const ImageView gaps{memory->data(), c.source.width - 5, c.source.height, c.source.width};
    const RemapTable narrow = testing::LensTable(gaps.shape(), c.shape, 0.1, 1, -0.1);
    // Rows that are rectified are as good a source as any.
    RectifiedRows twice;
    const RemapTable same = testing::LensTable(c.source, c.source, 0, 1, 0);
    twice.Use(image, same);
    Image mask = testing::Flat(c.shape, 255);
    for (int y = 0; y < c.shape.height / 2; ++y) std::fill_n(mask.row(y), c.shape.width / 3, uint8_t{0});
    for (const bool masked : {false, true}) {
      const ImageView wanted = masked ? mask.view() : ImageView();
      for (const bool timed : {true, false}) {
        EXPECT_TRUE(SameAsRectified(options, image, image, table, wanted, timed));
        EXPECT_TRUE(SameAsRectified(options, strided.view(), image, table, wanted, timed));
        EXPECT_TRUE(SameAsRectified(options, pinned, image, table, wanted, timed));
        EXPECT_TRUE(SameAsRectified(options, gaps, gaps, narrow, wanted, timed));
        EXPECT_TRUE(SameAsRectified(options, Pixels(&twice), image, table, wanted, timed));
      }
    }
  }
  EXPECT_GT(found_, 10000u);
}

// More tables than have room: some images are remapped by the host.
TEST_F(CudaRemapTest, FeaturesWithManyTables) {
  constexpr Shape kShape = {320, 240};
  const Image image = testing::Texture(kShape, 3);
  std::vector<RemapTable> tables;
  for (int i = 0; i < 2 * TablePlaces::kTables; ++i) {
    tables.push_back(testing::LensTable(kShape, kShape, 0.02 * i, 0.9, 0.1));
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (const RemapTable& table : tables) {
      EXPECT_TRUE(SameAsRectified(*PresetOptions("orb"), image, image, table, {}, false));
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaRemapTest, PairsAreThoseOfRectifiedOnes) {
  auto made = StereoPipeline::Create({});
  ASSERT_TRUE(made.ok()) << made.status();
  StereoPipeline& pipeline = **made;
  int matches = 0;
  uint32_t seed = 5;
  for (const Shape shape : {Shape{640, 480}, Shape{331, 243}, Shape{752, 480}}) {
    const Image texture = testing::Texture({shape.width + 9, shape.height}, ++seed);
    const ImageView raw[2] = {{texture.row(0), shape.width, shape.height, texture.stride()},
                              {texture.row(0) + 9, shape.width, shape.height, texture.stride()}};
    const RemapTable tables[2] = {testing::LensTable(shape, {600, 400}, 0.002, 1.1, -0.05),
                                  testing::LensTable(shape, {600, 400}, -0.002, 1.1, -0.05)};
    RectifiedRows rows[2];
    Image rectified[2];
    for (size_t e = 0; e < 2; ++e) {
      rows[e].Use(raw[e], tables[e]);
      rectified[e] = Rectified(raw[e], tables[e]);
    }
    const Image mask = testing::Flat({600, 400}, 255);
    for (const char* preset : {"orb", "orbslam", "bfrost"}) {
      SCOPED_TRACE(preset);
      DetectorOptions detector = *PresetOptions(preset);
      detector.max_features = 800;
      for (const bool masked : {false, true}) {
        PixelPair raw_pair{&rows[0], &rows[1]}, pair{rectified[0], rectified[1]};
        if (masked) raw_pair.left_mask = pair.left_mask = mask;
        Features expected[2], actual[2];
        StereoResult wanted, found;
        ASSERT_TRUE(pipeline.Detect(detector, raw_pair, {}, &actual[0], &actual[1], &found, nullptr).ok());
        ASSERT_TRUE(pipeline.Detect(detector, pair, {}, &expected[0], &expected[1], &wanted, nullptr).ok());
        for (size_t e = 0; e < 2; ++e) EXPECT_TRUE(SameFeatures(expected[e], actual[e]));
        matches += wanted.matches;
        EXPECT_EQ(wanted.matches, found.matches);
        EXPECT_EQ(wanted.right_index, found.right_index);
        EXPECT_EQ(wanted.disparity, found.disparity);
        if (masked) continue;
        DescriptorsOnDevice on_device;
        ASSERT_TRUE(
            pipeline.DetectImages(detector, &rows[1], rectified[0], &actual[1], &actual[0], &on_device, nullptr).ok());
        for (size_t e = 0; e < 2; ++e) EXPECT_TRUE(SameFeatures(expected[e], actual[e]));
      }
    }
  }
  EXPECT_GT(matches, 1000);
}

}  // namespace
}  // namespace glint::cuda
