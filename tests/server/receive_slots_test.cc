// ReceiveSlots: a few calls receive at a time, the newest waiter is next, and an idle call loses its slot.
#include "server/rpc/receive_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kMany = 16;
constexpr int64_t kAtOnce = 0, kNever = int64_t{1} << 60;  // patience, ns

class Waiters {
 public:
  Waiters() {
    for (int i = 0; i < kMany; ++i) waiters_[static_cast<size_t>(i)].Init(i, this);
  }
  ReceiveSlots::Waiter* at(int i) { return &waiters_[static_cast<size_t>(i)]; }

  // Numbers of the waiters, in the order of the calls.
  std::vector<int> receive, lost;

 private:
  class OneWaiter : public ReceiveSlots::Waiter {
   public:
    void Init(int number, Waiters* all) {
      number_ = number;
      all_ = all;
    }
    void Receive() override { all_->receive.push_back(number_); }
    void LoseSlot() override { all_->lost.push_back(number_); }

   private:
    int number_ = 0;
    Waiters* all_ = nullptr;
  };
  std::array<OneWaiter, kMany> waiters_;
};

static_assert(kSmallReceipts == 4, "the numbers below");

TEST(ReceiveSlotsTest, FourReceiveAtATimeAndTheLastThatCameIsNext) {
  Waiters waiters;
  ReceiveSlots slots(kNever);
  for (int i = 0; i < kMany; ++i) slots.Enter(waiters.at(i), false);
  EXPECT_THAT(waiters.receive, ElementsAre(0, 1, 2, 3));
  slots.Leave(waiters.at(1));
  slots.Leave(waiters.at(1));  // twice is as once
  slots.Leave(waiters.at(0));
  EXPECT_THAT(waiters.receive, ElementsAre(0, 1, 2, 3, 15, 14));
  slots.Poll();  // nobody has received for long
  EXPECT_THAT(waiters.lost, IsEmpty());
}

TEST(ReceiveSlotsTest, WhoComesAgainIsBehindAllOthers) {
  Waiters waiters;
  ReceiveSlots slots(kNever);
  for (int i = 0; i < 6; ++i) slots.Enter(waiters.at(i), false);
  slots.Enter(waiters.at(6), true);
  for (int i = 0; i < 4; ++i) slots.Leave(waiters.at(i));
  EXPECT_THAT(waiters.receive, ElementsAre(0, 1, 2, 3, 5, 4, 6));
}

// A slot is free only after Leave(): until then a part of the message may be in memory.
TEST(ReceiveSlotsTest, WhoReceivesForLongMakesWayForThoseThatWait) {
  Waiters waiters;
  ReceiveSlots slots(kAtOnce);
  for (int i = 0; i < 6; ++i) slots.Enter(waiters.at(i), false);
  slots.Poll();
  EXPECT_THAT(waiters.lost, ElementsAre(0, 1));  // two wait
  EXPECT_THAT(waiters.receive, ElementsAre(0, 1, 2, 3));
  slots.Leave(waiters.at(0));
  EXPECT_THAT(waiters.receive, ElementsAre(0, 1, 2, 3, 5));
}

}  // namespace
}  // namespace glint
