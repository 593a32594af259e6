// How matching is planned. Needs no GPU.
#include "cuda/match/match_plan.h"

#include "gtest/gtest.h"

namespace glint::cuda {
namespace {

TEST(MatchPlanTest, CoversAllAndStaysInItsMemory) {
  for (const int multiprocessors : {1, 8, 132}) {
    for (const int major : {7, 8, 9}) {
      for (const int queries : {1, 127, 128, 2000, 65536, kMaxMatchDescriptors}) {
        for (const int trains : {1, 63, 128, 2000, 10000, 65536, kMaxMatchDescriptors}) {
          for (const int k : {1, 2, 3, 8}) {
            for (const int bytes : {8, 32, 512}) {
              MatchOptions options;
              options.k = k;
              const MatchPlan plan = PlanMatch({multiprocessors, major}, queries, trains, bytes, options, false);
              EXPECT_EQ(plan.columns_per_split % kColumnGroup, 0);
              EXPECT_GE(plan.columns_per_split * plan.splits, trains);
              EXPECT_LT(plan.columns_per_split * (plan.splits - 1), trains);
              EXPECT_LE(plan.splits * plan.keep, kMaxPartials);
              EXPECT_EQ(plan.keep, k);
              if (plan.kernel != MatchKernel::kTensorCores) continue;
              EXPECT_LE(plan.columns_per_split, kMaxColumnsPerSplit);
              EXPECT_TRUE(major >= 8 && bytes == 32 && k <= 2);
            }
          }
        }
      }
    }
  }
}

TEST(MatchPlanTest, ChoosesTensorCoresWithoutConditions) {
  const MatchDevice h100 = {132, 9};
  MatchOptions options;
  EXPECT_EQ(PlanMatch(h100, 2000, 2000, 32, options, false).kernel, MatchKernel::kTensorCores);
  EXPECT_EQ(PlanMatch(h100, 2000, 2000, 32, options, true).kernel, MatchKernel::kPopcount);
  EXPECT_EQ(PlanMatch(h100, 2000, 2000, 64, options, false).kernel, MatchKernel::kPopcount);
  EXPECT_EQ(PlanMatch(h100, 1, 1, 32, options, false).kernel, MatchKernel::kTensorCores);
  EXPECT_EQ(PlanMatch({6, 7}, 2000, 2000, 32, options, false).kernel, MatchKernel::kPopcount);
  options.ratio = 0.8f;
  EXPECT_EQ(PlanMatch(h100, 2000, 2000, 32, options, false).keep, 2);
  EXPECT_EQ(PlanMatch(h100, 2000, 2000, 32, options, false).index_bits, 6);
  EXPECT_EQ(PlanMatch({16, 8}, 2000, 2000, 32, options, false).index_bits, 5);
}

// A grid of one block would leave the device idle.
TEST(MatchPlanTest, FewQueriesAreSharedOutByColumns) {
  const MatchPlan plan = PlanMatch({132, 9}, 2000, 2000, 32, {}, false);
  EXPECT_GE(8 * plan.splits, 100);
  // Measured on an H200: 36.7 us with 768 columns, 43 with 1728, 40 with 256.
  EXPECT_EQ(PlanMatch({132, 9}, 10000, 10000, 32, {}, false).columns_per_split, 768);
  EXPECT_LE(PlanMatch({1, 9}, 65536, 2000, 32, {}, false).splits, 2);
}

}  // namespace
}  // namespace glint::cuda
