// Where a view may listen, and whose requests it answers.
#include "client/view/base/address.h"

#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::view {
namespace {

using ::testing::HasSubstr;

TEST(ParseAddress, IsLoopbackUnlessAnotherIsNamed) {
  EXPECT_EQ(ParseAddress("--view", "8017")->text(), "127.0.0.1:8017");
  EXPECT_EQ(ParseAddress("--view", ":8017")->text(), "127.0.0.1:8017");
  EXPECT_EQ(ParseAddress("--view", "localhost:0")->text(), "127.0.0.1:0");
  EXPECT_EQ(ParseAddress("--view", "0.0.0.0:80")->text(), "0.0.0.0:80");
  EXPECT_EQ(ParseAddress("--view", "[::1]:80")->text(), "[::1]:80");
}

TEST(ParseAddress, SaysWhatIsWrong) {
  for (const char* text : {"", "host:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:x", "[::1]", "[::1"}) {
    EXPECT_THAT(std::string(ParseAddress("--view", text).status().message()), HasSubstr("is not HOST:PORT")) << text;
  }
  EXPECT_THAT(std::string(ParseAddress("--view", "no-such-host.invalid:80").status().message()),
              HasSubstr("no address of this machine"));
}

TEST(Listen, RefusesWhatIsNoAddressOfThisMachine) {
  Address elsewhere = *ParseAddress("--foxglove", "192.0.2.1:0"), here = *ParseAddress("--view", "127.0.0.1:0");
  EXPECT_THAT(std::string(Listen(&elsewhere).status().message()),
              HasSubstr("option '--foxglove': cannot listen at 192.0.2.1:0"));
  const int socket = Listen(&here).value();
  EXPECT_GT(here.port, 0);
  close(socket);
}

TEST(IsAllowedHost, TakesNoNameThatAnotherSiteCouldHave) {
  const Address address = *ParseAddress("--view", "127.0.0.1:8017");
  for (const char* host : {"127.0.0.1:8017", "localhost", "LOCALHOST:1", "[::1]:8017", "192.168.0.7:8017"}) {
    EXPECT_TRUE(IsAllowedHost(address, host)) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:8017", "127.0.0.1.evil.example", "localhost.evil.example"}) {
    EXPECT_FALSE(IsAllowedHost(address, host)) << host;
  }
  EXPECT_TRUE(IsAllowedHost({"robot.lan", "10.0.0.7", 80, "--view"}, "robot.lan:80"));
}

TEST(IsAllowedOrigin, IsThatOfTheRequest) {
  EXPECT_TRUE(IsAllowedOrigin("", "127.0.0.1:8017"));
  EXPECT_TRUE(IsAllowedOrigin("http://127.0.0.1:8017", "127.0.0.1:8017"));
  for (const char* origin : {"null", "http://evil.example", "http://127.0.0.1:9000", "https://127.0.0.1:8017"}) {
    EXPECT_FALSE(IsAllowedOrigin(origin, "127.0.0.1:8017")) << origin;
  }
}

}  // namespace
}  // namespace glint::view
