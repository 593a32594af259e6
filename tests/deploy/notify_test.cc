#include "server/base/notify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace glint {
namespace {

// A service manager's end of the socket.
class Manager {
 public:
  explicit Manager(const std::string& address) : fd_(socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un at = {};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, address.data(), address.size());
    if (address[0] == '@') at.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), length), 0) << std::strerror(errno);
  }
  ~Manager() { close(fd_); }

  std::string Receive() {
    char text[256];
    const ssize_t size = recv(fd_, text, sizeof(text), 0);
    return size < 0 ? std::strerror(errno) : std::string(text, static_cast<size_t>(size));
  }
  bool silent() {
    char byte;
    return recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
  }

 private:
  const int fd_;
};

std::string AbstractName() { return absl::StrCat("@glint-notify-test-", getpid()); }

TEST(Notify, ReachesAPathAndAnAbstractName) {
  const std::string path = testing::TempDir() + absl::StrCat("/notify-", getpid());
  for (const std::string& address : {path, AbstractName()}) {
    Manager manager(address);
    ASSERT_TRUE(Notify(address, "READY=1\nSTATUS=here").ok()) << address;
    EXPECT_EQ(manager.Receive(), "READY=1\nSTATUS=here");
  }
  unlink(path.c_str());
}

TEST(Notify, WithoutAManagerNothingHappens) { EXPECT_TRUE(Notify("", "READY=1").ok()); }

TEST(Notify, SaysWhichAddressIsWrong) {
  EXPECT_THAT(Notify("relative", "READY=1").ToString(), testing::HasSubstr("'relative'"));
  EXPECT_EQ(Notify(std::string(200, '/'), "READY=1").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Notify("/nowhere/at/all", "READY=1").ToString(), testing::HasSubstr("/nowhere/at/all"));
}

class Environment : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }
};

TEST_F(Environment, IsRead) {
  setenv("NOTIFY_SOCKET", "/run/x", 1);
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", absl::StrCat(getpid()).c_str(), 1);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  EXPECT_EQ(manager.address, "/run/x");
  EXPECT_EQ(manager.watchdog, absl::Seconds(30));
}

TEST_F(Environment, WatchdogOfAnotherProcessOrNonsenseIsIgnored) {
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(ServiceManager::FromEnvironment().watchdog, absl::ZeroDuration());
  unsetenv("WATCHDOG_PID");
  for (const char* usec : {"", "soon", "-1", "0"}) {
    setenv("WATCHDOG_USEC", usec, 1);
    EXPECT_EQ(ServiceManager::FromEnvironment().watchdog, absl::ZeroDuration()) << usec;
  }
}

TEST(Watchdog, IsFedWhileProbesSucceedAndNoLonger) {
  const std::string address = AbstractName();
  Manager manager(address);
  std::atomic<bool> alive{true};
  absl::Notification told;
  {
    Watchdog watchdog(
        {address, absl::Milliseconds(30)},
        [&](absl::Duration timeout) {
          EXPECT_EQ(timeout, absl::Milliseconds(10));
          return alive ? absl::OkStatus() : absl::DeadlineExceededError("stuck");
        },
        [&](const absl::Status& why) {
          EXPECT_EQ(why.message(), "stuck");
          if (!told.HasBeenNotified()) told.Notify();
        });
    EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
    EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
    alive = false;
    told.WaitForNotification();
    while (!manager.silent()) manager.Receive();
  }
  EXPECT_TRUE(manager.silent());
}

TEST(Watchdog, WithoutAnIntervalDoesNotProbe) {
  const std::string address = AbstractName();
  Manager manager(address);
  const auto never = [](const auto&) { ADD_FAILURE(); };
  {
    Watchdog watchdog(
        {address, absl::ZeroDuration()}, [](absl::Duration) { return absl::InternalError("x"); }, never);
  }
  EXPECT_TRUE(manager.silent());
}

}  // namespace
}  // namespace glint
