// Descriptors that come to the socket for shared memory: none stays open but that of a region that was taken.
#include "server/shm/handoff.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/harness.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

constexpr size_t kBytes = 4096;
constexpr int kMessages = 200;
constexpr int kInvalidArgument = 3;
constexpr int kMaxDescriptors = 253;  // of one message, in Linux

int OpenDescriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// The smallest number that no descriptor has.
int NextDescriptor() {
  const int next = dup(0);
  close(next);
  return next;
}

SharedMemoryOptions Enabled() {
  SharedMemoryOptions options;
  options.enabled = true;
  return options;
}

class HandoffTest : public ::testing::Test {
 protected:
  HandoffTest() : shared_(Enabled(), &pinning_, [](const absl::Status&) {}) {
    auto started = Handoff::Start(path_, 16, &shared_);
    EXPECT_TRUE(started.ok()) << started.status();
    handoff_ = *std::move(started);
    before_ = OpenDescriptors();
  }

  // Sends `size` bytes of a good request (and more) with `count` descriptors on a connection of its own.
  HandoffReply SendWith(int count, size_t size = sizeof(HandoffRequest)) {
    HandoffClient client(path_);
    EXPECT_TRUE(client.connected());
    std::string bytes(sizeof(HandoffRequest) + 64, '\0');
    const HandoffRequest request = HandoffClient::Request(kBytes);
    std::memcpy(&bytes[0], &request, sizeof(request));
    EXPECT_TRUE(client.Send(bytes.data(), size, std::vector<int>(static_cast<size_t>(count), memory_.fd())));
    return client.Receive();
  }

  void ExpectNothingIsLeft() {
    EXPECT_TRUE(Eventually([&] { return OpenDescriptors() == before_; }))
        << OpenDescriptors() - before_ << " descriptors stay open";
    EXPECT_EQ(shared_.bytes(), 0);
  }

  const std::string path_ = UniqueSocketPath();
  const Memory memory_{kBytes};
  MemoryPinning pinning_;
  SharedMemory shared_;
  std::unique_ptr<Handoff> handoff_;
  int before_ = 0;
};

TEST_F(HandoffTest, OneDescriptorIsTakenAndClosedWithTheConnection) {
  {
    HandoffClient client(path_);
    EXPECT_NE(client.HandOver(memory_), "");
    EXPECT_EQ(shared_.bytes(), static_cast<int64_t>(kBytes));
  }
  ExpectNothingIsLeft();
}

TEST_F(HandoffTest, TwoDescriptorsAreRefusedAndClosed) {
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(SendWith(2).code, kInvalidArgument);
  ExpectNothingIsLeft();
}

TEST_F(HandoffTest, AsManyAsFitIntoAMessageAreRefusedAndClosed) {
  for (const int count : {3, 17, kMaxDescriptors}) EXPECT_EQ(SendWith(count).code, kInvalidArgument) << count;
  ExpectNothingIsLeft();
}

TEST_F(HandoffTest, DescriptorsWithABadMessageAreClosed) {
  for (const size_t size : {size_t{1}, sizeof(HandoffRequest) - 1, sizeof(HandoffRequest) + 1}) {
    for (const int count : {1, 2}) EXPECT_EQ(SendWith(count, size).code, kInvalidArgument) << size;
  }
  ExpectNothingIsLeft();
}

TEST_F(HandoffTest, DescriptorsAfterTheFirstMessageAreClosed) {
  for (int i = 0; i < kMessages; ++i) {
    HandoffClient client(path_);
    EXPECT_NE(client.HandOver(memory_), "");
    client.Send(HandoffClient::Request(kBytes), {memory_.fd(), memory_.fd()});
    EXPECT_EQ(client.Receive().code, kInvalidArgument);
  }
  ExpectNothingIsLeft();
}

// A process with room for one more descriptor gets the first of two, and a flag that says so.
TEST_F(HandoffTest, DescriptorsOfAMessageThatWasCutAreClosed) {
  HandoffClient client(path_);
  ASSERT_TRUE(Eventually([&] { return OpenDescriptors() == before_ + 2; }));  // both ends
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit tight = {static_cast<rlim_t>(NextDescriptor()) + 1, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_TRUE(client.Send(HandoffClient::Request(kBytes), {memory_.fd(), memory_.fd()}));
  const HandoffReply reply = client.Receive();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(reply.code, kInvalidArgument);
  client.Die();
  ExpectNothingIsLeft();
}

}  // namespace
}  // namespace glint::testing
