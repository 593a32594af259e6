// Places: shares, who makes way for whom, and that a place is used by one holder at a time.
#include "server/session/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/schedule/frame_job.h"
#include "tests/support/status.h"

namespace glint::testing {
namespace {

using Admission = Places::Admission;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

struct Holder final : PlaceHolder {
  void PlaceGranted() override { ++granted; }
  void Preempt() override { ++preempted; }

  int granted = 0, preempted = 0;
  Admission admission = Admission::kNoPlace;
  Place place{this};
};

class PlacesTest : public ::testing::Test {
 protected:
  static Places::Limits Limits(int total) {
    Places::Limits limits;
    limits.field = "sessions";
    limits.advice = "try again later";
    limits.total = total;
    limits.flag = "--max-sessions";
    limits.share_flag = "--max-sessions-per-peer";
    return limits;
  }
  void Make(const Places::Limits& limits) { places_ = std::make_unique<Places>(limits); }
  // A newcomer that was last heard so many seconds ago; negative: it waits for the server.
  Holder& Enter(const Peer& peer, int64_t silent_seconds, PlacePart* part = nullptr) {
    Holder& holder = holders_.emplace_back();
    holder.admission = places_->Enter(peer, part, &holder.place);
    holder.place.SilentSince(silent_seconds < 0 ? Place::kBusy : MonotonicNs() - silent_seconds * kSecond);
    return holder;
  }
  // Numbers of those that were preempted, in the order of their coming.
  std::vector<int> Preempted() const {
    std::vector<int> numbers;
    for (size_t i = 0; i < holders_.size(); ++i) {
      if (holders_[i].preempted > 0) numbers.push_back(static_cast<int>(i));
    }
    return numbers;
  }

  PlacePart part_;
  std::unique_ptr<Places> places_;
  std::deque<Holder> holders_;  // destroyed first
};

const Peer kA = {"a", "a", "1"}, kB = {"b", "b", "2"}, kC = {"c", "c", "3"}, kItself = {"", "", ""};

TEST_F(PlacesTest, APeerHasAShare) {
  Places::Limits limits = Limits(4);
  limits.share = 2;
  Make(limits);
  Holder& first = Enter(kA, 0);
  EXPECT_EQ(first.admission, Admission::kGranted);
  EXPECT_EQ(first.granted, 1);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kGranted);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kOverShare);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Enter(kItself, 0).admission, Admission::kGranted);  // it has no share
  EXPECT_EQ(places_->open(), 4);
  Holder reserved;
  places_->TakeReserved(&reserved.place);
  EXPECT_EQ(places_->open(), 5);
  reserved.place.GiveBack();
  first.place.GiveBack();
  first.place.GiveBack();  // once is enough
  EXPECT_EQ(places_->open(), 3);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kGranted);
  EXPECT_EQ(CodeAndText(places_->ErrorOf(Admission::kOverShare, kA, nullptr)),
            absl::ResourceExhaustedError(
                "sessions: 3 of a is over this server's limit of 2 (--max-sessions-per-peer); try again later"));
  EXPECT_EQ(
      CodeAndText(places_->ErrorOf(Admission::kNoPlace, kA, nullptr)),
      absl::ResourceExhaustedError("sessions: 5 is over this server's limit of 4 (--max-sessions); try again later"));
}

TEST_F(PlacesTest, ASiteHasAShareOfItsOwn) {
  Places::Limits limits = Limits(8);
  limits.share = 2;
  Make(limits);
  int granted = 0;
  for (const char* name : {"1", "1", "1", "2", "2", "2", "3", "3", "4", "4", "5"}) {
    granted += Enter({name, "site"}, 0).admission == Admission::kGranted;
  }
  EXPECT_EQ(granted, 6);  // three quarters
  EXPECT_EQ(holders_.back().admission, Admission::kOverSiteShare);
  EXPECT_EQ(places_->ErrorOf(Admission::kOverSiteShare, {"5", "site"}, nullptr).message(),
            "sessions: 7 of site is over this server's limit of 6 (--max-sessions-per-peer); try again later");
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kGranted);
}

TEST_F(PlacesTest, WhoWasSilentLongestOfThoseWhoHaveMostMakesWay) {
  Make(Limits(5));
  Enter(kB, 900);
  Enter(kA, 10);
  Enter(kA, 30);
  Enter(kA, -1);
  Enter(kB, 20);
  EXPECT_EQ(Enter(kC, 0).admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(2));
  EXPECT_EQ(holders_.back().granted, 0);  // the place is still in use
  EXPECT_EQ(places_->open(), 5);
  holders_[2].place.GiveBack();
  EXPECT_EQ(holders_.back().granted, 1);
  EXPECT_EQ(places_->open(), 5);
  EXPECT_EQ(Enter(kC, 0).admission, Admission::kWaiting);  // a and b have two each, c one
  EXPECT_THAT(Preempted(), ElementsAre(0, 2));
  EXPECT_EQ(Enter(kC, 0).admission, Admission::kNoPlace);  // nobody has more than c
}

TEST_F(PlacesTest, WhoWaitsAndLeavesGivesItsTurnToTheNext) {
  Make(Limits(2));
  Enter(kA, 10);
  Enter(kA, 9);
  Holder& waiting = Enter(kB, 0);
  ASSERT_EQ(waiting.admission, Admission::kWaiting);
  waiting.place.GiveBack();
  Holder& next = Enter(kC, 0);  // nobody else has to go: one goes already
  EXPECT_EQ(next.admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(0));
  holders_[0].place.GiveBack();
  EXPECT_EQ(next.granted, 1);
  EXPECT_EQ(waiting.granted, 0);
}

TEST_F(PlacesTest, BusyHoldersAndThoseHeardLatelyKeepTheirPlaces) {
  Places::Limits limits = Limits(3);
  limits.patience_ns = 5 * kSecond;
  Make(limits);
  Enter(kA, -1);
  Enter(kA, 1);
  Enter(kItself, 100);
  EXPECT_EQ(Enter(kB, 0).admission, Admission::kNoPlace);
  EXPECT_THAT(Preempted(), IsEmpty());
}

TEST_F(PlacesTest, WhatAPeerHasBeyondWhatItKeepsGoesToNewcomersThoughItIsUsed) {
  Places::Limits limits = Limits(10);
  limits.share = ShareOfOnePeer(10);
  limits.kept = KeptByOnePeer(10);
  limits.patience_ns = 5 * kSecond;
  Make(limits);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Enter(kA, -1).admission, Admission::kGranted);
  int of_b = 0, of_c = 0;
  for (int i = 0; i < 8; ++i) of_b += Enter(kB, -1).admission <= Admission::kWaiting;
  for (int i = 0; i < 8; ++i) of_c += Enter(kC, -1).admission <= Admission::kWaiting;
  EXPECT_EQ(KeptByOnePeer(10), 4);
  EXPECT_EQ(of_b, 4);  // two were free
  EXPECT_EQ(of_c, 2);  // two busy peers cannot have all
  EXPECT_EQ(Preempted().size(), 4u);
  EXPECT_THAT(Preempted().back(), ::testing::Lt(8));  // all of them are of a
}

TEST_F(PlacesTest, ThePartHasALimitOfItsOwn) {
  Make(Limits(5));
  PlacePart& part = part_;
  part = {2, "streams that track", "--max-track-streams"};
  Enter(kA, 900);
  Enter(kA, 10, &part);
  Enter(kA, 20, &part);
  EXPECT_EQ(Enter(kA, 0, &part).admission, Admission::kNoPart);
  EXPECT_EQ(places_->ErrorOf(Admission::kNoPart, kA, &part).message(),
            "sessions: 3 streams that track are over this server's limit of 2 (--max-track-streams)");
  Holder& waiting = Enter(kB, 0, &part);
  EXPECT_EQ(waiting.admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(2));
  EXPECT_EQ(Enter(kB, 0).admission, Admission::kGranted);  // waits for nobody
  holders_[2].place.GiveBack();
  EXPECT_EQ(waiting.granted, 1);
  part.limit = 0;
  EXPECT_EQ(Enter(kC, 0, &part).admission, Admission::kWaiting);  // for that of a, silent for longer
  EXPECT_EQ(part.granted, 2);
}

TEST_F(PlacesTest, NobodyKeepsAllOfAPartByUse) {
  Places::Limits limits = Limits(10);
  limits.kept = KeptByOnePeer(10);
  Make(limits);
  part_ = {4, "streams that track", "--max-track-streams"};
  for (int i = 0; i < 4; ++i) Enter(kA, -1, &part_);
  EXPECT_EQ(Enter(kB, -1, &part_).admission, Admission::kWaiting);
  EXPECT_EQ(Enter(kB, -1, &part_).admission, Admission::kNoPart);  // of four, one is kept
  EXPECT_EQ(Enter(kC, -1, &part_).admission, Admission::kWaiting);
  EXPECT_EQ(Preempted().size(), 2u);
  EXPECT_THAT(Preempted().back(), ::testing::Lt(4));  // both are of a
}

TEST_F(PlacesTest, OfItsOwnPeerANewcomerTakesOnlyWhatWasSilentForLong) {
  Places::Limits limits = Limits(2);
  limits.own_patience_ns = 5 * kSecond;
  Make(limits);
  Enter(kA, 1);
  Enter(kA, 2);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kNoPlace);
  holders_[0].place.SilentSince(MonotonicNs() - 6 * kSecond);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(0));
}

TEST_F(PlacesTest, WhereAPeerHasItsShareItsOwnSilentOnesMakeWay) {
  Places::Limits limits = Limits(4);
  limits.share = 2;
  limits.own_patience_ns = 5 * kSecond;
  Make(limits);
  Enter(kB, 9);
  Enter(kA, 4);
  Enter(kA, 6);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kGranted);  // one of four is free
  EXPECT_THAT(Preempted(), ElementsAre(2));
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kOverShare);
}

TEST_F(PlacesTest, AConnectionThatHoldsManyMakesWayForOthersOfItsPeer) {
  Places::Limits limits = Limits(3);
  limits.patience_ns = kSecond;
  limits.own_patience_ns = 5 * kSecond;
  Make(limits);
  for (const int silent : {2, 3, 4}) Enter(kA, silent);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kNoPlace);
  const Peer another = {"a", "a", "9"};
  EXPECT_EQ(Enter(another, 0).admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(2));
  EXPECT_EQ(Enter(another, 0).admission, Admission::kNoPlace);  // two and one
}

TEST_F(PlacesTest, WhoWaitsCanBePreemptedToo) {
  Places::Limits limits = Limits(1);
  limits.own_patience_ns = 0;
  Make(limits);
  Enter(kA, 1);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kWaiting);
  EXPECT_EQ(Enter(kA, 0).admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(0, 1));
  holders_[0].place.GiveBack();
  EXPECT_EQ(holders_[1].granted, 0);
  EXPECT_EQ(holders_[2].granted, 1);
  holders_[1].place.GiveBack();
  EXPECT_EQ(places_->open(), 1);
}

TEST_F(PlacesTest, ANewcomerWaitsForWhoLeaves) {
  Places::Limits limits = Limits(2);
  limits.share = 1;
  Make(limits);
  Holder& leaving = Enter(kA, -1);
  EXPECT_EQ(Enter(kA, -1).admission, Admission::kOverShare);
  leaving.place.Leave();
  Holder& other = Enter(kA, -1);  // who leaves is no longer part of its peer's share
  EXPECT_EQ(other.admission, Admission::kGranted);
  Holder& waits = Enter(kB, -1);
  EXPECT_EQ(waits.admission, Admission::kWaiting);
  EXPECT_THAT(Preempted(), ElementsAre(0));
  EXPECT_EQ(Enter(kC, -1).admission, Admission::kNoPlace);  // another one waits for that place
  leaving.place.GiveBack();
  EXPECT_EQ(waits.granted, 1);
  EXPECT_EQ(places_->open(), 2);
}

TEST(Shares, LeaveAPlaceForAnother) {
  for (int total = 2; total <= 100; ++total) {
    EXPECT_GE(ShareOfOnePeer(total), 1);
    EXPECT_LT(ShareOfOnePeer(total), total);
    EXPECT_GE(KeptByOnePeer(total), 1);
    EXPECT_TRUE(2 * KeptByOnePeer(total) < total || total == 2);
  }
  EXPECT_EQ(ShareOfOnePeer(1), 1);
  EXPECT_EQ(ShareOfOnePeer(32), 24);
}

}  // namespace
}  // namespace glint::testing
