// The measures of glint compare on keypoints with known answers.
#include <cmath>
#include <fstream>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "client/cli/compare/compare_table.h"
#include "client/cli/output/compare_metrics.h"
#include "client/cli/output/compare_views.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Keypoints at these places; descriptor i is `first_descriptor` + i in its first byte.
Features At(const std::vector<Place>& places, int first_descriptor = 0) {
  Features f;
  f.Resize(places.size(), 32);
  for (size_t i = 0; i < places.size(); ++i) {
    f.x[i] = static_cast<float>(places[i].x);
    f.y[i] = static_cast<float>(places[i].y);
    f.response[i] = static_cast<float>(i);
    f.descriptors[32 * i] = static_cast<uint8_t>(1 << (first_descriptor + static_cast<int>(i)));
  }
  return f;
}

constexpr Homography kShift = {1, 0, 10, 0, 1, 0, 0, 0, 1};

TEST(Homography, InverseUndoesIt) {
  const Homography h = {1.2, 0.1, 5, -0.2, 0.9, 7, 0.001, 0.0005, 1};
  const Place there = Apply(h, 30, 40);
  const Place back = Apply(Inverse(h), there.x, there.y);
  EXPECT_NEAR(back.x, 30, 1e-9);
  EXPECT_NEAR(back.y, 40, 1e-9);
  EXPECT_EQ(Inverse({1, 2, 3, 2, 4, 6, 0, 0, 1}), Homography{});
}

TEST(Compare, CountsOnlyWhatBothImagesShow) {
  // The last keypoint leaves the second image on the right.
  const Features first = At({{20, 20}, {50, 50}, {95, 10}});
  const Features second = At({{30, 20}, {60, 50}});
  const Agreement a = Compare(first, {100, 100}, second, {100, 100}, kShift, 1);
  EXPECT_EQ(a.first, 2u);
  EXPECT_EQ(a.second, 2u);
  EXPECT_EQ(a.repeated, 2u);
  EXPECT_EQ(a.matched, 2u);
  EXPECT_EQ(a.correct, 2u);
  EXPECT_EQ(a.repeatability(), 1);
}

TEST(Compare, PairsAreWithinTheToleranceAndEachKeypointIsInOneOnly) {
  const Features first = At({{20, 20}, {21, 20}, {60, 60}});
  const Features second = At({{20.4, 20}, {62.1, 60}});
  const Agreement a = Compare(first, {100, 100}, second, {100, 100}, kSamePlace, 2);
  EXPECT_EQ(a.repeated, 1u) << "one of the two on the left; the pair on the right is 2.1 pixels apart";
  EXPECT_EQ(a.repeatability(), 0.5);
}

TEST(Compare, PairsTheNearestFirst) {
  // Taken in the order of the keypoints, the first would take what the second is nearest to.
  const Features first = At({{20, 20}, {22, 20}});
  EXPECT_EQ(Compare(first, {100, 100}, At({{21.5, 20}, {23.5, 20}}), {100, 100}, kSamePlace, 2).repeated, 1u);
  EXPECT_EQ(Compare(first, {100, 100}, At({{20.5, 20}, {22.5, 20}}), {100, 100}, kSamePlace, 2).repeated, 2u);
}

TEST(Compare, KeypointsOfSeveralLevelsOnOnePlaceAreFoundAgain) {
  const Features f = At({{20, 20}, {20, 20}, {20, 20}, {60, 60}});
  EXPECT_EQ(Compare(f, {100, 100}, f, {100, 100}, kSamePlace, 2).repeatability(), 1);
}

TEST(Compare, AMatchIsCorrectWhereTheHomographySaysSo) {
  const Features first = At({{20, 20}, {60, 60}});
  Features second = At({{60, 60}, {20, 20}});  // the descriptors are swapped
  EXPECT_EQ(Compare(first, {100, 100}, second, {100, 100}, kSamePlace, 2).matched, 2u);
  EXPECT_EQ(Compare(first, {100, 100}, second, {100, 100}, kSamePlace, 2).precision(), 0);
  second.Resize(2, 0);
  EXPECT_EQ(Compare(first, {100, 100}, second, {100, 100}, kSamePlace, 2).matched, 0u);
}

TEST(Compare, OfNothingIsNothing) {
  const Agreement a = Compare({}, {10, 10}, At({{1, 1}}), {10, 10}, kSamePlace, 3);
  EXPECT_EQ(a.repeatability(), 0);
  EXPECT_EQ(a.precision(), 0);
}

TEST(MutualMatches, AreNearestBothWays) {
  // The first one's nearest, the first of three that are equally far, has a nearer one itself.
  EXPECT_THAT(MutualMatches(At({{0, 0}, {1, 0}}), At({{0, 0}, {1, 0}, {2, 0}}, 1)), ElementsAre(Pair(1, 0)));
}

TEST(Strongest, KeepsOrder) {
  const Features f = Strongest(At({{1, 1}, {2, 2}, {3, 3}}), 2);
  EXPECT_THAT(f.x, ElementsAre(2, 3));
  EXPECT_EQ(f.descriptors[32], 4);
}

TEST(EstimateHomography, BearsWrongMatches) {
  Features first;
  Features second;
  constexpr size_t kCount = 100;
  for (Features* f : {&first, &second}) f->Resize(kCount, 32);
  for (size_t i = 0; i < kCount; ++i) {
    first.x[i] = static_cast<float>(20 * (i % 10));
    first.y[i] = static_cast<float>(15 * (i / 10));
    const Place there = Apply({0.9, 0.1, 5, -0.1, 1.1, 7, 0, 0.0002, 1}, first.x[i], first.y[i]);
    const bool wrong = i % 4 == 0;
    second.x[i] = static_cast<float>(wrong ? (37 * i) % 200 : there.x);
    second.y[i] = static_cast<float>(wrong ? (53 * i) % 150 : there.y);
    first.descriptors[32 * i] = second.descriptors[32 * i] = static_cast<uint8_t>(i);  // all different
  }
  const auto h = EstimateHomography(first, second);
  ASSERT_TRUE(h.ok()) << h.status();
  const Place there = Apply(*h, 110, 70);
  const Place expected = Apply({0.9, 0.1, 5, -0.1, 1.1, 7, 0, 0.0002, 1}, 110, 70);
  EXPECT_LT(std::hypot(there.x - expected.x, there.y - expected.y), 0.1);
  EXPECT_TRUE(absl::IsNotFound(EstimateHomography(At({{1, 1}}), At({{1, 1}})).status()));
}

TEST(ReadHomography, NamesTheFile) {
  const std::string path = ::testing::TempDir() + "homography";
  std::ofstream(path) << "1 0 10\n0 1 0\n0 0 1\n";
  const auto h = ReadHomography(path);
  ASSERT_TRUE(h.ok()) << h.status();
  EXPECT_EQ(*h, kShift);
  std::ofstream(path) << "1 2 three";
  EXPECT_EQ(ReadHomography(path).status(), absl::InvalidArgumentError(path + ": not a file of nine numbers"));
  std::ofstream(path) << "1 0 10\n0 1 0\n0 0 1\n\n1 0 20\n0 1 0\n0 0 1\n";  // two of them
  EXPECT_EQ(ReadHomography(path).status(), absl::InvalidArgumentError(path + ": not a file of nine numbers"));
  std::ofstream(path) << "\xEF\xBB\xBF"
                      << "1 0 10\r\n0 1 0\r\n0 0 1\r\n";
  EXPECT_EQ(*ReadHomography(path), kShift);
}

TEST(Turn, MovesPixelsAsItSays) {
  cv::Mat image(60, 100, CV_8U, cv::Scalar(0));
  image(cv::Rect(79, 19, 3, 3)) = 255;
  for (const double degrees : {30.0, 90.0, 215.0}) {
    const Turned turned = Turn(image, degrees);
    EXPECT_EQ(turned.mask.size(), turned.image.size());
    const Place spot = Apply(turned.from, 80, 20);
    EXPECT_EQ(turned.image.at<uint8_t>(static_cast<int>(std::lround(spot.y)), static_cast<int>(std::lround(spot.x))),
              255);
    EXPECT_NEAR(cv::countNonZero(turned.mask), 60 * 100, 200) << degrees << ": as many pixels as the image has";
  }
  EXPECT_EQ(Turn(image, 90).image.size(), cv::Size(60, 100));
}

TEST(CompareTable, LeavesUnknownCellsEmpty) {
  CompareTable table;
  CompareRow row;
  row.image = "a,b.png";
  row.detector = "orb";
  row.keypoints = 7;
  row.microseconds = 12.34;
  table.Add(row);
  EXPECT_EQ(table.Print(TableFormat::kCsv),
            "image,view,detector,keypoints,overlap,repeatability,matching_score,precision,us\n"
            "\"a,b.png\",,orb,7,,,,,12.3\n");
  EXPECT_EQ(table.Print(TableFormat::kJson),
            "{\"image\":\"a,b.png\",\"view\":\"\",\"detector\":\"orb\",\"keypoints\":7,\"overlap\":null,"
            "\"repeatability\":null,\"matching_score\":null,\"precision\":null,\"us\":12.3}\n");
}

}  // namespace
}  // namespace glint::cli
