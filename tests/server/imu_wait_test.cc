// How long pairs wait for readings, and when they wait no more: times are the test's.
#include "server/operations/localize/imu_wait.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace glint {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStart = 1000 * kMs;  // MonotonicNs()

// A pair that is received then, and begun without readings once its wait is over.
void WaitInVain(int64_t turn, int64_t received_at, ImuWait* wait) {
  const int64_t until = wait->Until(received_at, 0);
  EXPECT_EQ(until, received_at + 100 * kMs);
  wait->Begin(turn, turn, /*had_readings=*/false, /*has_readings=*/false, until);
}

TEST(ImuWaitTest, WaitsFromReceiptOnAndHalfOfThePairsAge) {
  ImuWait wait(100 * kMs);
  EXPECT_EQ(wait.Until(kStart, 0), kStart + 100 * kMs);
  EXPECT_EQ(wait.Until(kStart, kStart + 60 * kMs), kStart + 30 * kMs);
  EXPECT_EQ(wait.Until(kStart, kStart + 1000 * kMs), kStart + 100 * kMs);
  ImuWait none(0);
  EXPECT_EQ(none.Until(kStart, 0), 0);
}

// Newer ones in their place would wait for ever.
TEST(ImuWaitTest, PairsThatTakeAnothersPlaceWaitNoLongerThanThat) {
  ImuWait wait(100 * kMs);
  EXPECT_EQ(wait.Until(kStart, 0), kStart + 100 * kMs);
  EXPECT_EQ(wait.Until(kStart + 33 * kMs, 0), kStart + 100 * kMs);
  EXPECT_EQ(wait.Until(kStart + 66 * kMs, 0), kStart + 100 * kMs);
  wait.Begin(3, 3, false, true, kStart + 100 * kMs);
  EXPECT_EQ(wait.Until(kStart + 99 * kMs, 0), kStart + 199 * kMs);
  EXPECT_EQ(wait.Until(kStart + 500 * kMs, 0), kStart + 600 * kMs);  // the one before has expired
}

TEST(ImuWaitTest, AfterThreeWaitsInVainNoPairWaits) {
  ImuWait wait(100 * kMs);
  int64_t turn = 0, now = kStart;
  for (; turn < ImuWait::kMostInVain; now += 200 * kMs) {
    WaitInVain(++turn, now, &wait);
    wait.Answered(turn);
    wait.Came(turn);  // too late: that of a client that waits for answers
  }
  EXPECT_EQ(wait.Until(now, 0), 0);
  ++turn;
  wait.Begin(turn, turn, false, false, now);
  wait.Came(turn - 1);  // of the pair before
  EXPECT_EQ(wait.Until(now, 0), 0);
  wait.Came(turn);  // before the answer
  EXPECT_EQ(wait.Until(now, 0), now + 100 * kMs);
}

TEST(ImuWaitTest, AWaitThatEndsWithReadingsBeginsTheCountAnew) {
  ImuWait wait(100 * kMs);
  WaitInVain(1, kStart, &wait);
  WaitInVain(2, kStart + 200 * kMs, &wait);
  wait.Until(kStart + 400 * kMs, 0);
  wait.Begin(3, 3, /*had_readings=*/false, /*has_readings=*/true, kStart + 410 * kMs);
  WaitInVain(4, kStart + 600 * kMs, &wait);
  WaitInVain(5, kStart + 800 * kMs, &wait);
  // One that had its readings says nothing; nor does one that had to be begun before its time.
  wait.Begin(6, 6, true, true, kStart + 900 * kMs);
  wait.Until(kStart + 1000 * kMs, 0);
  wait.Begin(7, 7, false, false, kStart + 1001 * kMs);
  WaitInVain(8, kStart + 1200 * kMs, &wait);
  EXPECT_EQ(wait.Until(kStart + 1400 * kMs, 0), 0);
}

}  // namespace
}  // namespace glint
