// The parts that figures pass through: statistics, rounds, pictures, JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "bench/json.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "bench/statistics.h"

namespace glint::bench {
namespace {

using ::testing::ElementsAre;

TEST(Quantile, InterpolatesBetweenTheNearestSamples) {
  EXPECT_EQ(Quantile({7}, 0.5), 7);
  EXPECT_EQ(Quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({3, 1, 2}, 1), 3);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({10, 20}, 0.1), 11);
  std::vector<double> hundred_and_one;
  for (int i = 100; i >= 0; --i) hundred_and_one.push_back(i);
  EXPECT_DOUBLE_EQ(Quantile(hundred_and_one, 0.1), 10);
  EXPECT_DOUBLE_EQ(Quantile(hundred_and_one, 0.99), 99);
}

TEST(Summarize, GivesMedianDecilesAndMinimum) {
  const Summary summary = Summarize({11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(summary.median, 6);
  EXPECT_DOUBLE_EQ(summary.p10, 2);
  EXPECT_DOUBLE_EQ(summary.p90, 10);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_EQ(Summarize({}).median, 0);
}

TEST(RunRounds, TakesTurnsAndForgetsTheWarmUp) {
  std::string order;
  const auto contestant = [&order](char name) {
    return Contestant{std::string(1, name), [&order, name](std::vector<double>* us) {
                        order.push_back(name);
                        us->push_back(static_cast<double>(order.size()));
                        return absl::OkStatus();
                      }};
  };
  std::vector<Contestant> contestants = {contestant('a'), contestant('b'), contestant('c')};
  ASSERT_TRUE(RunRounds(3, &contestants).ok());
  EXPECT_EQ(order, "abcabcbcacab");  // a round to warm up, then three that each start with another
  EXPECT_THAT(contestants[0].us, ElementsAre(4, 9, 11));
  EXPECT_THAT(contestants[1].us, ElementsAre(5, 7, 12));
  EXPECT_THAT(contestants[2].us, ElementsAre(6, 8, 10));
}

TEST(RunRounds, StopsAtTheFirstError) {
  int runs = 0;
  std::vector<Contestant> contestants = {Timed(
      "fails", Clock::kWall, [&runs] { return ++runs < 3 ? absl::OkStatus() : absl::InternalError("third run"); })};
  EXPECT_EQ(RunRounds(9, &contestants).message(), "third run");
  EXPECT_EQ(runs, 3);
}

TEST(Mirrored2x2, MirrorsBothWays) {
  Image image(2, 1);
  image.row(0)[0] = 1;
  image.row(0)[1] = 2;
  const Image out = Mirrored2x2(image);
  ASSERT_EQ(out.shape(), (Shape{4, 2}));
  for (int y = 0; y < 2; ++y) EXPECT_THAT(std::vector<int>(out.row(y), out.row(y) + 4), ElementsAre(1, 2, 2, 1));

  Image tall(1, 2);
  tall.row(0)[0] = 1;
  tall.row(1)[0] = 2;
  const Image both = Mirrored2x2(tall);
  ASSERT_EQ(both.shape(), (Shape{2, 4}));
  for (const auto& [y, value] : {std::pair{0, 1}, {1, 2}, {2, 2}, {3, 1}}) {
    EXPECT_THAT(std::vector<int>(both.row(y), both.row(y) + 2), ElementsAre(value, value));
  }
}

TEST(JsonWriter, NestsAndEscapes) {
  JsonWriter json;
  json.BeginObject().Key("a \"b\"\n").String("c\\\x01");
  json.Key("list").BeginArray().Int(-3).Number(0.5).Bool(true).BeginObject().EndObject().EndArray();
  json.Key("none").Number(std::numeric_limits<double>::infinity());
  json.EndObject();
  EXPECT_EQ(
      json.text(),
      "{\n  \"a \\\"b\\\"\\u000a\": \"c\\\\\\u0001\",\n  \"list\": [\n    -3,\n    0.5,\n    true,\n    {}\n  ],\n"
      "  \"none\": null\n}");
}

}  // namespace
}  // namespace glint::bench
