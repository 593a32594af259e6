// Sockets that the server accepts from by itself, in a process without descriptors: who connects then is refused
// instead of being left waiting, and later connections are taken again.
#include "server/net/accept.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "server/net/unix_listener.h"
#include "server/shm/handoff.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 1000; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

// While it exists, the process can open nothing.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int next = dup(0);  // the smallest number that no descriptor has
    close(next);
    const rlimit none = {static_cast<rlim_t>(next), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_ = {};
};

class Client {
 public:
  explicit Client(int type) : socket_(socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    const timeval patience = {3, 0};  // less than the socket for memory has with clients that are silent
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  bool Connect(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    return connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  // False if the other side says nothing and does not close, either.
  bool IsClosed() {
    char byte;
    const ssize_t got = recv(socket_.get(), &byte, 1, 0);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  const Descriptor socket_;
};

// Three clients connect when there is no descriptor for them. `open`: those that the process has without clients.
void ExpectRefusal(const std::string& path, int type, int open) {
  ASSERT_TRUE(Eventually([open] { return OpenDescriptors() == open; }));
  Client clients[] = {Client(type), Client(type), Client(type)};
  const NoDescriptors none;
  for (Client& client : clients) ASSERT_TRUE(client.Connect(path));
  for (Client& client : clients) EXPECT_TRUE(client.IsClosed());
}

TEST(AcceptTest, WithoutDescriptorsTheSocketForMemoryRefuses) {
  const Memory memory(4096);
  const MemoryPinning pinning;
  SharedMemoryOptions options;
  options.enabled = true;
  SharedMemory shared(options, &pinning, [](const absl::Status&) {});
  const std::string path = UniqueSocketPath();
  const auto handoff = Handoff::Start(path, 16, &shared);
  ASSERT_TRUE(handoff.ok()) << handoff.status();
  const int open = OpenDescriptors();
  // Its thread has begun before descriptors are gone: UBSan needs some to check a type for the first time.
  ASSERT_TRUE(Eventually([&] { return !HandoffClient(path).HandOver(memory).empty(); }));
  for (int round = 0; round < 3; ++round) {
    ExpectRefusal(path, SOCK_SEQPACKET, open);
    // A client that comes while the last one is being refused may be, too.
    EXPECT_TRUE(Eventually([&] { return !HandoffClient(path).HandOver(memory).empty(); }));
  }
}

TEST(AcceptTest, WithoutDescriptorsTheSocketForCallsRefuses) {
  std::atomic<int> taken{0};
  const std::string path = UniqueSocketPath();
  const auto listener = UnixListener::Start(path, [&](int fd) {
    ++taken;
    close(fd);
  });
  ASSERT_TRUE(listener.ok()) << listener.status();
  const int open = OpenDescriptors();
  const auto is_taken = [&](int nth) {
    return Eventually([&] {
      Client client(SOCK_STREAM);
      return client.Connect(path) && client.IsClosed() && taken == nth;
    });
  };
  ASSERT_TRUE(is_taken(1));  // as above: its thread has begun
  for (int round = 1; round <= 3; ++round) {
    ExpectRefusal(path, SOCK_STREAM, open);
    EXPECT_EQ(taken, round);
    EXPECT_TRUE(is_taken(round + 1));
  }
}

}  // namespace
}  // namespace glint::testing
