#include "tests/client/silent_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace glint::client {
namespace {

// HTTP/2's frames: SETTINGS with an INITIAL_WINDOW_SIZE of 2^31 - 1, and WINDOW_UPDATE of the connection by as many but
// what it has.
constexpr unsigned char kFrames[] = {0,    0, 6, 4, 0, 0, 0, 0, 0, 0, 4,    0x7f, 0xff, 0xff,
                                     0xff, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0,    0};
constexpr int kPollMs = 20;

}  // namespace

SilentServer::SilentServer(Kind kind) : kind_(kind), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 64), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  thread_ = std::thread([this] { Serve(); });
}

SilentServer::~SilentServer() {
  over_ = true;
  thread_.join();
}

void SilentServer::Serve() {
  std::vector<pollfd> sockets = {{listener_, POLLIN, 0}};
  std::vector<char> bytes(1 << 16);
  while (!over_) {
    poll(sockets.data(), sockets.size(), kPollMs);
    for (size_t i = 1; i < sockets.size(); ++i) {
      if ((sockets[i].revents & POLLIN) == 0) continue;
      const ssize_t count = recv(sockets[i].fd, bytes.data(), bytes.size(), 0);
      if (count > 0) received_ += count;
      if (count <= 0) sockets[i].events = 0;
    }
    if (sockets[0].revents == 0) continue;
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) continue;
    ++connections_;
    if (kind_ != Kind::kNotConnected) {
      EXPECT_EQ(send(connection, kFrames, sizeof(kFrames), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(kFrames)));
    }
    sockets.push_back({connection, static_cast<short>(kind_ == Kind::kReadsNothing ? 0 : POLLIN), 0});
  }
  for (const pollfd& one : sockets) close(one.fd);
}

}  // namespace glint::client
