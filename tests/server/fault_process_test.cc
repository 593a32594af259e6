// Faults that a whole glint-server meets: a lane that hangs, a device that is lost, memory and file descriptors that
// cannot be had. What it answers, what it logs and how it ends. docs/reliability.md lists them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/blackbox/server_process.h"
#include "tests/server/hanging_lanes.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Another program in place of glint-server; "" for itself.
class Program {
 public:
  explicit Program(const std::string& path) {
    if (!path.empty()) setenv("GLINT_SERVER_TOOL", path.c_str(), 1);
  }
  ~Program() { unsetenv("GLINT_SERVER_TOOL"); }
};

grpc::Status Detect(const std::shared_ptr<grpc::Channel>& channel, int width, int height = 8, int seconds = 20) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
  v1::DetectResponse response;
  return v1::FeatureDetection::NewStub(channel)->Detect(&context, GrayRequest(width, height), &response);
}

TEST(FaultTest, ALaneThatHangsIsNamedAndEndsTheProcess) {
  const Program program(GLINT_HANGING_SERVER);
  ServerProcess server({"--lanes=2", "--lane-timeout=100ms", "--lane-grace=300ms", "--drain-timeout=200ms"});
  ASSERT_NE(server.address(), "");
  const auto channel = Dial(server.address());
  ASSERT_TRUE(Detect(channel, 64).ok());
  EXPECT_FALSE(Detect(channel, kHangingWidth).ok());  // ends with the process
  EXPECT_EQ(server.Join(), 1);
  const std::string log = server.LogToEnd();
  EXPECT_THAT(log, HasSubstr("lane stuck"));
  EXPECT_THAT(log, HasSubstr("HangInTheDevice"));
  EXPECT_THAT(log, HasSubstr("--lane-timeout=100ms, --lane-grace=300ms"));
  EXPECT_THAT(log, HasSubstr("5.2s after the drain began"));
}

TEST(FaultTest, SigtermEndsAServerWhoseLaneHangs) {
  const Program program(GLINT_HANGING_SERVER);
  ServerProcess server({"--lanes=1", "--drain-timeout=100ms"});
  ASSERT_NE(server.address(), "");
  EXPECT_EQ(Detect(Dial(server.address()), kHangingWidth, 8, 1).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 1);
  EXPECT_THAT(server.LogToEnd(), HasSubstr("5.1s after the drain began"));
}

TEST(FaultTest, ALostDeviceEndsTheProcessAfterADrain) {
  const Program program(GLINT_HANGING_SERVER);
  ServerProcess server({"--lanes=2"});
  ASSERT_NE(server.address(), "");
  const auto channel = Dial(server.address());
  EXPECT_EQ(Detect(channel, kLosingWidth).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(server.Join(), 1);
  const std::string log = server.LogToEnd();
  EXPECT_THAT(log, HasSubstr("the device is lost: the context is gone"));
  EXPECT_THAT(log, Not(HasSubstr("after the drain began")));
}

// The n-th operator new of any thread fails while a frame is on its way: the frame is refused, or the process ends with
// status 1 and says why. Nothing else: no crash, no hang, no server that has lost a lane. How many are refused depends
// on which thread is first; starved_lane_test refuses at each allocation of a frame.
TEST(FaultTest, MemoryThatCannotBeHadRefusesAFrameOrEndsTheProcess) {
  const Program program(GLINT_STARVED_SERVER);
  int refused = 0, ended = 0, unharmed = 0;
  for (int n = 1; n < 400; n += n < 48 ? 1 : n / 4) {
    SCOPED_TRACE(n);
    setenv("GLINT_TEST_FAIL_NEW", std::to_string(n).c_str(), 1);
    ServerProcess server({"--lanes=1"});
    ASSERT_NE(server.address(), "");
    const auto channel = Dial(server.address());
    ASSERT_TRUE(Detect(channel, 64, 48).ok());
    server.Signal(SIGUSR2);
    absl::SleepFor(absl::Milliseconds(20));
    // Whichever of the first two frames it falls on: the third is after it.
    int lost = 0;
    bool gone = false;
    for (int frame = 0; frame < 2; ++frame) {
      const grpc::Status status = Detect(channel, 300, 200);
      gone = gone || status.error_code() == grpc::StatusCode::UNAVAILABLE;
      if (status.ok() || gone) continue;
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
      EXPECT_EQ(status.error_message(), "frame: the server has no memory left for it");
      ++lost;
    }
    EXPECT_LE(lost, 1);
    const grpc::Status last = Detect(channel, 300, 200);
    if (last.ok()) {
      EXPECT_FALSE(gone);
      ++(lost == 0 ? unharmed : refused);
      server.Signal(SIGTERM);
    } else {
      EXPECT_EQ(last.error_code(), grpc::StatusCode::UNAVAILABLE) << last.error_message();
      ++ended;
    }
    const int code = server.Join();
    const std::string log = server.LogToEnd();
    const bool out_of_memory = log.find("glint-server: out of memory\n") != std::string::npos;
    // What serves still ends well, unless the call that fails was one of those at the end.
    EXPECT_EQ(code, out_of_memory ? 1 : 0) << log;
    EXPECT_TRUE(last.ok() || out_of_memory) << log;
  }
  std::printf("%d frames refused, %d processes ended, %d unharmed\n", refused, ended, unharmed);
  EXPECT_GT(ended, 0);
}

class Connections {
 public:
  explicit Connections(const std::string& address) {
    const size_t colon = address.rfind(':');
    to_.sin_family = AF_INET;
    to_.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to_.sin_addr);
  }
  ~Connections() { CloseAll(); }
  void Open(int count) {
    for (int i = 0; i < count; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(fds_.back(), reinterpret_cast<const sockaddr*>(&to_), sizeof(to_)), 0);
    }
  }
  // Of these, the ones that the server has closed.
  int CountClosed() const {
    int closed = 0;
    for (const int fd : fds_) {
      char byte;
      while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0) continue;  // its settings
      closed += recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK) ? 1 : 0;
    }
    return closed;
  }
  void CloseAll() {
    for (const int fd : fds_) close(fd);
    fds_.clear();
  }

 private:
  sockaddr_in to_ = {};
  std::vector<int> fds_;
};

// More connections than the process may have: those beyond are closed, those that are there go on, and when there are
// descriptors again, connections are taken again.
TEST(FaultTest, WithoutDescriptorsConnectionsAreClosedAndTakenAgainLater) {
  constexpr int kDescriptors = 96, kConnections = 200;
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 4 * kConnections) GTEST_SKIP() << "this process may open too few files";
  const rlimit tight = {kDescriptors, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  ServerProcess server({"--lanes=1"});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_NE(server.address(), "");
  const auto early = Dial(server.address());
  ASSERT_TRUE(Detect(early, 64).ok());
  Connections connections(server.address());
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    connections.Open(kConnections);
    EXPECT_TRUE(Eventually([&] { return connections.CountClosed() >= kConnections - kDescriptors; }))
        << connections.CountClosed();
    EXPECT_TRUE(Detect(early, 64).ok());
    // Descriptors of the round before may only now become free.
    EXPECT_TRUE(Eventually([&] {
      connections.Open(4);
      return Detect(Dial(server.address()), 64, 8, 2).error_code() == grpc::StatusCode::UNAVAILABLE;
    }));
    connections.CloseAll();
    EXPECT_TRUE(Eventually([&] { return Detect(Dial(server.address()), 64, 8, 2).ok(); }));
  }
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Join(), 0);
}

}  // namespace
}  // namespace glint::testing
