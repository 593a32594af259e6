// The choice of the SIMD target.
#include "tests/cpu/simd.h"

#include <string>

#include "cpu/pipeline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

TEST(SimdTargetTest, NamesWhatThereIs) {
  const std::vector<std::string> names = testing::TargetNames();
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const testing::ForcedSimd forced(name);
    EXPECT_TRUE(cpu::ValidateSimdTarget().ok());
    EXPECT_EQ(cpu::SimdTarget(), name);
  }
}

TEST(SimdTargetTest, RefusesAnUnknownOne) {
  const testing::ForcedSimd forced("AVX9");
  const absl::Status status = cpu::ValidateSimdTarget();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("GLINT_SIMD: \"AVX9\" is not one of "));
  for (const std::string& name : testing::TargetNames()) EXPECT_THAT(std::string(status.message()), HasSubstr(name));
}

TEST(SimdTargetTest, TakesTheBestByDefault) {
  const testing::ForcedSimd forced("");
  EXPECT_TRUE(cpu::ValidateSimdTarget().ok());
  EXPECT_EQ(cpu::SimdTarget(), testing::TargetNames().front());
}

}  // namespace
}  // namespace glint
