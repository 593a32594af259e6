// The rules of features/matcher.h on cases that can be checked by hand.
#include "features/matcher.h"

#include <limits>
#include <string>
#include <vector>

#include "features/reference/matcher.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptors.h"

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Descriptors of 64 bits from numbers; little endian does not matter to distances.
struct Set {
  std::vector<uint64_t> rows;
  DescriptorView view() const {
    return {reinterpret_cast<const uint8_t*>(rows.data()), static_cast<int>(rows.size()), 8};
  }
};

MatchResult Match(const Set& query, const Set& train, const MatchOptions& options = {}) {
  return reference::Match({query.view(), train.view(), {}, {}}, options);
}

TEST(ReferenceMatch, NearestWithTiesToTheLowerIndex) {
  const MatchResult result = Match({{0x0, 0xff, 0x3}}, {{0x7, 0xf, 0x1, 0x2}});
  EXPECT_THAT(result.index, ElementsAre(2, 1, 0));
  EXPECT_THAT(result.distance, ElementsAre(1, 4, 1));
}

TEST(ReferenceMatch, KBestAreOrderedAndMayBeFewer) {
  MatchOptions options;
  options.k = 3;
  const MatchResult result = Match({{0x0}}, {{0x3, 0x1, 0x2, 0x4}}, options);
  EXPECT_THAT(result.index, ElementsAre(1, 2, 3));
  const MatchResult few = Match({{0x0, 0x3}}, {{0x3, 0x1}}, options);
  EXPECT_THAT(few.index, ElementsAre(1, 0, kNoMatch, 0, 1, kNoMatch));
  EXPECT_THAT(few.distance, ElementsAre(1, 2, kNoMatch, 0, 1, kNoMatch));
}

TEST(ReferenceMatch, EmptySetsHaveNoMatches) {
  MatchOptions options;
  options.cross_check = true;
  EXPECT_THAT(Match({{0x0, 0x1}}, {{}}, options).index, ElementsAre(kNoMatch, kNoMatch));
  EXPECT_TRUE(Match({{}}, {{0x1}}, options).index.empty());
}

TEST(ReferenceMatch, CrossCheckKeepsMutualNearest) {
  MatchOptions options;
  options.cross_check = true;
  // Both are nearest to train 1, which is nearest to query 1.
  EXPECT_THAT(Match({{0x0, 0x1}}, {{0xf0, 0x1}}, options).index, ElementsAre(kNoMatch, 1));
  // All tie: the first of each only.
  EXPECT_THAT(Match({{0x0, 0x0, 0x0}}, {{0x0, 0x0}}, options).index, ElementsAre(0, kNoMatch, kNoMatch));
}

TEST(ReferenceMatch, RatioIsStrictAndUsesTheSecondBeforeTheDistanceLimit) {
  MatchOptions options;
  options.ratio = 0.5f;
  EXPECT_THAT(Match({{0x0}}, {{0x1, 0x3}}, options).index, ElementsAre(kNoMatch));  // 1 < 0.5 * 2 is false
  EXPECT_THAT(Match({{0x0}}, {{0x1, 0x7}}, options).index, ElementsAre(0));
  EXPECT_THAT(Match({{0x0}}, {{0x1}}, options).index, ElementsAre(0));  // nothing to compare with
  options.max_distance = 1;
  EXPECT_THAT(Match({{0x0}}, {{0x1, 0x3}}, options).index, ElementsAre(kNoMatch));
  options.ratio = 0;
  EXPECT_THAT(Match({{0x0}}, {{0x3, 0x1}}, options).index, ElementsAre(1));
  EXPECT_THAT(Match({{0x0}}, {{0x3}}, options).index, ElementsAre(kNoMatch));
}

TEST(ReferenceMatch, ConditionsLimitBothDirections) {
  const Set query{{0x0, 0x1}};
  const Set train{{0x0, 0x1}};
  const float x[] = {100, 100}, y[] = {50, 50}, radius[] = {10, 10};
  const float train_x[] = {110, 109}, train_y[] = {50, 41};
  MatchInput input{query.view(), train.view(), {x, y, radius}, {train_x, train_y}};
  // Train 0 is on the edge of the windows, which are open.
  EXPECT_THAT(reference::Match(input, {}).index, ElementsAre(1, 1));
  const int32_t low[] = {0, 2}, high[] = {1, 1}, octave[] = {1, 1};
  input.conditions.min_octave = low;
  input.conditions.max_octave = high;
  input.keypoints.octave = octave;
  MatchOptions options;
  options.cross_check = true;
  // Query 1 has an empty range: train 1 is left to query 0, though query 1 is nearer.
  EXPECT_THAT(reference::Match(input, options).index, ElementsAre(1, kNoMatch));
}

TEST(AngleDifference, GoesTheShortWay) {
  EXPECT_EQ(AngleDifference(350, 10), 20);
  EXPECT_EQ(AngleDifference(10, 350), 20);
  EXPECT_EQ(AngleDifference(0, 180), 180);
}

TEST(RotationBin, IsThatOfTheOrbTrackers) {
  EXPECT_EQ(RotationBin(10, 10), 0);
  EXPECT_EQ(RotationBin(14.5f, 0), 0);
  EXPECT_EQ(RotationBin(16, 0), 1);
  EXPECT_EQ(RotationBin(0, 1), 12);
  EXPECT_EQ(RotationBin(0, 20), 11);
}

TEST(KeptRotationBins, TheThreeFullestUnlessTheyAreUnderATenth) {
  int32_t count[kRotationBins] = {};
  EXPECT_EQ(KeptRotationBins(count), 0u);
  count[4] = 100;
  EXPECT_EQ(KeptRotationBins(count), 1u << 4);
  count[2] = 9;
  EXPECT_EQ(KeptRotationBins(count), 1u << 4);
  count[2] = 10;
  count[7] = 9;
  EXPECT_EQ(KeptRotationBins(count), 1u << 4 | 1u << 2);
  count[7] = 10;
  count[9] = 10;  // ties with bins 2 and 7, which come first
  EXPECT_EQ(KeptRotationBins(count), 1u << 4 | 1u << 2 | 1u << 7);
}

TEST(ReferenceMatch, RotationHistogramDropsUnusualRotations) {
  const Set set{{0x0, 0xff, 0xff00, 0xff0000}};
  const float query_angle[] = {40, 100, 200, 300};
  const float train_angle[] = {10, 70, 170, 10};
  MatchOptions options;
  options.rotation_histogram = true;
  MatchInput input{set.view(), set.view(), {}, {}};
  input.conditions.angle = query_angle;
  input.keypoints.angle = train_angle;
  EXPECT_THAT(reference::Match(input, options).index, ElementsAre(0, 1, 2, 3));  // two bins only
  std::vector<uint64_t> rows;
  std::vector<float> angle, zero;
  for (uint64_t i = 0; i < 40; ++i) {
    rows.push_back(i);
    angle.push_back(i < 32 ? 30.0f : static_cast<float>(60 + 30 * (i % 4)));  // 32, 2, 2, 2, 2
    zero.push_back(0);
  }
  rows[39] = 39;
  const Set many{rows};
  input = {many.view(), many.view(), {}, {}};
  input.conditions.angle = angle.data();
  input.keypoints.angle = zero.data();
  const MatchResult result = reference::Match(input, options);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(result.index[i], i < 32 ? static_cast<int>(i) : kNoMatch) << i;
}

TEST(ValidateMatchOptions, NamesFieldValueAndRange) {
  EXPECT_TRUE(ValidateMatchOptions({}).ok());
  for (const MatchOptions& options : testing::OptionsToTry()) EXPECT_TRUE(ValidateMatchOptions(options).ok());
  MatchOptions bad;
  bad.k = 9;
  EXPECT_EQ(ValidateMatchOptions(bad).message(), "k: 9 is not in 1..8");
  bad.k = 0;
  EXPECT_EQ(ValidateMatchOptions(bad).message(), "k: 0 is not in 1..8");
  bad = {};
  bad.ratio = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(std::string(ValidateMatchOptions(bad).message()), HasSubstr("is not in 0..1"));
  bad = {};
  bad.max_distance = 4097;
  EXPECT_EQ(ValidateMatchOptions(bad).message(), "max_distance: 4097 is not in 0..4096");
  bad = {};
  bad.k = 2;
  bad.cross_check = true;
  EXPECT_EQ(ValidateMatchOptions(bad).message(), "cross_check: needs k 1, not 2");
}

TEST(ValidateMatchInput, NamesFieldValueAndRange) {
  const testing::DescriptorSet a(3, 32, testing::Likeness::kRandom, 1), b(4, 16, testing::Likeness::kRandom, 2);
  MatchInput input{a.view(), a.view(), {}, {}};
  const auto message = [&](const MatchOptions& options = {}) {
    return std::string(ValidateMatchInput(input, options).message());
  };
  EXPECT_EQ(message(), "");
  input.train = b.view();
  EXPECT_EQ(message(), "train.bytes: 16, but query.bytes is 32");
  input.train.count = 0;
  EXPECT_EQ(message(), "");
  input.train = {a.view().data, 2, 36};
  EXPECT_EQ(message(), "train.bytes: 36 is not a multiple of 8");
  input.train = {a.view().data, 2, 520};
  EXPECT_EQ(message(), "train.bytes: 520 is not in 8..512");
  input.train = {a.view().data, 262144, 32};
  EXPECT_EQ(message(), "train.count: 262144 is not in 0..262143");
  input.train = {nullptr, 2, 32};
  EXPECT_THAT(message(), HasSubstr("train.data: null"));
  input.train = a.view();
  float x[] = {1, 2, 3};
  float radius[] = {1, -1, 1};
  input.conditions.x = x;
  EXPECT_THAT(message(), HasSubstr("conditions.x: some of x, y, radius are missing"));
  input.conditions.y = x;
  input.conditions.radius = radius;
  EXPECT_THAT(message(), HasSubstr("train set's arrays"));
  input.keypoints.x = input.keypoints.y = x;
  EXPECT_EQ(message(), "conditions.radius[1]: -1 is not in 0..1.04858e+06");
  radius[1] = 5;
  EXPECT_EQ(message(), "");
  x[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message(), HasSubstr("conditions.x[2]: inf is not in"));
  MatchOptions turning;
  turning.rotation_histogram = true;
  x[2] = 3;
  EXPECT_EQ(message(turning), "rotation_histogram: needs the angles of both sets");
  x[2] = 360;
  input.conditions.angle = input.keypoints.angle = x;
  EXPECT_THAT(message(turning), HasSubstr("conditions.angle[2]: 360 is not at least 0"));
}

}  // namespace
}  // namespace glint
