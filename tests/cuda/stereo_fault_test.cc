// The host side of stereo matching on CUDA over a runtime that can be told to fail.
#include <memory>

#include "cuda/stereo/stereo_factory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/images.h"

namespace glint::cuda {
namespace {

using testing::OrbWithDescriptors;
using testing::StereoPair;

// What one client sees, from the first call on: the first error, if any.
absl::Status OneMatch(FakeApi* api, std::unique_ptr<StereoMatcher>* matcher, const StereoInput& input, int sm_limit) {
  if (*matcher == nullptr) {
    StereoMatcherOptions options;
    options.sm_limit = sm_limit;
    auto made = StereoFactory::CreateMatcher(options, api);
    if (!made.ok()) return made.status();
    *matcher = *std::move(made);
  }
  StereoResult result;
  result.Reset(3);
  absl::Status status = (*matcher)->Match(input, {}, &result);
  EXPECT_EQ(result.right_index.size(), status.ok() ? input.left.features->count() : 0);
  return status;
}

TEST(CudaStereoFaults, EveryCallOfAMatchFailsOnce) {
  const Image image = testing::Texture({120, 90}, 1);
  const StereoPair pair(OrbWithDescriptors(100), image, image);
  for (const int sm_limit : {0, 2}) {
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(n);
      FakeApi api;
      api.fail_at = n;
      api.error = cudaErrorMemoryAllocation;
      std::unique_ptr<StereoMatcher> matcher;
      absl::Status status = OneMatch(&api, &matcher, pair.input(), sm_limit);
      if (status.ok()) status = OneMatch(&api, &matcher, pair.input(), sm_limit);
      const bool reached = api.calls > n;
      if (!status.ok()) {
        ++failures;
        EXPECT_THAT(status.message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
        EXPECT_TRUE(OneMatch(&api, &matcher, pair.input(), sm_limit).ok());
      }
      matcher.reset();
      EXPECT_EQ(api.live, 0);
      if (!reached) break;
    }
    EXPECT_GT(failures, 25);
  }
}

TEST(CudaStereoFaults, APairNoLargerAllocatesNothing) {
  const Image image = testing::Texture({120, 90}, 1);
  const StereoPair pair(OrbWithDescriptors(100), image, image);
  const StereoPair smaller(OrbWithDescriptors(50), image, image);
  FakeApi api;
  std::unique_ptr<StereoMatcher> matcher;
  ASSERT_TRUE(OneMatch(&api, &matcher, pair.input(), 0).ok());
  const int live = api.live;
  const int before = api.calls;
  ASSERT_TRUE(OneMatch(&api, &matcher, pair.input(), 0).ok());
  const int calls = api.calls - before;
  for (const StereoPair* p : {&smaller, &pair}) {
    const int start = api.calls;
    ASSERT_TRUE(OneMatch(&api, &matcher, p->input(), 0).ok());
    EXPECT_EQ(api.calls - start, calls);
    EXPECT_EQ(api.live, live);
  }
}

absl::Status OnePair(FakeApi* api, std::unique_ptr<StereoPipeline>* pipeline) {
  if (*pipeline == nullptr) {
    auto made = StereoFactory::CreatePipeline({}, api);
    if (!made.ok()) return made.status();
    *pipeline = *std::move(made);
  }
  const Image image = testing::Flat({100, 80}, 1);
  Features left, right;
  left.Resize(3, 0);
  StereoResult result;
  const absl::Status status =
      (*pipeline)->Detect(OrbWithDescriptors(100), {image, image}, {}, &left, &right, &result, nullptr);
  EXPECT_EQ(left.count(), 0u);
  return status;
}

TEST(CudaStereoFaults, AKnownPairAllocatesNothing) {
  FakeApi api;
  std::unique_ptr<StereoPipeline> pipeline;
  ASSERT_TRUE(OnePair(&api, &pipeline).ok());
  const int live = api.live;
  const int before = api.calls;
  ASSERT_TRUE(OnePair(&api, &pipeline).ok());
  const int calls = api.calls - before;
  ASSERT_TRUE(OnePair(&api, &pipeline).ok());
  EXPECT_EQ(api.calls - before, 2 * calls);
  EXPECT_EQ(api.live, live);
}

// Two images for the matcher, of unlike shapes.
absl::Status TwoImages(FakeApi* api, std::unique_ptr<StereoPipeline>* pipeline) {
  if (*pipeline == nullptr) {
    auto made = StereoFactory::CreatePipeline({}, api);
    if (!made.ok()) return made.status();
    *pipeline = *std::move(made);
  }
  const Image first = testing::Flat({100, 80}, 1);
  const Image second = testing::Flat({120, 70}, 1);
  Features a, b;
  b.Resize(3, 0);
  DescriptorsOnDevice descriptors;
  descriptors.first.count = 3;
  const absl::Status status =
      (*pipeline)->DetectImages(OrbWithDescriptors(100), first, second, &a, &b, &descriptors, nullptr);
  EXPECT_EQ(b.count(), 0u);
  EXPECT_EQ(descriptors.first.count, 0);
  return status;
}

using Call = absl::Status (*)(FakeApi*, std::unique_ptr<StereoPipeline>*);
class CudaPairFaults : public ::testing::TestWithParam<Call> {};

TEST_P(CudaPairFaults, EveryCallFailsOnce) {
  const Call call = GetParam();
  int failures = 0;
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    FakeApi api;
    api.fail_at = n;
    api.error = cudaErrorMemoryAllocation;
    std::unique_ptr<StereoPipeline> pipeline;
    absl::Status status = call(&api, &pipeline);
    if (status.ok()) status = call(&api, &pipeline);
    const bool reached = api.calls > n;
    if (!status.ok()) {
      ++failures;
      EXPECT_TRUE(pipeline == nullptr || pipeline->fatal().ok());
      EXPECT_TRUE(call(&api, &pipeline).ok());
    }
    pipeline.reset();
    EXPECT_EQ(api.live, 0);
    if (!reached) break;
  }
  EXPECT_GT(failures, 50);
}

INSTANTIATE_TEST_SUITE_P(Calls, CudaPairFaults, ::testing::Values(&OnePair, &TwoImages));

TEST(CudaStereoFaults, StickyErrorsAreFatal) {
  FakeApi api;
  std::unique_ptr<StereoPipeline> pipeline;
  ASSERT_TRUE(OnePair(&api, &pipeline).ok());
  api.fail_at = api.calls + 5;
  api.sticky = true;
  api.error = cudaErrorIllegalAddress;
  EXPECT_FALSE(OnePair(&api, &pipeline).ok());
  EXPECT_EQ(pipeline->fatal().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(OnePair(&api, &pipeline), pipeline->fatal());
}

}  // namespace
}  // namespace glint::cuda
