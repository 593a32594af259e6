// One call shared by several threads: the reference's entries, whatever their number.
#include "cpu/match/matcher.h"
#include "features/reference/matcher.h"
#include "gtest/gtest.h"
#include "tests/support/descriptors.h"

namespace glint {
namespace {

TEST(MatcherThreads, AnyNumberOfThreads) {
  const testing::DescriptorSet query(401, 32, testing::Likeness::kFewValues, 1);
  const testing::DescriptorSet train(333, 32, testing::Likeness::kNoisy, 2);
  const testing::RandomConditions random(401, 333, 3);
  MatchResult actual;
  for (int threads = 1; threads <= 5; ++threads) {
    cpu::Matcher matcher(threads);
    for (const QueryConditions& conditions : {random.angles(), random.all()}) {
      for (const MatchOptions& options : testing::OptionsToTry()) {
        const MatchInput input{query.view(), train.view(), conditions, random.keypoints()};
        matcher.Match(input, options, &actual);
        EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual))
            << threads << " threads, " << testing::ToString(options);
      }
    }
  }
}

}  // namespace
}  // namespace glint
