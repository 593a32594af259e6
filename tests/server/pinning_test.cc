// Shared memory is pinned for as long as it is mapped: once, not longer than its frames need it, and not at all costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "server/shm/shared_memory.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kMiB = 1 << 20;
constexpr char kOwner[] = "user 1000";

bool IsMapped(absl::Span<const uint8_t> memory) {
  unsigned char residency[1];
  return mincore(const_cast<uint8_t*>(memory.data()), 1, residency) == 0;
}

// What a device was told. Thread-safe.
struct FakePinning {
  std::mutex mutex;
  std::vector<absl::Span<const uint8_t>> pinned;
  int pins = 0;
  absl::Status can_pin, can_unpin;
  const MemoryPinning pinning = {[this](absl::Span<const uint8_t> memory) {
                                   std::lock_guard<std::mutex> lock(mutex);
                                   if (can_pin.ok()) pinned.push_back(memory);
                                   ++pins;
                                   return can_pin;
                                 },
                                 [this](absl::Span<const uint8_t> memory) {
                                   std::lock_guard<std::mutex> lock(mutex);
                                   EXPECT_TRUE(IsMapped(memory));
                                   const auto at = std::find(pinned.begin(), pinned.end(), memory);
                                   if (at == pinned.end()) return absl::InternalError("was not pinned");
                                   pinned.erase(at);
                                   return can_unpin;
                                 }};

  size_t count() {
    std::lock_guard<std::mutex> lock(mutex);
    return pinned.size();
  }
};

class PinningTest : public ::testing::Test {
 protected:
  static SharedMemoryOptions Options() {
    SharedMemoryOptions options;
    options.enabled = true;
    return options;
  }

  FakePinning device_;
  std::vector<std::string> told_;
  SharedMemory shared_{Options(), &device_.pinning,
                       [this](const absl::Status& why) { told_.emplace_back(why.message()); }};
};

TEST_F(PinningTest, OnceAndWhole) {
  const Memory memory(3 * kMiB);
  const auto token = shared_.Take(memory.fd(), memory.bytes(), kOwner);
  ASSERT_TRUE(token.ok());
  ASSERT_EQ(device_.count(), 1u);
  EXPECT_EQ(device_.pinned[0].size(), memory.bytes());
  ASSERT_TRUE(shared_.Register(*token, kOwner, "a", {}).ok());
  ASSERT_TRUE(shared_.Unregister(*token).ok());
  ASSERT_TRUE(shared_.Register(*token, kOwner, "b", {}).ok());
  EXPECT_EQ(device_.pins, 1);
  const absl::Span<const uint8_t> where = device_.pinned[0];
  EXPECT_EQ((*shared_.Find("b", kOwner))->bytes(), where);  // frames read what the device knows
  shared_.Drop(*token);
  EXPECT_EQ(device_.count(), 0u);
  EXPECT_FALSE(IsMapped(where));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PinningTest, NotBeyondItsLimits) {
  const Memory memory(kMiB, 0);  // not sealed
  EXPECT_FALSE(shared_.Take(memory.fd(), memory.bytes(), kOwner).ok());
  EXPECT_EQ(device_.pins, 0);
}

TEST_F(PinningTest, FailureIsToldOnceAndHarmless) {
  device_.can_pin = absl::ResourceExhaustedError("no more");
  const Memory memory(kMiB);
  for (int i = 0; i < 3; ++i) {
    const auto token = shared_.Take(memory.fd(), memory.bytes(), kOwner);
    ASSERT_TRUE(token.ok());
    ASSERT_TRUE(shared_.Register(*token, kOwner, "r", {}).ok());
    EXPECT_TRUE(shared_.Find("r", kOwner).ok());
    shared_.Drop(*token);
  }
  EXPECT_EQ(device_.pins, 3);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("no more")));
}

// Else a device could read this client's pages where those of the next are mapped.
TEST_F(PinningTest, WhatCannotBeUnpinnedKeepsItsAddresses) {
  const Memory memory(kMiB);
  const auto token = shared_.Take(memory.fd(), memory.bytes(), kOwner);
  const absl::Span<const uint8_t> where = device_.pinned[0];
  device_.can_unpin = absl::InternalError("the device is lost");
  shared_.Drop(*token);
  EXPECT_TRUE(IsMapped(where));
  munmap(const_cast<uint8_t*>(where.data()), where.size());
}

// A frame that a lane reads keeps its region, whatever becomes of the client and the name.
TEST(PinnedFramesTest, KeepTheirRegionPinned) {
  FakePinning device;
  LaneControl control;
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  options.create_lanes = [&](const LaneOptions& lanes) {
    auto set = FakeLanes(&control)(lanes);
    set->pinning = device.pinning;
    return set;
  };
  TestServer server(options);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const Memory memory(kMiB);
  HandoffClient client(server->addresses().at(0).substr(5) + kHandoffSuffix);
  v1::RegisterSharedMemoryRequest request;
  request.set_token(client.HandOver(memory));
  request.set_name("r");
  v1::RegisterSharedMemoryResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.server_stub()->RegisterSharedMemory(&context, request, &response).ok());
  ASSERT_EQ(device.count(), 1u);
  control.Hold(true);
  TestStream stream(server.stub());
  stream.Write(OptionsMessage());
  v1::DetectStreamRequest frame;
  v1::SharedImage* const image = frame.mutable_frame()->mutable_image()->mutable_shared();
  image->set_format(v1::PIXEL_FORMAT_GRAY8);
  image->set_width(64);
  image->set_height(48);
  image->set_region("r");
  stream.Write(frame);
  control.WaitUntilRunning(1);
  client.Die();
  const auto unregister = [&] {
    v1::UnregisterSharedMemoryRequest gone;
    gone.set_token(request.token());
    v1::UnregisterSharedMemoryResponse ignored;
    grpc::ClientContext call;
    return server.server_stub()->UnregisterSharedMemory(&call, gone, &ignored).error_code();
  };
  ASSERT_TRUE(Eventually([&] { return unregister() == grpc::StatusCode::NOT_FOUND; }));
  EXPECT_EQ(device.count(), 1u);
  control.Hold(false);
  EXPECT_EQ(stream.Read().status().code(), 0);
  EXPECT_TRUE(Eventually([&] { return device.count() == 0; }));
}

}  // namespace
}  // namespace glint::testing
