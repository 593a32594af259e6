// Registration of depth on the GPU, against features/reference/register_depth.h byte for byte: the kernels alone,
// pipelines and lanes. Skips without a usable GPU and says why.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/rectify/depth_registrar.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/hooks.h"
#include "features/reference/register_depth.h"
#include "gtest/gtest.h"
#include "lane/lane.h"
#include "lane/rectified_depth.h"
#include "tests/cuda/pipeline_fixture.h"
#include "tests/support/depth_cases.h"
#include "tests/support/images.h"

namespace glint::cuda {
namespace {

using testing::DepthCase;
using testing::Depths;
using testing::Random;

std::vector<uint16_t> SamplesOf(const DepthView& depth) {
  std::vector<uint16_t> samples;
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) samples.push_back(depth.at(x, y));
  }
  return samples;
}

DepthCase CaseOf(Shape source, Shape shape, uint32_t seed, double metres = 0.05) {
  Random random(seed);
  DepthTable table =
      MakeDepthTable(testing::PinholeOf(source, 0.8 * source.width), Turned(0.01, 0.02, 0.03, {metres, 0, 0.01}),
                     testing::PinholeOf(shape, 0.8 * shape.width));
  return {std::move(table), testing::RandomDepths(&random, source)};
}

class CudaRegisterTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    if (IsSkipped()) return;
    auto made = Stream::Create(&CudaApi(), 0, /*multiprocessors=*/0);
    ASSERT_TRUE(made.ok()) << made.status();
    stream_ = *std::move(made);
  }

  // By the kernels, twice: they leave their memory as they found it.
  absl::Status Check(const DepthCase& c, bool in_place) {
    const StreamView s = stream_.view();
    if (!registrar_.Choose(c.table)) return absl::InternalError("not chosen");
    GLINT_RETURN_IF_ERROR(registrar_.Prepare(s, c.table, in_place));
    const std::vector<uint16_t> samples = SamplesOf(c.depths.view()), expected = c.Expected();
    const size_t bytes = samples.size() * sizeof(samples[0]);
    std::memcpy(registrar_.staging(), samples.data(), bytes);
    if (!in_place) {
      GLINT_RETURN_IF_ERROR(ToStatus(
          s.api->MemcpyAsync(registrar_.source(), registrar_.staging(), bytes, cudaMemcpyHostToDevice, s.stream),
          "copying"));
    }
    for (int i = 0; i < 2; ++i) {
      GLINT_RETURN_IF_ERROR(registrar_.Enqueue(s, c.table, c.depths.of));
      GLINT_RETURN_IF_ERROR(ToStatus(s.api->StreamSynchronize(s.stream), "waiting"));
      const DepthView registered = registrar_.registered(c.depths.of.unit);
      if (registered.shape() != c.table.shape) return absl::InternalError("another shape");
      if (SamplesOf(registered) != expected) return absl::InternalError("other bytes");
    }
    seen_ += std::count_if(expected.begin(), expected.end(), [](uint16_t d) { return d != 0; });
    return absl::OkStatus();
  }

  Stream stream_;
  DepthRegistrar registrar_;
  int64_t seen_ = 0;  // pixels with a depth
};

TEST_F(CudaRegisterTest, IsTheReferenceOnRandomRigs) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    if (seed % TablePlaces::kTables == 0) registrar_.Drop();  // the last tables keep their places
    const absl::Status status = Check(testing::RandomRig(seed), /*in_place=*/seed % 8 == 7);
    ASSERT_TRUE(status.ok()) << status << ", seed " << seed;
  }
  EXPECT_GT(seen_, 400'000);
}

TEST_F(CudaRegisterTest, IsTheReferenceOnWildTables) {
  for (const bool is_number : {true, false}) {
    for (uint32_t seed = 0; seed < 400; ++seed) {
      if (seed % TablePlaces::kTables == 0) registrar_.Drop();
      const absl::Status status = Check(testing::WildDepths(seed, is_number), /*in_place=*/false);
      ASSERT_TRUE(status.ok()) << status << ", seed " << seed << ", " << is_number;
    }
  }
  EXPECT_GT(seen_, 20'000);
}

TEST_F(CudaRegisterTest, RoundsAsTheReference) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    if (seed % TablePlaces::kTables == 0) registrar_.Drop();
    const absl::Status status = Check(testing::DepthsOnBorders(seed), /*in_place=*/false);
    ASSERT_TRUE(status.ok()) << status << ", seed " << seed;
  }
  EXPECT_GT(seen_, 10'000);
}

TEST_F(CudaRegisterTest, UpToTheLargestSizes) {
  for (const auto& [source, shape] :
       {std::pair{Shape{1, 1}, Shape{1, 1}}, std::pair{Shape{1, 1}, Shape{1920, 1080}},
        std::pair{Shape{1280, 720}, Shape{1920, 1080}}, std::pair{Shape{4096, 3000}, Shape{641, 479}},
        std::pair{Shape{256, 192}, Shape{4096, 3000}}}) {
    registrar_.Drop();
    const absl::Status status = Check(CaseOf(source, shape, 1), /*in_place=*/false);
    EXPECT_TRUE(status.ok()) << status << ", " << source.width << " to " << shape.width;
  }
  EXPECT_GT(seen_, 1'000'000);
}

// Samples with gaps, without, and pinned, between images that are detected, tables that have no room among them.
TEST_F(CudaRegisterTest, PipelinesAndLanes) {
  LaneOptions options;
  options.backend = Backend::kCuda;
  options.lanes = 2;
  auto set = CreateLanes(options);
  ASSERT_TRUE(set.ok()) << set.status();
  RectifiedDepth depths;
  const Image image = testing::Texture({320, 240}, 3);
  std::vector<DepthCase> cases;
  for (uint32_t k = 0; k <= TablePlaces::kTables; ++k) {
    cases.push_back(CaseOf({320 + 8 * static_cast<int>(k), 240}, {331, 243}, k));
  }
  int on_device = 0;
  for (uint32_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    const DepthCase& c = cases[i % (i < 30 ? 2 : 3)];
    const std::vector<uint16_t> expected = c.Expected(), samples = SamplesOf(c.depths.view());
    const Shape shape = c.table.source;
    auto memory = PinnedMemory::Allocate(2 * samples.size());
    ASSERT_TRUE(memory.ok()) << memory.status();
    std::memcpy(memory->data(), samples.data(), 2 * samples.size());
    const DepthView views[] = {c.depths.view(),
                               ViewOf(samples.data(), shape, c.depths.of),
                               {memory->data(), shape.width, shape.height, 2 * ptrdiff_t{shape.width}, c.depths.of}};
    for (const DepthView& view : views) {
      const auto registered = pipeline_->RegisterDepth(view, c.table);
      ASSERT_TRUE(registered.ok()) << registered.status();
      if (!registered->empty()) {
        ++on_device;
        EXPECT_TRUE(SamplesOf(*registered) == expected);
        EXPECT_EQ(registered->sensor.farthest, 0);
      }
      for (const auto& lane : set->lanes) {
        const auto of_lane = depths.Register(lane.get(), view, c.table);
        ASSERT_TRUE(of_lane.ok()) << of_lane.status();
        EXPECT_TRUE(SamplesOf(*of_lane) == expected);
      }
    }
    EXPECT_TRUE(i % 7 > 0 || Equal(*PresetOptions("orb"), image));
  }
  EXPECT_GE(on_device, 90 + 60);
  EXPECT_LT(on_device, 180);
}

}  // namespace
}  // namespace glint::cuda
