// The parts that figures pass through: statistics, rounds, pictures, JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "bench/jpeg_input.h"
#include "bench/json.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "features/limits.h"

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

TEST(RenderPicture, HasTheDetailOfAPhotograph) {
  const Image picture = RenderPicture({320, 240});
  const auto file = decode::WriteJpeg(picture, 80);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NEAR(8.0 * static_cast<double>(file->size()) / (320 * 240), 2, 0.5);  // bits a pixel
  // A larger one begins with it.
  const Image larger = RenderPicture({321, 250});
  for (int y = 0; y < 240; ++y) EXPECT_EQ(std::memcmp(picture.row(y), larger.row(y), 320), 0) << y;
}

TEST(MakeJpegInputs, SamplesChromaAsAsked) {
  for (const auto& [name, blocks] : {std::pair("grey", 1), {"444", 3}, {"422", 4}, {"440", 4}, {"420", 6}}) {
    JpegInputOptions options;
    options.size = "40x24";
    options.sampling = *JpegSamplingNamed(name);
    const auto inputs = MakeJpegInputs(options);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const std::string& file = (*inputs)[0].file;
    cuda::JpegPlan plan;
    const cuda::JpegReason reason =
        cuda::PlanJpeg(reinterpret_cast<const uint8_t*>(file.data()), file.size(), kMaxImagePixels, &plan);
    ASSERT_EQ(reason, cuda::JpegReason::kNone) << name;
    EXPECT_EQ(plan.unit_blocks, blocks) << name;
    EXPECT_EQ(plan.luma_columns, name == std::string("422") || name == std::string("420") ? 2 : 1) << name;
    EXPECT_EQ(plan.intervals, 1) << name;
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

// As of a file's name in Latin-1.
TEST(JsonWriter, WritesUtf8OfAnyBytes) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginArray().String("gr\xfcn.png").String("gr\xc3\xbcn.png").EndArray();
  EXPECT_EQ(json.text(), "[\"gr\\\\xfcn.png\",\"gr\xc3\xbcn.png\"]");
}

}  // namespace
}  // namespace glint::bench
