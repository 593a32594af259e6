// Matching on the CPU at every SIMD target: the reference's entries.
#include "cpu/match/matcher.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/common/stages.h"
#include "features/reference/matcher.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/descriptors.h"

namespace glint {
namespace {

using testing::DescriptorSet;
using testing::Likeness;

class MatcherTest : public testing::SimdTest {
 protected:
  std::unique_ptr<cpu::Matcher> MakeMatcher(int threads = 1) const {
    const testing::ForcedSimd forced(GetParam());
    return std::make_unique<cpu::Matcher>(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, MatcherTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

// Sets of every size that leaves a block or a group of queries partly filled, by turns over widths, likenesses and
// options.
TEST_P(MatcherTest, SizesWidthsAndOptions) {
  const auto matcher = MakeMatcher();
  const int sizes[] = {0, 1, 2, 3, 5, 8, 15, 31, 32, 33, 63, 64, 65, 130};
  const int widths[] = {32, 8, 16, 24, 40, 48, 56, 64, 32, 512};
  const Likeness likenesses[] = {Likeness::kRandom, Likeness::kNoisy, Likeness::kFewValues, Likeness::kAllEqual};
  MatchResult actual;
  uint32_t seed = 0;
  for (const int queries : sizes) {
    for (const int trains : sizes) {
      ++seed;
      const int bytes = widths[seed % 10];
      const Likeness likeness = likenesses[seed % 4];
      const DescriptorSet query(queries, bytes, likeness, seed);
      const DescriptorSet train(trains, bytes, likeness, seed + 1000);
      const testing::RandomConditions random(queries, trains, seed);
      MatchInput input{query.view(), train.view(), random.angles(), random.keypoints()};
      for (const MatchOptions& options : testing::OptionsToTry()) {
        ASSERT_TRUE(ValidateMatchInput(input, options).ok());
        matcher->Match(input, options, &actual);
        EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual))
            << queries << " x " << trains << ", " << bytes << " bytes, " << testing::ToString(options);
      }
    }
  }
}

TEST_P(MatcherTest, EveryBitCounts) {
  const auto matcher = MakeMatcher();
  for (const int bytes : {8, 32, 64, 512}) {
    const DescriptorSet query(1, bytes, Likeness::kRandom, 1);
    DescriptorSet train(8 * bytes + 1, bytes, Likeness::kRandom, 2);
    for (int t = 0; t <= 8 * bytes; ++t) {
      // Train t differs from the query in its first 8 * bytes - t bits: the last train is the nearest.
      std::copy_n(query.view().data, bytes, train.row(t));
      for (int bit = 0; bit < 8 * bytes - t; ++bit) {
        train.row(t)[bit / 8] = static_cast<uint8_t>(train.row(t)[bit / 8] ^ 1 << bit % 8);
      }
    }
    MatchResult result;
    // Fewer of the long ones: each count is a train set of its own.
    for (int count = 1; count <= 8 * bytes + 1; count += bytes <= 32 ? 1 : bytes / 4 + 1) {
      const DescriptorView first{train.view().data, count, bytes};
      matcher->Match({query.view(), first, {}, {}}, {}, &result);
      ASSERT_EQ(result.index[0], count - 1) << bytes;
      ASSERT_EQ(result.distance[0], 8 * bytes - count + 1) << bytes;
    }
  }
}

TEST_P(MatcherTest, AThousand) {
  const auto matcher = MakeMatcher();
  MatchResult actual;
  for (const Likeness likeness : {Likeness::kNoisy, Likeness::kFewValues, Likeness::kAllEqual}) {
    const DescriptorSet query(1000, 32, likeness, 5);
    const DescriptorSet train(1000, 32, likeness, 6);
    MatchOptions options;
    options.cross_check = true;
    options.ratio = likeness == Likeness::kNoisy ? 0.95f : 0;
    const MatchInput input{query.view(), train.view(), {}, {}};
    matcher->Match(input, options, &actual);
    EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual));
    EXPECT_NE(*std::max_element(actual.index.begin(), actual.index.end()), kNoMatch);
    options = {};
    options.k = 8;
    matcher->Match(input, options, &actual);
    EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual));
  }
}

TEST_P(MatcherTest, Conditions) {
  const auto matcher = MakeMatcher();
  MatchResult actual;
  for (const auto& [queries, trains] : {std::pair{400, 700}, std::pair{33, 1}, std::pair{1, 33}, std::pair{5, 0}}) {
    const DescriptorSet query(queries, 32, Likeness::kFewValues, 7);
    const DescriptorSet train(trains, 32, Likeness::kNoisy, 8);
    const testing::RandomConditions random(queries, trains, 9);
    for (const QueryConditions& conditions : {random.windows(), random.octaves(), random.all()}) {
      for (MatchOptions options : testing::OptionsToTry()) {
        if (conditions.angle == nullptr) {
          options.max_angle_difference = 180;
          options.rotation_histogram = false;
        }
        const MatchInput input{query.view(), train.view(), conditions, random.keypoints()};
        ASSERT_TRUE(ValidateMatchInput(input, options).ok());
        matcher->Match(input, options, &actual);
        EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual)) << testing::ToString(options);
      }
    }
  }
}

// Windows of all sizes, so that few pairs are looked at one by one, and many in tiles; angles at the ends of what is
// allowed; all numbers of matches.
TEST_P(MatcherTest, ConditionsThatMostOrFewPairsMeet) {
  const auto matcher = MakeMatcher();
  const int queries = 103, trains = 213;
  const DescriptorSet query(queries, 32, Likeness::kFewValues, 1);
  const DescriptorSet train(trains, 32, Likeness::kNoisy, 2);
  const testing::RandomConditions random(queries, trains, 3);
  MatchResult actual;
  for (const float scale : {0.1f, 1.0f, 3.0f, 20.0f}) {
    for (const bool has_octaves : {false, true}) {
      QueryConditions conditions = random.all();
      std::vector<float> radius(conditions.radius, conditions.radius + queries);
      for (float& r : radius) r *= scale;
      conditions.radius = radius.data();
      if (!has_octaves) conditions.min_octave = conditions.max_octave = nullptr;
      for (const float angle : {0.0f, 0.5f, 90.0f, 179.5f, 180.0f}) {
        for (MatchOptions options : {MatchOptions{1}, MatchOptions{1, true}, MatchOptions{2}, MatchOptions{5}}) {
          options.max_angle_difference = angle;
          const MatchInput input{query.view(), train.view(), conditions, random.keypoints()};
          ASSERT_TRUE(ValidateMatchInput(input, options).ok());
          ASSERT_TRUE(matcher->Match(input, options, &actual));
          EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual))
              << scale << " " << has_octaves << " " << testing::ToString(options);
        }
      }
    }
  }
}

// A checkpoint is asked many times, in tiles and in lists, and ends the match at once.
TEST_P(MatcherTest, EndsAtACheckpoint) {
  const auto matcher = MakeMatcher();
  const int queries = 520, trains = 100;
  const DescriptorSet query(queries, 32, Likeness::kNoisy, 1);
  const DescriptorSet train(trains, 32, Likeness::kNoisy, 2);
  const testing::RandomConditions random(queries, trains, 3);
  const std::vector<float> narrow(static_cast<size_t>(queries), 9.0f);
  QueryConditions windows = random.windows();
  windows.radius = narrow.data();
  for (const QueryConditions& conditions : {QueryConditions{}, random.angles(), windows}) {
    for (const int k : {1, 3}) {
      MatchOptions options;
      options.k = k;
      if (conditions.angle != nullptr) options.max_angle_difference = 35;
      const MatchInput input{query.view(), train.view(), conditions, random.keypoints()};
      MatchResult actual;
      int calls = 0;
      ASSERT_TRUE(matcher->Match(input, options, &actual, [&] { return ++calls > 0; }));
      EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual));
      EXPECT_GE(calls, queries / 128);
      for (const int last : {1, calls / 2 + 1, calls}) {
        int asked = 0;
        EXPECT_FALSE(matcher->Match(input, options, &actual, [&] { return ++asked < last; }));
        EXPECT_EQ(asked, last);
        EXPECT_EQ(*std::max_element(actual.index.begin(), actual.index.end()), kNoMatch);
      }
    }
  }
}

// Keypoints that share a position, lie on a line, or are very far apart still find their cells.
TEST_P(MatcherTest, WindowsOnUnusualPositions) {
  const auto matcher = MakeMatcher();
  const DescriptorSet set(300, 32, Likeness::kNoisy, 3);
  std::vector<float> x(300), y(300), radius(300);
  MatchResult actual;
  for (int kind = 0; kind < 3; ++kind) {
    testing::Random random(4);
    for (size_t i = 0; i < 300; ++i) {
      x[i] = kind == 0 ? 17.5f : kind == 1 ? random.Uniform(0.0f, 900.0f) : random.Uniform(-1e6f, 1e6f);
      y[i] = kind == 2 ? random.Uniform(0.0f, 1.0f) : 3;
      radius[i] = kind == 2 ? random.Uniform(0.0f, 1e6f) : random.Uniform(0.0f, 50.0f);
    }
    const MatchInput input{set.view(), set.view(), {x.data(), y.data(), radius.data()}, {x.data(), y.data()}};
    MatchOptions options;
    options.k = 4;
    ASSERT_TRUE(ValidateMatchInput(input, options).ok());
    matcher->Match(input, options, &actual);
    EXPECT_TRUE(testing::SameMatches(reference::Match(input, options), actual)) << kind;
  }
}

// As many descriptors as the largest detector returns, on the best target alone; the reference looks at some of the
// queries, and at some of the columns.
TEST(LargestMatcherTest, SixtyFiveThousand) {
#ifdef GLINT_SANITIZED
  constexpr int kCount = 5000;  // sanitizers make 65536 take many minutes
#else
  constexpr int kCount = 65536;
#endif
  const DescriptorSet query(kCount, 32, Likeness::kRandom, 1);
  const DescriptorSet train(kCount, 32, Likeness::kRandom, 2);
  cpu::Matcher matcher(2);
  MatchOptions options;
  options.cross_check = true;
  MatchResult crossed;
  matcher.Match({query.view(), train.view(), {}, {}}, options, &crossed);
  int kept = 0;
  for (int q = 5; q < kCount; q += 1999) {
    options = {};
    options.k = 2;
    const MatchInput one{{query.view().row(q), 1, 32}, train.view(), {}, {}};
    const MatchResult expected = reference::Match(one, options);
    MatchResult two;
    matcher.Match(one, options, &two);
    EXPECT_TRUE(testing::SameMatches(expected, two));
    const MatchInput back{{train.view().row(expected.index[0]), 1, 32}, query.view(), {}, {}};
    const bool mutual = reference::Match(back, {}).index[0] == q;
    EXPECT_EQ(crossed.index[static_cast<size_t>(q)], mutual ? expected.index[0] : kNoMatch);
    kept += mutual;
  }
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace glint
