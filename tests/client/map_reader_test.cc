// The points of a map in parts: what is asked for, and when they are whole.
#include "client/scenes/map_reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::client {
namespace {

using ::testing::ElementsAre;
using Point = std::array<float, 3>;

const auto kNever = [] { return false; };

LocalizeAnswer Part(int map_id, const view::MapPoints& points, uint64_t next_point) {
  LocalizeAnswer answer;
  answer.map.map_id = map_id;
  for (const Point& point : points) {
    answer.map.point_id.push_back(answer.map.point_id.size());
    answer.map.x.push_back(point[0]);
    answer.map.y.push_back(point[1]);
    answer.map.z.push_back(point[2]);
  }
  answer.map.has_next = next_point != 0;
  answer.map.next = {9, next_point};
  return answer;
}

TEST(MapReader, ReadsPartAfterPart) {
  MapReader reader(absl::ZeroDuration());
  EXPECT_EQ(reader.Next()->point, 0u);
  EXPECT_FALSE(reader.Next().has_value());  // the part has not come
  EXPECT_EQ(reader.Take(Part(3, {{1, 2, 3}, {4, 5, 6}}, 7)), nullptr);
  const auto second = reader.Next();
  EXPECT_EQ(second->point, 7u);
  EXPECT_EQ(second->keyframe, 9u);
  const auto whole = reader.Take(Part(3, {{7, 8, 9}}, 0));
  ASSERT_NE(whole, nullptr);
  EXPECT_THAT(*whole, ElementsAre(Point{1, 2, 3}, Point{4, 5, 6}, Point{7, 8, 9}));
  EXPECT_EQ(reader.Next()->point, 0u);
  EXPECT_THAT(*reader.Take(Part(4, {{0, 0, 1}}, 0)), ElementsAre(Point{0, 0, 1}));
}

TEST(MapReader, PausesBetweenMaps) {
  MapReader reader(absl::Hours(1));
  ASSERT_TRUE(reader.Next().has_value());
  ASSERT_NE(reader.Take(Part(1, {{1, 2, 3}}, 0)), nullptr);
  EXPECT_FALSE(reader.Next().has_value());
}

TEST(MapReader, ReadsOnceMoreFromTheBeginning) {
  MapReader reader(absl::Hours(1), /*patience=*/absl::ZeroDuration());
  EXPECT_TRUE(reader.Wait(kNever));  // for nothing
  ASSERT_TRUE(reader.Next().has_value());
  EXPECT_FALSE(reader.Wait(kNever));
  EXPECT_EQ(reader.Take(Part(1, {{1, 2, 3}}, 7)), nullptr);
  EXPECT_TRUE(reader.Wait(kNever));
  EXPECT_FALSE(reader.is_whole());
  reader.BeginAgain();
  EXPECT_EQ(reader.Next()->point, 0u);
  EXPECT_THAT(*reader.Take(Part(1, {{4, 5, 6}}, 0)), ElementsAre(Point{4, 5, 6}));
  EXPECT_TRUE(reader.is_whole());
  EXPECT_FALSE(reader.Next().has_value());
  reader.BeginAgain();
  EXPECT_TRUE(reader.Next().has_value());  // without the pause
}

TEST(MapReader, MixesNoMapsAndBeginsAgainAfterAFailure) {
  MapReader reader(absl::ZeroDuration());
  ASSERT_TRUE(reader.Next().has_value());
  EXPECT_EQ(reader.Take(Part(1, {{1, 2, 3}}, 7)), nullptr);
  ASSERT_TRUE(reader.Next().has_value());
  EXPECT_EQ(reader.Take(Part(2, {{4, 5, 6}}, 0)), nullptr);
  EXPECT_EQ(reader.Next()->point, 0u);
  EXPECT_EQ(reader.Take(Part(2, {{4, 5, 6}}, 8)), nullptr);
  ASSERT_TRUE(reader.Next().has_value());
  LocalizeAnswer failed;
  failed.status = absl::InternalError("device");
  EXPECT_EQ(reader.Take(failed), nullptr);
  EXPECT_EQ(reader.Next()->point, 0u);
  EXPECT_THAT(*reader.Take(Part(2, {{7, 8, 9}}, 0)), ElementsAre(Point{7, 8, 9}));
}

}  // namespace
}  // namespace glint::client
