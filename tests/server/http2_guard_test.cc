// What a client may do by frames alone: that honest clients, however busy, are never stopped, and that each kind of
// flood is, for what it is.
#include "server/net/http2_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/net/connections.h"

namespace glint {
namespace {

constexpr uint8_t kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4, kPing = 6, kWindowUpdate = 8,
                  kContinuation = 9;
constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;
constexpr int64_t kSecond = 1'000'000'000;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string Frame(uint8_t type, uint8_t flags, size_t length) {
  const std::string header = {static_cast<char>(length >> 16),
                              static_cast<char>(length >> 8),
                              static_cast<char>(length),
                              static_cast<char>(type),
                              static_cast<char>(flags),
                              0,
                              0,
                              0,
                              1};
  return header + std::string(length, 'x');
}

int64_t now = kSecond;

// A connection of a peer.
class Client {
 public:
  explicit Client(
      Http2Peer* peer, Http2Guard::Clock clock = [] { return now; })
      : peer_(peer), guard_(clock) {
    Sends(kPreface + Frame(kSettings, 0, 6));
  }
  // "" or what is over its limit.
  std::string Sends(const std::string& bytes) {
    const char* const over = guard_.Receive(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), peer_);
    return over == nullptr ? "" : over;
  }
  void Gets(const std::string& bytes) { guard_.Send(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()); }
  // How many times `bytes` may be sent, and what is over its limit then.
  int UntilStopped(const std::string& bytes, std::string* over) {
    constexpr int kMany = 1'000'000;
    for (int i = 0; i < kMany; ++i) {
      if (*over = Sends(bytes); !over->empty()) return i;
    }
    return kMany;
  }
  const Http2Guard& guard() const { return guard_; }

 private:
  Http2Peer* const peer_;
  Http2Guard guard_;
};

const std::string kCall = Frame(kHeaders, kEndHeaders, 40);
const std::string kMessage = Frame(kData, kEndStream, 5);
const std::string kAnswer = Frame(kHeaders, kEndHeaders, 20) + Frame(kData, 0, 500) + Frame(kHeaders, 5, 20);

class Http2GuardTest : public ::testing::Test {
 protected:
  Http2Peer all_{nullptr};
  Http2Peer peer_{&all_};
};

TEST_F(Http2GuardTest, WhoWaitsForAnswersIsNeverStopped) {
  Client client(&peer_);
  client.Gets(Frame(kSettings, 0, 30));
  for (int i = 0; i < 200'000; ++i) {  // all in one moment
    ASSERT_EQ(
        client.Sends(kCall + kMessage + Frame(kPing, 0, 8) + Frame(kWindowUpdate, 0, 4) + Frame(kWindowUpdate, 0, 4)),
        "")
        << i;
    client.Gets(Frame(kPing, kAck, 8) + kAnswer);
    ASSERT_EQ(client.Sends(Frame(kReset, 0, 4)), "") << i;  // as clients end calls that they need no more of
  }
  EXPECT_EQ(client.guard().open_calls(), 0);
}

TEST_F(Http2GuardTest, ManyCallsMayWaitAtATime) {
  Client client(&peer_);
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 500; ++i) ASSERT_EQ(client.Sends(kCall + kMessage), "") << round;
    for (int i = 0; i < 500; ++i) client.Gets(kAnswer);
  }
}

// RST_STREAM alone, or behind trailers.
TEST_F(Http2GuardTest, AResetOfTheServerIsOneAnswer) {
  Client client(&peer_);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(client.Sends(kCall), "");
    client.Gets(Frame(kReset, 0, 4));
  }
  for (int i = 0; i < 10; ++i) client.Sends(kCall);
  client.Gets(Frame(kHeaders, kEndHeaders | kEndStream, 20) + Frame(kReset, 0, 4));
  EXPECT_EQ(client.guard().open_calls(), 9);
}

TEST_F(Http2GuardTest, FramesOfAPictureAreFree) {
  Client client(&peer_);
  const std::string picture = Frame(kData, 0, 16384);
  client.Sends(kCall);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(client.Sends(picture.substr(0, 9)), "");
    ASSERT_EQ(client.Sends(picture.substr(9)), "");
  }
}

TEST_F(Http2GuardTest, EachFloodIsStoppedForWhatItIs) {
  struct {
    std::string frames, over;
    int at_most;
  } const floods[] = {
      {kCall, "unanswered calls", kOwnCalls + kSharedCalls},
      {kCall + Frame(kReset, 0, 4), "unanswered calls", kOwnCalls + kSharedCalls},
      {Frame(kReset, 0, 4), "RST_STREAM frames", 1000},
      {Frame(kPing, 0, 8), "unanswered PING frames", 2000},
      {Frame(kPing, kAck, 8), "acknowledgements", 2000},
      {Frame(kSettings, 0, 0), "unanswered SETTINGS frames", 400},
      {Frame(kWindowUpdate, 0, 4), "WINDOW_UPDATE frames", 30000},
      {Frame(kPriority, 0, 5), "PRIORITY frames", 400},
      {Frame(kData, 0, 0), "empty DATA frames", 400},
      {Frame(kData, 0, 1), "small DATA frames", 60000},
      {Frame(kData, kEndStream, 0), "small DATA frames", 60000},
      {Frame(kContinuation, kEndHeaders, 0), "CONTINUATION frames", 2000},
      {Frame(200, 0, 0), "frames of other kinds", 200},
      {Frame(kPing, 0, 16385), "bytes of a frame", 0},
  };
  for (const auto& flood : floods) {
    Http2Peer all(nullptr), peer(&all);
    Client client(&peer);
    std::string over;
    EXPECT_LE(client.UntilStopped(flood.frames, &over), flood.at_most) << flood.over;
    EXPECT_EQ(over, flood.over);
    EXPECT_EQ(client.Sends(""), flood.over) << "for ever";
  }
}

TEST_F(Http2GuardTest, HeadersWithoutEndAreStopped) {
  Client client(&peer_);
  ASSERT_EQ(client.Sends(Frame(kHeaders, 0, 16384) + Frame(kContinuation, 0, 16384)), "");
  EXPECT_EQ(client.Sends(Frame(kContinuation, 0, 1).substr(0, 9)), "bytes of a header block");
}

TEST_F(Http2GuardTest, ManyLongHeadersAreStopped) {
  Client client(&peer_);
  std::string over;
  const std::string call = Frame(kHeaders, 0, 16384) + Frame(kContinuation, kEndHeaders, 16384);
  EXPECT_LE(client.UntilStopped(call, &over), 80);
  EXPECT_EQ(over, "bytes of headers");
}

TEST_F(Http2GuardTest, AConnectionIsNotStoppedForOthersOfItsPeer) {
  Client greedy(&peer_), modest(&peer_);
  std::string over;
  greedy.UntilStopped(kCall, &over);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(modest.Sends(kCall + kMessage), "");
    modest.Gets(kAnswer);
  }
}

TEST_F(Http2GuardTest, ManyConnectionsAndManyPeersAreNoWayAround) {
  std::string over;
  int calls = 0;
  for (int i = 0; i < 100; ++i) calls += Client(&peer_).UntilStopped(kCall, &over);
  EXPECT_LE(calls, 100 * kOwnCalls + kSharedCalls / 2);
  for (int i = 0; i < 100; ++i) {
    Http2Peer other(&all_);
    calls += Client(&other).UntilStopped(kCall, &over);
  }
  EXPECT_LE(calls, 200 * kOwnCalls + kSharedCalls);
}

TEST_F(Http2GuardTest, TimeForgives) {
  Client client(&peer_);
  for (int i = 0; i < 100'000; ++i) {  // calls that are reset, and so never answered: 400 a second
    now += kSecond / 400;
    ASSERT_EQ(client.Sends(kCall + Frame(kReset, 0, 4)), "") << i;
  }
}

TEST_F(Http2GuardTest, WhatIsNotHttp2IsNotLookedAt) {
  Http2Guard guard([] { return now; });
  const std::string text = "GET / HTTP/1.1\r\n";
  EXPECT_STREQ(guard.Receive(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &peer_),
               "bytes before HTTP/2");
}

std::string PeerOf(int family, const char* address) {
  sockaddr_in6 v6 = {};
  sockaddr_in v4 = {};
  if (family == AF_INET6) {
    v6.sin6_family = AF_INET6;
    inet_pton(family, address, &v6.sin6_addr);
    return PeerOfAddress(reinterpret_cast<const sockaddr*>(&v6));
  }
  v4.sin_family = AF_INET;
  inet_pton(family, address, &v4.sin_addr);
  return PeerOfAddress(reinterpret_cast<const sockaddr*>(&v4));
}

TEST(PeerOfAddressTest, IsWhatAClientCannotChoose) {
  EXPECT_EQ(PeerOf(AF_INET, "192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PeerOf(AF_INET, "127.0.0.1"), "loopback");
  EXPECT_EQ(PeerOf(AF_INET, "127.9.8.7"), "loopback");
  EXPECT_EQ(PeerOf(AF_INET6, "::1"), "loopback");
  EXPECT_EQ(PeerOf(AF_INET6, "::ffff:127.0.0.2"), "loopback");
  EXPECT_EQ(PeerOf(AF_INET6, "::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(PeerOf(AF_INET6, "2001:db8::7:1:2:3"), PeerOf(AF_INET6, "2001:db8::1"));
  EXPECT_EQ(PeerOf(AF_INET6, "2001:db8::1"), "2001:db8::/64");
}

// Both ends of a connection of this user.
class Pair {
 public:
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends_), 0); }
  ~Pair() {
    ClosingConnection(server());
    close(ends_[0]);
    close(ends_[1]);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  int server() const { return ends_[0]; }
  bool ended() const {
    char byte;
    return recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }
  bool Receives(std::string bytes) const {
    iovec pieces[] = {{&bytes[0], bytes.size() / 2}, {&bytes[bytes.size() / 2], 1 << 20}};  // which is not full
    msghdr message = {};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    return ReceivedOn(server(), message, static_cast<ssize_t>(bytes.size()));
  }

 private:
  int ends_[2];
};

class ConnectionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(ConnectionsAreWatched());
    ConnectionRules rules;
    rules.max = 3;
    rules.report = [this](absl::string_view peer, absl::string_view what) {
      reports_.push_back(std::string(peer) + ": " + std::string(what));
    };
    SetConnectionRules(std::move(rules));
  }
  void TearDown() override { SetConnectionRules({}); }

  const std::string user_ = "user " + std::to_string(getuid()) + ": ";
  std::vector<std::string> reports_;
};

TEST_F(ConnectionsTest, ASilentOneGivesItsPlaceToANewOne) {
  const Pair first, second, third, fourth;
  EXPECT_TRUE(AdmitConnection(first.server()));
  EXPECT_TRUE(AdmitConnection(second.server()));
  EXPECT_TRUE(AdmitConnection(third.server()));
  EXPECT_FALSE(AdmitConnection(fourth.server())) << "none has been silent for a second";
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_TRUE(first.Receives(kPreface + kCall)) << "has a call";
  EXPECT_TRUE(AdmitConnection(fourth.server()));
  EXPECT_FALSE(first.ended());
  EXPECT_TRUE(second.ended()) << "has been silent for longest";
  EXPECT_FALSE(third.ended());
  EXPECT_EQ(reports_,
            (std::vector<std::string>{user_ + "--max-connections", user_ + "silent, and its place was wanted"}));
}

TEST_F(ConnectionsTest, PlacesAreFreeAgain) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(AdmitConnection(Pair().server())) << i;
  EXPECT_TRUE(reports_.empty());
}

TEST_F(ConnectionsTest, AFloodIsShutDown) {
  const Pair flood, other;
  ASSERT_TRUE(AdmitConnection(flood.server()));
  ASSERT_TRUE(AdmitConnection(other.server()));
  std::string pings;
  for (int i = 0; i < 5000; ++i) pings += Frame(kPing, 0, 8);
  EXPECT_TRUE(flood.Receives(kPreface));
  EXPECT_FALSE(flood.Receives(pings));
  EXPECT_TRUE(flood.ended());
  EXPECT_TRUE(other.Receives(kPreface + kCall));
  EXPECT_FALSE(other.ended());
  EXPECT_EQ(reports_, std::vector<std::string>{user_ + "unanswered PING frames"});
}

// Printed for docs/performance/service.md; nothing is asserted about time.
TEST_F(Http2GuardTest, CostOfAFrame) {
  constexpr int kFrames = 2000;
  constexpr size_t kPixels = 640 * 480, kRead = 8192;
  Client client(&peer_, &CoarseMonotonicNs);
  std::string bytes = kCall;
  for (size_t sent = 0; sent < kPixels; sent += 16384)
    bytes += Frame(kData, 0, std::min<size_t>(16384, kPixels - sent));
  std::vector<std::string> reads;
  for (size_t at = 0; at < bytes.size(); at += kRead) reads.push_back(bytes.substr(at, kRead));
  const std::clock_t began = std::clock();  // processor time
  for (int i = 0; i < kFrames; ++i) {
    for (const std::string& read : reads) ASSERT_EQ(client.Sends(read), "");
    client.Gets(kAnswer);
  }
  const double took_us = 1e6 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  std::printf("%.2f us for each of %d frames of 640x480 in %zu reads\n", took_us / kFrames, kFrames, reads.size());
}

}  // namespace
}  // namespace glint
