// Page-locked memory of somebody else's, over a runtime that can be told to fail.
#include "cuda/runtime/host_region.h"

#include <gmock/gmock.h>

#include <memory>

#include "cuda/pipeline.h"
#include "cuda/pipeline_factory.h"
#include "tests/cuda/fake_api.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::cuda {
namespace {

using ::glint::testing::OrbOptions;
using ::testing::HasSubstr;

TEST(HostRegionTest, IsLockedForReadingByAllDevices) {
  FakeApi api;
  const char memory[100] = {};
  ASSERT_TRUE(LockHostRegion(3, memory, sizeof memory, &api).ok());
  EXPECT_EQ(api.device, 3);
  EXPECT_EQ(api.register_flags, unsigned{cudaHostRegisterPortable | cudaHostRegisterReadOnly});
  EXPECT_EQ(api.registered.at(memory), sizeof memory);
  api.device = 0;
  EXPECT_TRUE(UnlockHostRegion(3, memory, &api).ok());
  EXPECT_EQ(api.device, 3);
  EXPECT_EQ(api.live, 0);
}

TEST(HostRegionTest, DevicesMayNotKnowReadOnlyMemory) {
  FakeApi api;
  api.knows_read_only = false;
  const char memory[100] = {};
  ASSERT_TRUE(LockHostRegion(0, memory, sizeof memory, &api).ok());
  EXPECT_EQ(api.register_flags, unsigned{cudaHostRegisterPortable});
  EXPECT_EQ(api.GetLastError(), cudaSuccess);  // nothing is left for the next call to stumble over
}

TEST(HostRegionTest, FailureIsNamedAndLeavesNothing) {
  const char memory[100] = {};
  for (const int fail_at : {0, 1}) {
    FakeApi api;
    api.fail_at = fail_at;
    api.error = cudaErrorMemoryAllocation;
    const absl::Status status = LockHostRegion(0, memory, sizeof memory, &api);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), HasSubstr(fail_at == 0 ? "choosing CUDA device 0" : "page-locking 100 bytes"));
    EXPECT_EQ(api.live, 0);
    EXPECT_EQ(api.GetLastError(), cudaSuccess);
  }
  FakeApi api;
  ASSERT_TRUE(LockHostRegion(0, memory, sizeof memory, &api).ok());
  api.fail_at = api.calls + 1;
  EXPECT_FALSE(UnlockHostRegion(0, memory, &api).ok());
  EXPECT_EQ(api.live, 1);
}

// The device copies from where the client has put the pixels, and from the lane's memory once they are not locked.
TEST(HostRegionTest, PipelinesCopyStraightFromIt) {
  FakeApi api;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok());
  const Image image = testing::Noise({200, 160}, 1);
  const ImageView part = {image.row(20) + 8, 100, 80, image.view().stride};
  Features features;
  for (const bool locked : {true, false}) {
    EXPECT_TRUE(!locked || LockHostRegion(0, image.row(0), 200 * 160, &api).ok());
    ASSERT_TRUE((*pipeline)->Detect(OrbOptions(), part, {}, &features, nullptr).ok());
    EXPECT_EQ(api.copied_from == part.data, locked);
    EXPECT_TRUE(!locked || UnlockHostRegion(0, image.row(0), &api).ok());
  }
}

}  // namespace
}  // namespace glint::cuda
