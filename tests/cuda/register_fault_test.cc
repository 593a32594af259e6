// The host side of registration of depth on CUDA over a runtime that can be told to fail.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/pipeline_factory.h"
#include "cuda/rectify/table_places.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/depth_cases.h"

namespace glint::cuda {
namespace {

using testing::DepthCase;
using testing::Depths;

DepthCase CaseOf(Shape source, Shape shape) {
  return {MakeDepthTable(testing::PinholeOf(source, source.width), {}, testing::PinholeOf(shape, shape.width)),
          Depths(source, {0.001, 0.2, 9}, [](int x, int y) { return 1000 + x + y; })};
}

// Makes the pipeline, if there is none. False: the host has to register the depths.
absl::StatusOr<bool> Register(FakeApi* api, const DepthCase& c, std::unique_ptr<Pipeline>* pipeline) {
  if (*pipeline == nullptr) {
    GLINT_ASSIGN_OR_RETURN(*pipeline, PipelineFactory::Create({}, api));
  }
  GLINT_ASSIGN_OR_RETURN(const DepthView view, (*pipeline)->RegisterDepth(c.depths.view(), c.table));
  if (view.empty()) return false;
  EXPECT_EQ(view.shape(), c.table.shape);
  EXPECT_EQ(view.stride, 2 * c.table.shape.width);
  EXPECT_EQ(view.sensor.unit, 0.001);
  EXPECT_EQ(view.sensor.nearest, 0);
  EXPECT_EQ(view.sensor.farthest, 0);
  // Nothing runs on this device.
  EXPECT_EQ(view.at(0, 0) + view.at(view.width - 1, view.height - 1), 0);
  return true;
}

// One copy, out of staging memory or, if they are pinned, from where the samples are; integrated devices read the
// former in place.
TEST(CudaRegisterFaults, SamplesAreCopiedOnce) {
  const DepthCase c = CaseOf({101, 80}, {64, 49});
  for (const bool integrated : {false, true}) {
    for (const bool pinned : {false, true}) {
      FakeApi api;
      api.integrated = integrated;
      api.pinned = pinned;
      std::unique_ptr<Pipeline> pipeline;
      ASSERT_TRUE(*Register(&api, c, &pipeline));
      const int before = api.copies_to_device, live = api.live;
      ASSERT_TRUE(*Register(&api, c, &pipeline));
      EXPECT_EQ(api.copies_to_device - before, integrated ? 0 : 1);
      EXPECT_EQ(api.copied_from == c.depths.view().data, pinned && !integrated);
      EXPECT_EQ(api.live, live);
    }
  }
}

// Memory grows with images and stays; what is known takes as many calls again.
TEST(CudaRegisterFaults, AKnownImageAllocatesNothing) {
  const DepthCase large = CaseOf({100, 80}, {120, 90}), small = CaseOf({99, 80}, {120, 89});
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  for (const DepthCase* c : {&large, &small}) ASSERT_TRUE(*Register(&api, *c, &pipeline));
  const int live = api.live;
  int last = 0;
  for (int i = 0; i < 3; ++i) {
    for (const DepthCase* c : {&large, &small}) {
      const int before = api.calls;
      ASSERT_TRUE(*Register(&api, *c, &pipeline));
      EXPECT_EQ(api.calls - before, last > 0 ? last : api.calls - before);
      last = api.calls - before;
    }
  }
  EXPECT_EQ(api.live, live);
}

// Tables beyond those that have room, and those without an id, are for the host.
TEST(CudaRegisterFaults, TablesTakeTurns) {
  std::vector<DepthCase> cases;
  for (int i = 0; i <= TablePlaces::kTables; ++i) cases.push_back(CaseOf({64, 48}, {60, 40}));
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i <= TablePlaces::kTables; ++i) {
      const auto on_device = Register(&api, cases[static_cast<size_t>(i)], &pipeline);
      ASSERT_TRUE(on_device.ok()) << on_device.status();
      EXPECT_EQ(*on_device, i < TablePlaces::kTables) << i;
    }
  }
  const int live = api.live;
  for (uint64_t i = 0; i < 2 * TablePlaces::kImagesKept; ++i) EXPECT_TRUE(Register(&api, cases.back(), &pipeline).ok());
  EXPECT_TRUE(*Register(&api, cases.back(), &pipeline));
  EXPECT_EQ(api.live, live);  // in the place of another
  cases.back().table.id = 0;
  EXPECT_FALSE(*Register(&api, cases.back(), &pipeline));
}

TEST(CudaRegisterFaults, EveryCallFailsOnce) {
  const DepthCase c = CaseOf({100, 80}, {120, 90});
  for (const bool integrated : {false, true}) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(n);
      FakeApi api;
      api.fail_at = n;
      api.integrated = integrated;
      api.error = cudaErrorMemoryAllocation;
      std::unique_ptr<Pipeline> pipeline;
      auto registered = Register(&api, c, &pipeline);
      if (registered.ok()) registered = Register(&api, c, &pipeline);
      const bool reached = api.calls > n;
      if (!registered.ok()) {
        EXPECT_THAT(registered.status().message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
        if (pipeline != nullptr) {
          ++failures;
          EXPECT_TRUE(absl::IsResourceExhausted(registered.status())) << registered.status();
          EXPECT_TRUE(pipeline->fatal().ok());
        }
        registered = Register(&api, c, &pipeline);
        EXPECT_TRUE(registered.ok() && *registered);
      }
      pipeline.reset();
      EXPECT_EQ(api.live, 0);
      if (!reached) break;
    }
    EXPECT_GT(failures, 20);
  }
}

TEST(CudaRegisterFaults, ALostDeviceIsRemembered) {
  const DepthCase c = CaseOf({100, 80}, {120, 90});
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  ASSERT_TRUE(*Register(&api, c, &pipeline));
  api.fail_at = api.calls;
  api.error = cudaErrorIllegalAddress;
  api.sticky = true;
  EXPECT_FALSE(Register(&api, c, &pipeline).ok());
  EXPECT_FALSE(pipeline->fatal().ok());
  api.fail_at = -1;
  EXPECT_EQ(Register(&api, c, &pipeline).status(), pipeline->fatal());
}

}  // namespace
}  // namespace glint::cuda
