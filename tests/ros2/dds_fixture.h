// Participants on this host alone, on a domain that other runs of the test hardly have.
#ifndef GLINT_TESTS_ROS2_DDS_FIXTURE_H_
#define GLINT_TESTS_ROS2_DDS_FIXTURE_H_

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ros/cdr.h"
#include "ros2/dds/participant.h"

namespace glint::ros2::testing {

using Message = std::vector<uint8_t>;

// Until `done`, or for so long that something is wrong.
inline bool Await(const std::function<bool()>& done) {
  for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
    if (done()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return false;
}

inline Message TextMessage(const std::string& text) {
  Message message;
  ros::WriteCdr(ros::String{text}, &message);
  return message;
}

// What came.
class Inbox {
 public:
  MessageCallback callback() {
    return [this](absl::Span<const uint8_t> cdr, const SampleInfo& info) {
      const absl::MutexLock lock(&mutex_);
      messages_.emplace_back(cdr.begin(), cdr.end());
      infos_.push_back(info);
    };
  }
  std::vector<Message> messages() const {
    const absl::MutexLock lock(&mutex_);
    return messages_;
  }
  Message Last() const {
    const absl::MutexLock lock(&mutex_);
    return messages_.empty() ? Message() : messages_.back();
  }
  std::vector<SampleInfo> infos() const {
    const absl::MutexLock lock(&mutex_);
    return infos_;
  }
  bool Has(size_t count) const {
    return Await([&] { return messages().size() >= count; });
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<Message> messages_;
  std::vector<SampleInfo> infos_;
};

class DdsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasInterface()) GTEST_SKIP() << "no network interface is up, not even lo";
    setenv("ROS_DOMAIN_ID", absl::StrCat(20 + getpid() % 200).c_str(), 1);
    setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST", 1);
    for (const char* name : {"ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "FASTRTPS_DEFAULT_PROFILES_FILE"}) {
      unsetenv(name);
    }
  }
  static std::unique_ptr<Participant> Join(const std::string& name) {
    absl::StatusOr<std::unique_ptr<Participant>> participant = Participant::Create({"/", name});
    EXPECT_TRUE(participant.ok()) << participant.status();
    return participant.ok() ? *std::move(participant) : nullptr;
  }

 private:
  static bool HasInterface() {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) return false;
    bool up = false;
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      up = up || ((one->ifa_flags & IFF_UP) != 0 && one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET);
    }
    freeifaddrs(all);
    return up;
  }
};

}  // namespace glint::ros2::testing

#endif  // GLINT_TESTS_ROS2_DDS_FIXTURE_H_
