// Room for shared memory: whoever takes all of it keeps other owners out neither by number nor by size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/shm/handoff.h"
#include "server/shm/shared_memory.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kRegions = 4;
constexpr size_t kAll = 1 << 20, kSmall = 4096;

// Each connection is that of the user whose turn it is.
class RegionPlaces : public ::testing::Test {
 protected:
  RegionPlaces() {
    auto started = Handoff::Start(path_, kRegions, &shared_,
                                  [this](int) -> absl::StatusOr<std::string> { return UserName(user_); });
    EXPECT_TRUE(started.ok()) << started.status();
    handoff_ = *std::move(started);
  }
  static SharedMemoryOptions Options() {
    SharedMemoryOptions options;
    options.enabled = true;
    options.max_bytes = kAll;
    options.max_regions = kRegions;
    return options;
  }
  static std::string UserName(int user) { return absl::StrCat("user ", user); }

  // A region of the user, with the user's number and how many he has had for its name; empty: refused, see `refusal_`.
  std::string HandOver(int user, size_t bytes) {
    user_ = user;
    clients_.push_back(std::make_unique<HandoffClient>(path_));
    memories_.push_back(std::make_unique<Memory>(bytes));
    const HandoffReply reply = clients_.back()->HandOver(memories_.back()->fd(), bytes);
    refusal_ = reply.message;
    if (reply.code != 0) return "";
    const std::string token(reinterpret_cast<const char*>(reply.token), kTokenBytes);
    const std::string name = absl::StrCat(user, ".", clients_.size());
    EXPECT_TRUE(shared_.Register(token, UserName(user), name, {}).ok());
    return name;
  }
  bool Has(int user, const std::string& name) { return shared_.Find(name, UserName(user)).ok(); }
  static void LeaveUnused() { absl::SleepFor(absl::Milliseconds(1200)); }

  const MemoryPinning pinning_;
  SharedMemory shared_{Options(), &pinning_, [](const absl::Status&) {}};
  const std::string path_ = UniqueSocketPath();
  std::atomic<int> user_{0};
  std::string refusal_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<std::unique_ptr<HandoffClient>> clients_;
  std::unique_ptr<Handoff> handoff_;
};

TEST_F(RegionPlaces, OneOwnersNumberKeepsNobodyOut) {
  std::vector<std::string> names;
  for (int i = 0; i < kRegions; ++i) names.push_back(HandOver(1, kSmall));
  EXPECT_EQ(HandOver(1, kSmall), "");  // for himself he makes no room
  EXPECT_THAT(refusal_, HasSubstr("--shared-memory-max-regions"));
  EXPECT_NE(HandOver(2, kSmall), "") << refusal_;
  EXPECT_EQ(shared_.ShareOf(UserName(1)).regions, kRegions - 1);
  EXPECT_FALSE(Has(1, names[0]));
  EXPECT_TRUE(Has(1, names[1]));
}

TEST_F(RegionPlaces, ConnectionsThatHandOverNothingKeepNobodyOut) {
  user_ = 1;
  std::vector<std::unique_ptr<HandoffClient>> silent;
  for (int i = 0; i < kRegions; ++i) silent.push_back(std::make_unique<HandoffClient>(path_));
  LeaveUnused();  // they have been accepted, too
  EXPECT_NE(HandOver(2, kSmall), "") << refusal_;
}

TEST_F(RegionPlaces, OneOwnersSizeKeepsNobodyOut) {
  const std::string all = HandOver(1, kAll);
  ASSERT_NE(all, "");
  EXPECT_NE(HandOver(2, kSmall), "") << refusal_;
  EXPECT_FALSE(Has(1, all));
}

TEST_F(RegionPlaces, WhoWantsAllTakesNothingFromThoseWithLess) {
  const std::string small = HandOver(1, kSmall);
  LeaveUnused();
  EXPECT_EQ(HandOver(2, kAll), "");
  EXPECT_THAT(refusal_, HasSubstr("--shared-memory-max-bytes"));
  EXPECT_TRUE(Has(1, small));
}

TEST_F(RegionPlaces, WhatWasNotUsedForLongestMakesWay) {
  const std::string used = HandOver(1, kSmall), unused = HandOver(2, kSmall);
  const std::string also_used = HandOver(1, kSmall), also_unused = HandOver(2, kSmall);
  LeaveUnused();
  EXPECT_TRUE(Has(1, used) && Has(1, also_used));
  EXPECT_NE(HandOver(3, kSmall), "") << refusal_;
  EXPECT_FALSE(Has(2, unused));
  EXPECT_TRUE(Has(1, used) && Has(1, also_used) && Has(2, also_unused));
  EXPECT_EQ(HandOver(3, kSmall), "");  // all others are in use or have no more than he
}

}  // namespace
}  // namespace glint::testing
