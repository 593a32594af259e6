// Times of frames under clocks that jump, are set, and stamp bursts.
#include "slam/watch/frame_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace glint::slam {
namespace {

constexpr int64_t kStep = 33'000'000, kSecond = 1'000'000'000, kHour = 3600 * kSecond;

struct Judged {
  std::vector<double> steps;   // of the times, usual ones
  std::vector<size_t> warned;  // frames
  std::vector<Warning> warnings;
};

Judged Judge(const std::vector<int64_t>& stamps) {
  FrameClock clock;
  Judged judged;
  int64_t last = 0;
  for (size_t i = 0; i < stamps.size(); ++i) {
    std::vector<Warning> warnings;
    EXPECT_TRUE(clock.Validate(stamps[i]).ok());
    const int64_t time = clock.Next(stamps[i], &warnings);
    if (i > 0) {
      EXPECT_GT(time, last);
      judged.steps.push_back(static_cast<double>(time - last) / kStep);
    }
    last = time;
    if (!warnings.empty()) judged.warned.push_back(i);
    judged.warnings.insert(judged.warnings.end(), warnings.begin(), warnings.end());
  }
  return judged;
}

// Of a camera that sends a pair every kStep.
std::vector<int64_t> Stamps(int count) {
  std::vector<int64_t> stamps;
  for (int i = 0; i < count; ++i) stamps.push_back(i * kStep);
  return stamps;
}

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FrameClock, TimesAreTheStampsOfAGoodClock) {
  FrameClock clock;
  std::vector<Warning> warnings;
  // Every third pair is missing, then five in a row, and the camera becomes slower.
  for (const int64_t n : {0, 1, 3, 4, 6, 7, 9, 15, 16, 18, 19, 21, 23, 25, 27}) {
    const int64_t stamp = 1'764'320'000'123'456'789 + n * kStep;
    EXPECT_EQ(clock.Next(stamp, &warnings), stamp);
  }
  EXPECT_THAT(warnings, IsEmpty());
}

// Such a camera sends a pair when it has moved on, or its frames were thinned out.
TEST(FrameClock, TimesAreTheStampsOfATriggeredCamera) {
  FrameClock clock;
  std::vector<Warning> warnings;
  for (const int64_t ms : {0, 7300, 7350, 7950, 8900, 9700, 11250, 13300, 13350, 15400, 18100, 18200, 21000}) {
    const int64_t stamp = kHour + ms * 1'000'000;
    EXPECT_EQ(clock.Next(stamp, &warnings), stamp);
  }
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(FrameClock, AStampOutOfLineIsUsedForNothing) {
  for (const int64_t off : {kSecond, kHour, -kSecond, -kHour, std::numeric_limits<int64_t>::max() - 100 * kStep}) {
    for (const size_t odd : {size_t{1}, size_t{2}, size_t{20}}) {
      if (odd == 1 && off == kSecond) continue;  // it might be the step of this stream
      SCOPED_TRACE(testing::Message() << off << " at " << odd);
      std::vector<int64_t> stamps = Stamps(40);
      stamps[odd] += off;
      const Judged judged = Judge(stamps);
      EXPECT_THAT(judged.warned, ElementsAre(odd));
      EXPECT_EQ(judged.warnings[0].kind, WarningKind::kTimestamp);
      EXPECT_DOUBLE_EQ(judged.warnings[0].figure, static_cast<double>(stamps[odd] - stamps[odd - 1]) * 1e-6);
      for (const double step : judged.steps) EXPECT_LT(step, 4);
      for (size_t i = odd + 2; i < judged.steps.size(); ++i) EXPECT_EQ(judged.steps[i], 1) << i;
    }
  }
}

TEST(FrameClock, AClockThatWasSetIsUsedAfterThreeStamps) {
  for (const int64_t off : {kSecond, kHour, -10 * kSecond, -kHour}) {
    for (const size_t set : {size_t{1}, size_t{25}}) {
      if (set == 1 && off == kSecond) continue;
      SCOPED_TRACE(testing::Message() << off << " at " << set);
      std::vector<int64_t> stamps = Stamps(50);
      for (size_t i = set; i < stamps.size(); ++i) stamps[i] += off;
      const Judged judged = Judge(stamps);
      EXPECT_THAT(judged.warned, ElementsAre(set, set + 1, set + 2));
      EXPECT_THAT(judged.warnings[1].text, HasSubstr("it is not used"));
      EXPECT_THAT(judged.warnings[2].text, HasSubstr("the clock was set, and is used again"));
      EXPECT_THAT(std::vector<double>(judged.steps.begin() + 3, judged.steps.end()), Each(1));
    }
  }
}

TEST(FrameClock, BurstsCountAsPairsOneAfterTheOther) {
  for (const int size : {2, 4, 7}) {
    std::vector<int64_t> stamps;
    for (int i = 0; i < 100; ++i) stamps.push_back((i / size * size + size - 1) * kStep + 100'000 * (i % size));
    const Judged judged = Judge(stamps);
    EXPECT_FALSE(judged.warned.empty());
    EXPECT_THAT(judged.warnings[0].text, HasSubstr("0.100 ms after the pair before"));
    // What a motion that was measured over one step is scaled by for the next.
    for (size_t i = 2; i < judged.steps.size(); ++i) {
      EXPECT_GT(judged.steps[i] / judged.steps[i - 1], 0.1) << size << ", " << i;
      EXPECT_LT(judged.steps[i] / judged.steps[i - 1], 3) << size << ", " << i;
    }
  }
}

TEST(FrameClock, FollowsAnotherRate) {
  for (const int64_t other : {kStep / 3, 3 * kStep, 20 * kStep}) {
    std::vector<int64_t> stamps = Stamps(20);
    for (int i = 0; i < 80; ++i) stamps.push_back(stamps.back() + other);
    const Judged judged = Judge(stamps);
    for (size_t i = 80; i < judged.steps.size(); ++i) EXPECT_EQ(judged.steps[i], static_cast<double>(other) / kStep);
  }
}

TEST(FrameClock, RefusesEqualStampsAlone) {
  FrameClock clock;
  std::vector<Warning> warnings;
  EXPECT_TRUE(clock.Validate(0).ok());
  clock.Next(7, &warnings);
  EXPECT_THAT(std::string(clock.Validate(7).message()), HasSubstr("time_ns: 7 is an earlier pair's, too"));
  EXPECT_TRUE(clock.Validate(8).ok());
}

// A camera that pauses for 20 steps: whether another sensor tells of the time decides if it did, or its clock was set.
TEST(FrameClock, APauseThatAnotherSensorTellsOfIsInLine) {
  const int64_t after = 9 * kStep + 20 * kStep;
  for (const bool is_known : {false, true}) {
    FrameClock clock;
    std::vector<Warning> warnings;
    for (int i = 0; i < 10; ++i) clock.Next(i * kStep, &warnings, is_known);
    ASSERT_THAT(warnings, IsEmpty());
    EXPECT_EQ(clock.Next(after, &warnings, is_known), is_known ? after : 10 * kStep);
    EXPECT_EQ(warnings.size(), is_known ? 0u : 1u);
    if (!is_known) continue;
    // The usual step is that of before.
    EXPECT_EQ(clock.Next(after + 7 * kStep, &warnings), after + 7 * kStep);
  }
}

}  // namespace
}  // namespace glint::slam
