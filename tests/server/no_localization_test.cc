// A build without slam/ says so, and why.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/localize/localization.h"

namespace glint {
namespace {

TEST(NoLocalization, SaysWhatIsMissing) {
  for (const absl::Status& status : {Localization::Available(), Localization::Create({}).status()}) {
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("GLINT_SLAM"));
  }
}

}  // namespace
}  // namespace glint
