// A build without CUDA says so, wherever it is asked.
#include "cuda/benchmark/plan_report.h"
#include "cuda/benchmark/remap_timing.h"
#include "cuda/match/matcher.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/host_region.h"
#include "cuda/stereo/stereo_matcher.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "cuda/track/tracker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cuda {
namespace {

TEST(CudaUnavailable, EveryEntryPointSaysSo) {
  const auto pipeline = Pipeline::Create({});
  EXPECT_EQ(pipeline.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(pipeline.status().message(), ::testing::HasSubstr("built without CUDA"));
  EXPECT_EQ(Matcher::Create({}).status(), pipeline.status());
  EXPECT_EQ(StereoMatcher::Create({}).status(), pipeline.status());
  EXPECT_EQ(StereoPipeline::Create({}).status(), pipeline.status());
  EXPECT_EQ(Tracker::Create({}).status(), pipeline.status());
  EXPECT_EQ(ProbeDevice(0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(PinnedMemory::Allocate(1).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReportPlan({}, {64, 64}, 1).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(TimeRemap(0, 0, {}, 1, nullptr).status(), pipeline.status());
  EXPECT_EQ(TimeRegisterDepth(0, 0, {}, {}, 1).status(), pipeline.status());
  EXPECT_EQ(DeviceDescription(0), "");
  EXPECT_FALSE(CopiesFromHostRegions(0));
  EXPECT_EQ(LockHostRegion(0, nullptr, 1).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(UnlockHostRegion(0, nullptr).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace glint::cuda
