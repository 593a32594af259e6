// The client library's ring of shared memory, with a server of ours at the other end.
#include "client/shared_memory.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "client/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/access_client.h"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::LaneControl;
using ::glint::testing::Noise;
using ::glint::testing::TestAccessFile;
using ::glint::testing::TestOptions;
using ::glint::testing::TestServer;
using ::glint::testing::TokenLine;
using ::testing::HasSubstr;

constexpr int kWidth = 320, kHeight = 240;

ServerOptions SharingOptions() {
  ServerOptions options = TestOptions();
  options.shared_memory.enabled = true;
  options.shared_memory.max_bytes = 16 << 20;
  return options;
}

Client ConnectTo(TestServer* server, size_t address = 0) {
  return Client::Connect((*server)->addresses().at(address)).value();
}

ImageInput InSlot(SharedSlot slot, const Image& image) {
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(slot.data() + y * image.width(), image.row(y), static_cast<size_t>(image.width()));
  }
  return ImageInput::Shared(std::move(slot), PixelFormat::kGray8, image.width(), image.height(), image.width());
}

std::unique_ptr<SharedMemoryRing> MakeRing(const Client& client, int slots) {
  RingOptions options;
  options.slots = slots;
  options.slot_bytes = kWidth * kHeight;
  auto ring = client.ShareMemory(options);
  EXPECT_TRUE(ring.ok()) << ring.status();
  return *std::move(ring);
}

TEST(SharedMemoryRingTest, FindsWhatMessagesFind) {
  TestServer server(SharingOptions());
  const Client client = ConnectTo(&server);
  const auto ring = MakeRing(client, 3);
  std::vector<Features> expected;
  std::vector<Image> images;
  for (uint32_t i = 0; i < 12; ++i) {
    images.push_back(Noise({kWidth - static_cast<int>(i), kHeight}, i));
    expected.push_back(client.Detect({}, images.back())->features);
  }
  std::atomic<size_t> results{0};
  auto stream = client.OpenStream({}, [&](const FrameResult& result) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    const Features& found = result.detection.features;
    EXPECT_GT(found.count(), 0u);
    EXPECT_EQ(found.x, expected[result.frame_id].x);
    EXPECT_EQ(found.response, expected[result.frame_id].response);
    ++results;
  });
  for (uint64_t i = 0; i < images.size(); ++i) {
    ASSERT_TRUE((*stream)->Write(i, InSlot(ring->Acquire(), images[i])).ok());
  }
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(results, images.size());
  const auto single = client.Detect({}, InSlot(ring->Acquire(), images[5]));
  ASSERT_TRUE(single.ok()) << single.status();
  EXPECT_EQ(single->features.x, expected[5].x);
}

TEST(SharedMemoryRingTest, ASlotIsTheServersUntilItsResult) {
  LaneControl control;
  TestServer server(SharingOptions(), &control);
  const Client client = ConnectTo(&server);
  const auto ring = MakeRing(client, 2);
  SharedSlot first = ring->Acquire(), second = ring->Acquire();
  EXPECT_NE(first.data(), second.data());
  EXPECT_TRUE(ring->Acquire(absl::Milliseconds(5)).empty());
  {
    const SharedSlot copy = first;
    first = SharedSlot();
    EXPECT_TRUE(ring->Acquire(absl::Milliseconds(5)).empty());
    first = copy;
  }
  control.Hold(true);
  auto stream = client.OpenStream({}, nullptr);
  const Image image = Noise({kWidth, kHeight}, 1);
  ASSERT_TRUE((*stream)->Write(1, InSlot(std::exchange(first, {}), image)).ok());
  ASSERT_TRUE((*stream)->Write(2, InSlot(std::exchange(second, {}), image)).ok());
  EXPECT_TRUE(ring->Acquire(absl::Milliseconds(30)).empty());
  control.Hold(false);
  EXPECT_FALSE(ring->Acquire(absl::Seconds(10)).empty());
  EXPECT_TRUE((*stream)->Finish().ok());
}

TEST(SharedMemoryRingTest, SlotsComeBackHoweverAStreamEnds) {
  LaneControl control;
  TestServer server(SharingOptions(), &control);
  const Client client = ConnectTo(&server);
  const auto ring = MakeRing(client, 2);
  const Image image = Noise({kWidth, kHeight}, 1);
  control.Hold(true);
  for (const bool destroy : {false, true}) {
    auto stream = client.OpenStream({}, nullptr);
    ASSERT_TRUE((*stream)->Write(1, InSlot(ring->Acquire(), image)).ok());
    ASSERT_TRUE((*stream)->Write(2, InSlot(ring->Acquire(), image)).ok());
    if (destroy) {
      stream->reset();
    } else {
      (*stream)->Cancel();
      EXPECT_TRUE(absl::IsCancelled((*stream)->Finish()));
    }
    const SharedSlot a = ring->Acquire(absl::Seconds(10)), b = ring->Acquire(absl::Seconds(10));
    EXPECT_FALSE(a.empty());
    EXPECT_FALSE(b.empty());
  }
  control.Hold(false);
}

TEST(SharedMemoryRingTest, FramesOutliveTheRing) {
  LaneControl control;
  TestServer server(SharingOptions(), &control);
  const Client client = ConnectTo(&server);
  const Image image = Noise({kWidth, kHeight}, 1);
  std::atomic<int> good{0};
  auto stream = client.OpenStream({}, [&](const FrameResult& result) { good += result.status.ok() ? 1 : 0; });
  {
    const auto ring = MakeRing(client, 2);
    ASSERT_TRUE((*stream)->Write(1, InSlot(ring->Acquire(), image)).ok());
    ASSERT_TRUE((*stream)->Write(2, InSlot(ring->Acquire(), image)).ok());
  }
  EXPECT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(good, 2);
}

TEST(SharedMemoryRingTest, SaysWhyThereIsNone) {
  {
    TestServer server(TestOptions());
    EXPECT_TRUE(absl::IsFailedPrecondition(ConnectTo(&server).ShareMemory({}).status()));
  }
  ServerOptions options = SharingOptions();
  options.listen.push_back("127.0.0.1:0");
  TestServer server(options);
  EXPECT_THAT(ConnectTo(&server, 1).ShareMemory({}).status().message(), HasSubstr("unix:PATH"));
  EXPECT_TRUE(absl::IsFailedPrecondition(Client(server.channel()).ShareMemory({}).status()));
  const Client client = ConnectTo(&server);
  RingOptions ring;
  ring.slot_bytes = 17 << 20;
  const auto large = client.ShareMemory(ring);
  EXPECT_TRUE(absl::IsResourceExhausted(large.status())) << large.status();
  ring.slots = 0;
  EXPECT_THAT(client.ShareMemory(ring).status().message(), HasSubstr("slots: 0 is not in 1..4096"));
  ring = RingOptions();
  ring.socket = "/nowhere/at.all";
  EXPECT_TRUE(absl::IsUnavailable(client.ShareMemory(ring).status()));
  ring.socket = std::string(200, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(client.ShareMemory(ring).status()));
}

// As timers and profilers send them.
TEST(SharedMemoryRingTest, IsMadeAmongSignals) {
  TestServer server(SharingOptions());
  const Client client = ConnectTo(&server);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> stop{false};
  const pthread_t maker = pthread_self();
  std::thread sender([&] {
    for (; !stop; std::this_thread::sleep_for(std::chrono::microseconds(20))) pthread_kill(maker, SIGUSR1);
  });
  RingOptions options;
  options.slots = 1;
  options.slot_bytes = kWidth * kHeight;
  for (int i = 0; i < 100; ++i) {
    const auto ring = client.ShareMemory(options);
    EXPECT_TRUE(ring.ok()) << ring.status();
  }
  stop = true;
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(SharedMemoryRingTest, PicturesMustFitTheirSlot) {
  TestServer server(SharingOptions());
  const Client client = ConnectTo(&server);
  const auto ring = MakeRing(client, 1);
  const SharedSlot slot = ring->Acquire();
  const int rows = static_cast<int>(slot.bytes()) / kWidth;
  const auto detect = [&](int width, int height, ptrdiff_t stride) {
    return client.Detect({}, ImageInput::Shared(slot, PixelFormat::kGray8, width, height, stride)).status();
  };
  EXPECT_TRUE(detect(kWidth, rows, kWidth).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(detect(kWidth, rows + 1, kWidth)));
  EXPECT_TRUE(absl::IsInvalidArgument(detect(kWidth, 2, kWidth - 1)));
  EXPECT_TRUE(absl::IsInvalidArgument(detect(kWidth, 2, -kWidth)));
  EXPECT_TRUE(absl::IsInvalidArgument(detect(0, 2, kWidth)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(client.Detect({}, ImageInput::Shared({}, PixelFormat::kGray8, 4, 4, 4)).status()));
}

TEST(SharedMemoryRingTest, BelongsToItsClientAndThoseThatItIsSharedWith) {
  const TestAccessFile access(TokenLine("camera") + TokenLine("friend") + TokenLine("stranger"));
  ServerOptions server_options = SharingOptions();
  server_options.access_file = access.path();
  TestServer server(server_options);
  const auto connect = [&](const std::string& name) {
    ClientOptions options;
    options.token = name + "'s";
    return Client::Connect(server->addresses().at(0), options).value();
  };
  const Client camera = connect("camera"), reader = connect("friend"), stranger = connect("stranger");
  RingOptions options;
  options.slots = 2;
  options.slot_bytes = kWidth * kHeight;
  options.shared_with = {"identity friend"};
  const auto ring = camera.ShareMemory(options);
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ((*ring)->shared_name().rfind("identity camera/", 0), 0u) << (*ring)->shared_name();
  (*ring)->Acquire();
  const SharedSlot first = (*ring)->Acquire(), second = (*ring)->Acquire();
  const Image image = Noise({kWidth, kHeight}, 7);
  const auto expected = camera.Detect({}, InSlot(second, image));
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_GT(expected->features.count(), 0u);
  const auto read = [&](const Client& client) {
    SharedSlot slot = SharedSlot::OfOther((*ring)->shared_name(), second.offset(), second.bytes());
    return client.Detect({}, ImageInput::Shared(std::move(slot), PixelFormat::kGray8, kWidth, kHeight, kWidth));
  };
  const auto found = read(reader);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->features.x, expected->features.x);
  EXPECT_EQ(found->features.response, expected->features.response);
  EXPECT_TRUE(absl::IsNotFound(read(stranger).status())) << read(stranger).status();
  options.shared_with = {"everybody"};
  EXPECT_TRUE(absl::IsInvalidArgument(camera.ShareMemory(options).status()));
}

}  // namespace
}  // namespace glint::client
