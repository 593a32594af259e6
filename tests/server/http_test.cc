// The HTTP endpoint under clients that are slow, silent or too many.
#include "server/metrics/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/http_page.h"

namespace glint::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kHealthz[] = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n";

// A TCP connection; reads give up after five seconds, which is no measurement but a hung test.
class Connection {
 public:
  explicit Connection(const std::string& address) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const size_t colon = address.rfind(':');
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr);
    const timeval patience = {5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Send(const std::string& bytes) { send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // What comes until the end; "..." at its end if that does not come.
  std::string ReadAll() {
    std::string all;
    char buffer[65536];
    ssize_t n;
    while ((n = recv(fd_, buffer, sizeof(buffer), 0)) > 0) all.append(buffer, static_cast<size_t>(n));
    return n == 0 || errno == ECONNRESET ? all : all + "...";
  }

 private:
  const int fd_;
};

class HttpTest : public ::testing::Test {
 protected:
  explicit HttpTest(size_t page_bytes = 100)
      : endpoint_(*HttpEndpoint::Create(
            "127.0.0.1:0", {[page_bytes] { return std::string(page_bytes, 'm'); }, [] { return true; }})) {}

  std::string Get(const std::string& request) {
    Connection connection(endpoint_->address());
    connection.Send(request);
    return connection.ReadAll();
  }
  // Connections that have sent a part of a request.
  std::vector<std::unique_ptr<Connection>> Slow(size_t count) {
    std::vector<std::unique_ptr<Connection>> slow;
    for (size_t i = 0; i < count; ++i) {
      slow.push_back(std::make_unique<Connection>(endpoint_->address()));
      slow.back()->Send("GET /heal");
    }
    return slow;
  }

  std::unique_ptr<HttpEndpoint> endpoint_;
};

TEST_F(HttpTest, SlowRequestsKeepNobodyWaiting) {
  const auto slow = Slow(8);
  EXPECT_THAT(Get(kHealthz), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nok\n")));
}

TEST_F(HttpTest, MoreThanItHoldsKeepNobodyWaiting) {
  const auto slow = Slow(3 * HttpEndpoint::kMaxConnections);
  EXPECT_THAT(Get(kHealthz), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(slow[0]->ReadAll(), "");  // the oldest made room
  slow.back()->Send("thz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(slow.back()->ReadAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTest, ARequestMayComeInPieces) {
  Connection connection(endpoint_->address());
  for (const char byte : std::string(kHealthz)) connection.Send(std::string(1, byte));
  EXPECT_THAT(connection.ReadAll(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTest, WhatIsNoRequestIsRefused) {
  EXPECT_THAT(Get("hello\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  const std::string endless = "GET /healthz HTTP/1.1\r\nX: " + std::string(20000, 'x');
  EXPECT_THAT(Get(endless), StartsWith("HTTP/1.1 431 "));
  Connection half(endpoint_->address());
  half.Send("GET /healthz HTTP/1.1\r\n");  // and nothing more
  EXPECT_THAT(Get(kHealthz), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTest, HeadersWithoutABodyForHeadAndQueriesAreIgnored) {
  const std::string head = Get("HEAD /metrics?format=text HTTP/1.1\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 100\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_THAT(Get("GET /metrics?format=text HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\n" + std::string(100, 'm')));
}

class LargePageTest : public HttpTest {
 protected:
  LargePageTest() : HttpTest(32 << 20) {}
};

TEST_F(LargePageTest, WhoReadsNoResponseKeepsNobodyWaiting) {
  Connection lazy(endpoint_->address());
  lazy.Send("GET /metrics HTTP/1.1\r\n\r\n");
  Connection other(endpoint_->address());
  other.Send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_THAT(Get(kHealthz), StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string page = lazy.ReadAll();
  EXPECT_THAT(page.substr(0, 300), HasSubstr("Content-Length: 33554432\r\n"));
  EXPECT_EQ(page.size() - page.find("\r\n\r\n") - 4, size_t{32} << 20);
  EXPECT_THAT(page.substr(page.size() - 3), "mmm");
}

TEST(HttpEndpointTest, SaysWhyItCannotListen) {
  const auto one = HttpEndpoint::Create("127.0.0.1:0", {});
  ASSERT_TRUE(one.ok());
  EXPECT_THAT((*one)->address(), AllOf(StartsWith("127.0.0.1:"), Not(EndsWith(":0"))));
  const auto two = HttpEndpoint::Create((*one)->address(), {});
  EXPECT_EQ(two.status(), absl::UnavailableError("metrics-listen: cannot listen on " + (*one)->address() +
                                                 ": Address already in use"));
}

}  // namespace
}  // namespace glint::testing
