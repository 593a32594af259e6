// Few calls receive a small message at a time, the last that came first; whoever says nothing makes way.
#include "server/rpc/small_places.h"

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

class Guests {
 public:
  Guests() {
    for (int i = 0; i < kMany; ++i) guests_[static_cast<size_t>(i)].Init(i, this);
  }
  SmallPlaces::Guest* at(int i) { return &guests_[static_cast<size_t>(i)]; }

  // Numbers of the guests, in the order in which they were told.
  std::vector<int> receive, give_up;

 private:
  class OneGuest : public SmallPlaces::Guest {
   public:
    void Init(int number, Guests* all) {
      number_ = number;
      all_ = all;
    }
    void Receive() override { all_->receive.push_back(number_); }
    void GiveUpPlace() override { all_->give_up.push_back(number_); }

   private:
    int number_ = 0;
    Guests* all_ = nullptr;
  };
  std::array<OneGuest, kMany> guests_;
};

static_assert(kSmallReceipts == 4, "the numbers below");

TEST(SmallPlacesTest, FourReceiveAtATimeAndTheLastThatCameIsNext) {
  Guests guests;
  SmallPlaces places(kMany, kNever);
  for (int i = 0; i < kMany; ++i) places.Enter(guests.at(i), false);
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3));
  places.Leave(guests.at(1));
  places.Leave(guests.at(1));  // twice is as once
  places.Leave(guests.at(0));
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3, 15, 14));
  places.Press();  // nobody has received for long
  EXPECT_THAT(guests.give_up, IsEmpty());
}

TEST(SmallPlacesTest, WhoComesAgainIsBehindAllOthers) {
  Guests guests;
  SmallPlaces places(kMany, kNever);
  for (int i = 0; i < 6; ++i) places.Enter(guests.at(i), false);
  places.Enter(guests.at(6), true);
  for (int i = 0; i < 4; ++i) places.Leave(guests.at(i));
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3, 5, 4, 6));
}

// Its place is free only once it has left: until then something of its message may be there.
TEST(SmallPlacesTest, WhoReceivesForLongMakesWayForThoseThatWait) {
  Guests guests;
  SmallPlaces places(kMany, kAtOnce);
  for (int i = 0; i < 6; ++i) places.Enter(guests.at(i), false);
  places.Press();
  EXPECT_THAT(guests.give_up, ElementsAre(0, 1));  // two wait
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3));
  places.Leave(guests.at(0));
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3, 5));
}

TEST(SmallPlacesTest, WhereAllPlacesAreTakenWhoHasWaitedLongestGoes) {
  Guests guests;
  SmallPlaces places(6, kNever);
  for (int i = 0; i < 8; ++i) places.Enter(guests.at(i), false);
  EXPECT_THAT(guests.give_up, ElementsAre(4, 5));
  for (int i = 0; i < 4; ++i) places.Leave(guests.at(i));
  EXPECT_THAT(guests.receive, ElementsAre(0, 1, 2, 3, 7, 6));  // those that were told to go get no place
}

}  // namespace
}  // namespace glint
