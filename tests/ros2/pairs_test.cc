// Pictures of two cameras that belong together, whatever becomes of some of them on the way.
#include "ros2/input/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace glint::ros2 {
namespace {

using ::testing::ElementsAre;
using Stamps = std::pair<int64_t, int64_t>;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kBegin = 1'700'000'000'000'000'000;
constexpr size_t kLeft = 0, kRight = 1;

// Times are milliseconds from kBegin on.
class Joined {
 public:
  explicit Joined(int64_t max_difference_ms = 5, int sides = 2)
      : pairs_(sides, max_difference_ms * kMs, [this](Picture*) { ++dropped; }) {}

  bool Add(size_t side, int64_t ms, size_t bytes = 0) { return AddNs(side, ms * kMs, bytes); }
  bool AddNs(size_t side, int64_t ns, size_t bytes = 0) {
    Picture picture;
    picture.stamp_ns = kBegin + ns;
    picture.frame_id = side == kLeft ? "left" : "right";
    picture.bytes.reserve(bytes);
    std::array<Picture, 2> pair;
    if (!pairs_.Add(side, std::move(picture), &pair)) return false;
    EXPECT_EQ(pair[0].frame_id, "left");
    found.emplace_back((pair[0].stamp_ns - kBegin) / kMs, (pair[1].stamp_ns - kBegin) / kMs);
    return true;
  }
  PairCounts counts() const { return pairs_.counts(); }

  std::vector<Stamps> found;
  int64_t dropped = 0;

 private:
  Pairs pairs_;
};

TEST(Pairs, ArePutTogetherAsSoonAsTheSecondIsThere) {
  Joined joined;
  EXPECT_FALSE(joined.Add(kLeft, 0));
  EXPECT_TRUE(joined.Add(kRight, 0));
  EXPECT_FALSE(joined.Add(kRight, 33));
  EXPECT_TRUE(joined.Add(kLeft, 33));
  EXPECT_FALSE(joined.Add(kLeft, 66));
  EXPECT_TRUE(joined.Add(kRight, 70));
  EXPECT_FALSE(joined.Add(kLeft, 100));
  EXPECT_FALSE(joined.Add(kRight, 106));  // 6 ms apart
  EXPECT_THAT(joined.found, ElementsAre(Stamps{0, 0}, Stamps{33, 33}, Stamps{66, 70}));
  EXPECT_EQ(joined.counts().pairs, 3);
  EXPECT_EQ(joined.dropped, 0);
}

TEST(Pairs, OfSeveralTheNearestIsTaken) {
  Joined joined(40);
  for (const int64_t ms : {0, 100, 200, 300}) {
    joined.Add(kLeft, ms);
    joined.Add(kRight, ms);
  }
  joined.found.clear();
  for (const int64_t ms : {390, 402, 430}) EXPECT_FALSE(joined.Add(kLeft, ms));
  EXPECT_TRUE(joined.Add(kRight, 400));
  EXPECT_THAT(joined.found, ElementsAre(Stamps{402, 400}));
  EXPECT_EQ(joined.counts().alone[kLeft], 1);  // 390, which is before the pair
  EXPECT_TRUE(joined.Add(kRight, 431));
}

// 30 images a second of two clocks that are up to 4 ms apart, each late by up to 80 ms on its own way.
TEST(Pairs, JitterOfStampsAndOfArrivalDoesNotMatter) {
  struct Arrival {
    int64_t time_us = 0, stamp_us = 0;
    size_t side = 0;
  };
  std::mt19937 random(7);
  const auto below = [&](int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); };
  std::vector<Arrival> arrivals;
  std::array<int64_t, 2> free{};  // messages of a topic keep their order
  for (int64_t i = 0; i < 300; ++i) {
    for (const size_t side : {kLeft, kRight}) {
      const int64_t stamp = i * 33'333 + (side == kRight ? below(4000) : 0);
      free[side] = std::max(free[side] + 1, stamp + below(80'000));
      arrivals.push_back({free[side], stamp, side});
    }
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) { return a.time_us < b.time_us; });
  Joined joined;
  for (const Arrival& a : arrivals) joined.AddNs(a.side, a.stamp_us * 1000);
  ASSERT_EQ(joined.found.size(), 300u);
  for (size_t i = 0; i < joined.found.size(); ++i) {
    const auto stamp = static_cast<int64_t>(i) * 33'333 / 1000;
    EXPECT_EQ(joined.found[i].first, stamp);
    EXPECT_LE(joined.found[i].second - stamp, 4);
  }
}

// With half a second of patience for one that is missing, its neighbours would be put together.
TEST(Pairs, WhatIsMissingMakesNoPairsOfDifferentMoments) {
  Joined joined(/*max_difference_ms=*/50);
  int64_t lost = 0, both = 0;
  std::mt19937 random(3);
  for (int64_t i = 0; i < 500; ++i) {
    const bool left = i < 1 ? true : random() % 8 != 0, right = i < 1 ? false : random() % 8 != 0;
    if (left) joined.Add(kLeft, i * 33);
    if (right) joined.Add(kRight, i * 33);
    both += left && right ? 1 : 0;
    lost += left != right ? 1 : 0;
  }
  EXPECT_EQ(static_cast<int64_t>(joined.found.size()), both);
  for (const Stamps& pair : joined.found) EXPECT_EQ(pair.first, pair.second);
  const PairCounts counts = joined.counts();
  EXPECT_LE(lost - counts.alone[kLeft] - counts.alone[kRight], 8);  // those that still wait
  EXPECT_GE(lost, counts.alone[kLeft] + counts.alone[kRight]);
  EXPECT_GT(counts.alone[kLeft], 20);
  EXPECT_GT(counts.alone[kRight], 20);
}

TEST(Pairs, WhatComesTwiceOrTooLateIsLeftOut) {
  Joined joined;
  joined.Add(kLeft, 0);
  EXPECT_FALSE(joined.Add(kLeft, 0));  // waits already
  EXPECT_TRUE(joined.Add(kRight, 0));
  EXPECT_FALSE(joined.Add(kLeft, 0));  // was in a pair
  EXPECT_FALSE(joined.Add(kRight, 0));
  EXPECT_EQ(joined.counts().repeated, 3);
  joined.Add(kRight, 66);
  joined.Add(kRight, 33);  // out of order
  EXPECT_TRUE(joined.Add(kLeft, 33));
  EXPECT_TRUE(joined.Add(kLeft, 66));
  EXPECT_FALSE(joined.Add(kLeft, 50));
  EXPECT_FALSE(joined.Add(kRight, 50));
  EXPECT_EQ(joined.counts().late, 2);
  EXPECT_EQ(joined.dropped, 5);
  EXPECT_THAT(joined.found, ElementsAre(Stamps{0, 0}, Stamps{33, 33}, Stamps{66, 66}));
}

TEST(Pairs, AClockThatIsSetBackBeginsAnew) {
  for (const size_t first : {kLeft, kRight}) {
    SCOPED_TRACE(first);
    const size_t second = 1 - first;
    Joined joined;
    for (const int64_t ms : {60'000, 60'033, 60'066}) {
      joined.Add(first, ms);
      joined.Add(second, ms);
    }
    joined.Add(first, 60'100);  // without a partner by now
    joined.found.clear();
    EXPECT_FALSE(joined.Add(first, 5));
    EXPECT_FALSE(joined.Add(second, 60'100));  // from before, on its way until now
    EXPECT_TRUE(joined.Add(second, 5));
    EXPECT_FALSE(joined.Add(second, 38));
    EXPECT_TRUE(joined.Add(first, 38));
    EXPECT_THAT(joined.found, ElementsAre(Stamps{5, 5}, Stamps{38, 38}));
    EXPECT_EQ(joined.counts().restarts, 2);
    EXPECT_EQ(joined.counts().alone[first] + joined.counts().alone[second], 2);
  }
}

TEST(Pairs, OneStampFarAheadDoesNotStopThem) {
  Joined joined;
  for (int64_t i = 0; i < 10; ++i) {
    joined.Add(kLeft, i == 5 ? 1'000'000'000 : i * 33);
    joined.Add(kRight, i * 33);
  }
  EXPECT_EQ(joined.found.size(), 9u);
  EXPECT_EQ(joined.counts().restarts, 1);
  joined.Add(kLeft, 1'000'000'000);
  EXPECT_FALSE(joined.Add(kLeft, 9 * 33));  // still was in a pair
  EXPECT_FALSE(joined.Add(kLeft, 8 * 33));
  EXPECT_EQ(joined.counts().repeated, 1);
  EXPECT_EQ(joined.counts().late, 1);
}

TEST(Pairs, FewWait) {
  Joined joined;
  for (int64_t i = 0; i < 1000; ++i) joined.Add(kLeft, i * 33);
  EXPECT_EQ(joined.dropped, 1000 - 8);
  EXPECT_EQ(joined.counts().alone[kLeft], 1000 - 8);
  EXPECT_TRUE(joined.Add(kRight, 992 * 33));
  Joined large;
  for (int64_t i = 0; i < 8; ++i) large.Add(kLeft, i * 33, size_t{100} << 20);
  EXPECT_EQ(large.dropped, 6);  // two are 200 MiB, and three would be over 256
  large.Add(kLeft, 1000, size_t{300} << 20);
  EXPECT_EQ(large.dropped, 8);  // one may be larger
  EXPECT_TRUE(large.Add(kRight, 1000));
}

TEST(Pairs, ASingleCameraHasAnOrderToo) {
  Joined joined(5, /*sides=*/1);
  std::vector<bool> taken;
  for (const int64_t ms : {5000, 5033, 5033, 5020, 5066, 10}) taken.push_back(joined.Add(kLeft, ms));
  EXPECT_THAT(taken, ElementsAre(true, true, false, false, true, true));
  const PairCounts counts = joined.counts();
  EXPECT_EQ(counts.pairs, 4);
  EXPECT_EQ(counts.repeated, 1);
  EXPECT_EQ(counts.late, 1);
  EXPECT_EQ(counts.restarts, 1);
}

}  // namespace
}  // namespace glint::ros2
