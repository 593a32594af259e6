// The host side of rectification on CUDA over a runtime that can be told to fail.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/pipeline_factory.h"
#include "cuda/rectify/remapper.h"
#include "cuda/stereo/stereo_factory.h"
#include "features/pixels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/remap_cases.h"

namespace glint::cuda {
namespace {

using testing::OrbOptions;

RemapTable TableOf(Shape shape) { return testing::LensTable({shape.width + 20, shape.height}, shape, 0.02, 0.9, 0.1); }

// Rows that count how often the host has to remap them.
class RawRows final : public PixelRows {
 public:
  RawRows(const Pixels& source, const RemapTable& table) : remap_{source, &table} {}
  Shape shape() const override { return remap_.table->shape; }
  void CopyRows(int, int count, uint8_t* to, ptrdiff_t stride) const override {
    for (int y = 0; y < count; ++y) std::memset(to + y * stride, 1, static_cast<size_t>(shape().width));
    rows += count;
  }
  const RemapSource* remap() const override { return &remap_; }

  mutable int rows = 0;

 private:
  const RemapSource remap_;
};

absl::Status DetectRows(Pipeline* pipeline, const RawRows& rows, const Pixels& mask = {}) {
  Features features;
  StageTimes times;
  return pipeline->Detect(OrbOptions(), Pixels(&rows), mask, &features, &times);
}

std::unique_ptr<Pipeline> MakePipeline(FakeApi* api) {
  auto made = PipelineFactory::Create({}, api);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

// The raw pixels go to the device at once, from where they are if that is pinned. Integrated devices get them, too.
TEST(CudaRemapFaults, TheDeviceGetsRawPixels) {
  const RemapTable table = TableOf({100, 80});
  const Image image = testing::Flat(table.source, 1);
  const RawRows rows(image, table);
  for (const bool integrated : {false, true}) {
    for (const bool pinned : {false, true}) {
      FakeApi api;
      api.integrated = integrated;
      api.pinned = pinned;
      const auto pipeline = MakePipeline(&api);
      ASSERT_TRUE(DetectRows(pipeline.get(), rows).ok());
      const int before = api.copies_to_device, live = api.live;
      ASSERT_TRUE(DetectRows(pipeline.get(), rows).ok());
      EXPECT_EQ(api.copies_to_device - before, 1);
      EXPECT_EQ(api.copied_from == image.row(0), pinned);
      EXPECT_EQ(api.live, live);
      EXPECT_EQ(rows.rows, 0);
    }
  }
}

// Of an image that comes in parts, or whole by a graph, if its rows are not remapped here.
TEST(CudaRemapFaults, LargeImagesComeWhole) {
  const RemapTable table = TableOf({1920, 1080});
  const Image image = testing::Flat(table.source, 1);
  const RawRows rows(image, table);
  FakeApi api;
  int launches = 0;
  api.pinned = true;
  api.launched = [&] { ++launches; };
  const auto pipeline = MakePipeline(&api);
  ASSERT_TRUE(DetectRows(pipeline.get(), rows).ok());
  EXPECT_EQ(launches, 1);
  EXPECT_EQ(api.graph_copies, 0);
}

// Tables beyond those that have room are for the host, until others are not used any more.
TEST(CudaRemapFaults, TablesTakeTurns) {
  std::vector<RemapTable> tables;
  for (int i = 0; i <= TablePlaces::kTables; ++i) tables.push_back(TableOf({64, 48}));
  const Image image = testing::Flat(tables[0].source, 1);
  FakeApi api;
  const auto pipeline = MakePipeline(&api);
  const auto by_host = [&](const RemapTable& table) {
    const RawRows rows(image, table);
    EXPECT_TRUE(DetectRows(pipeline.get(), rows).ok());
    EXPECT_TRUE(rows.rows == 0 || rows.rows == 48);
    return rows.rows > 0;
  };
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < TablePlaces::kTables; ++i) EXPECT_FALSE(by_host(tables[static_cast<size_t>(i)])) << i;
    EXPECT_TRUE(by_host(tables.back()));
  }
  const int live = api.live;
  int host = 0;
  for (uint64_t i = 0; i < 2 * TablePlaces::kImagesKept; ++i) host += by_host(tables.back()) ? 1 : 0;
  EXPECT_GT(host, static_cast<int>(TablePlaces::kImagesKept) / 2);
  EXPECT_LT(host, static_cast<int>(TablePlaces::kImagesKept));
  EXPECT_FALSE(by_host(tables.back()));
  EXPECT_EQ(api.live, live);              // in the place of another
  EXPECT_FALSE(by_host(tables.front()));  // nor are the rest of them
  EXPECT_FALSE(by_host(tables.back()));
}

TEST(CudaRemapFaults, ATableWithoutBlocksIsForTheHost) {
  RemapTable table = TableOf({64, 48});
  table.id = 0;
  const Image image = testing::Flat(table.source, 1);
  const RawRows rows(image, table);
  FakeApi api;
  EXPECT_TRUE(DetectRows(MakePipeline(&api).get(), rows).ok());
  EXPECT_EQ(rows.rows, 48);
}

absl::Status OneRawImage(FakeApi* api, std::unique_ptr<Pipeline>* pipeline) {
  if (*pipeline == nullptr) {
    auto made = PipelineFactory::Create({}, api);
    if (!made.ok()) return made.status();
    *pipeline = *std::move(made);
  }
  static const RemapTable* const table = new RemapTable(TableOf({100, 80}));
  const Image image = testing::Flat(table->source, 1);
  const RawRows rows(image, *table);
  return DetectRows(pipeline->get(), rows, testing::Flat({100, 80}, 255).view());
}

absl::Status OneRawPair(FakeApi* api, std::unique_ptr<StereoPipeline>* pipeline) {
  if (*pipeline == nullptr) {
    auto made = StereoFactory::CreatePipeline({}, api);
    if (!made.ok()) return made.status();
    *pipeline = *std::move(made);
  }
  static const RemapTable* const tables[] = {new RemapTable(TableOf({100, 80})), new RemapTable(TableOf({100, 80}))};
  const Image image = testing::Flat(tables[0]->source, 1);
  const RawRows left_rows(image, *tables[0]), right_rows(image, *tables[1]);
  Features left, right;
  StereoResult result;
  DetectorOptions detector = OrbOptions();
  detector.descriptor = Descriptor::kRbrief;
  const absl::Status status =
      (*pipeline)->Detect(detector, {&left_rows, &right_rows}, {}, &left, &right, &result, nullptr);
  EXPECT_EQ(left_rows.rows + right_rows.rows, 0);
  return status;
}

template <typename Pipe>
void EveryCallFailsOnce(absl::Status (*call)(FakeApi*, std::unique_ptr<Pipe>*), bool integrated) {
  int failures = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    FakeApi api;
    api.fail_at = n;
    api.integrated = integrated;
    api.error = cudaErrorMemoryAllocation;
    std::unique_ptr<Pipe> pipeline;
    absl::Status status = call(&api, &pipeline);
    if (status.ok()) status = call(&api, &pipeline);
    const bool reached = api.calls > n;
    if (!status.ok()) {
      ++failures;
      EXPECT_THAT(status.message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
      EXPECT_TRUE(pipeline == nullptr || pipeline->fatal().ok());
      EXPECT_TRUE(call(&api, &pipeline).ok());
    }
    pipeline.reset();
    EXPECT_EQ(api.live, 0);
    if (!reached) break;
  }
  EXPECT_GT(failures, 50);
}

TEST(CudaRemapFaults, EveryCallOfAnImageFailsOnce) {
  EveryCallFailsOnce(&OneRawImage, /*integrated=*/false);
  EveryCallFailsOnce(&OneRawImage, /*integrated=*/true);
}
TEST(CudaRemapFaults, EveryCallOfAPairFailsOnce) { EveryCallFailsOnce(&OneRawPair, /*integrated=*/false); }

TEST(CudaRemapFaults, AKnownPairAllocatesNothing) {
  FakeApi api;
  std::unique_ptr<StereoPipeline> pipeline;
  ASSERT_TRUE(OneRawPair(&api, &pipeline).ok());
  const int live = api.live;
  const int before = api.calls;
  ASSERT_TRUE(OneRawPair(&api, &pipeline).ok());
  const int calls = api.calls - before;
  ASSERT_TRUE(OneRawPair(&api, &pipeline).ok());
  EXPECT_EQ(api.calls - before, 2 * calls);
  EXPECT_EQ(api.live, live);
}

}  // namespace
}  // namespace glint::cuda
