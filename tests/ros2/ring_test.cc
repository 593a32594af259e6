// Pixels of messages in memory that is shared with a server of ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "tests/ros2/input_helpers.h"
#include "tests/server/harness.h"

namespace glint::ros2 {
namespace {

using client::ImageInput;
using ::testing::Each;
using testing::ImageOf;
using testing::Opened;
using testing::PairConfig;

constexpr uint32_t kWidth = 64, kHeight = 48, kStep = 80;

class Ring : public ::testing::Test {
 protected:
  std::shared_ptr<client::SharedMemoryRing> MakeRing(int slots, size_t bytes) {
    client::RingOptions options;
    options.slots = slots;
    options.slot_bytes = bytes;
    auto ring = client_.ShareMemory(options);
    EXPECT_TRUE(ring.ok()) << ring.status();
    return *std::move(ring);
  }

  static ServerOptions Options() {
    ServerOptions options = ::glint::testing::TestOptions();
    options.shared_memory.enabled = true;
    options.shared_memory.max_bytes = 16 << 20;
    return options;
  }

  ::glint::testing::TestServer server_{Options()};
  const client::Client client_ = client::Client::Connect(server_->addresses().at(0)).value();
};

// Rows of a step that is longer than they are, whose rest is 0xee.
testing::OwnedImage Padded(int64_t ms, uint8_t value) {
  std::vector<uint8_t> data(size_t{kStep} * kHeight, 0xee);
  for (size_t y = 0; y < kHeight; ++y) std::memset(data.data() + y * kStep, value + static_cast<int>(y), kWidth);
  return ImageOf("mono8", kWidth, kHeight, kStep, data, ms);
}

void ExpectPixels(const ImageInput& image, uint8_t value) {
  ASSERT_EQ(image.stride, static_cast<ptrdiff_t>(kWidth));
  for (size_t y = 0; y < kHeight; ++y) {
    const uint8_t* const row = image.data + y * kWidth;
    EXPECT_THAT(std::vector<uint8_t>(row, row + kWidth), Each(value + y));
  }
}

TEST_F(Ring, PixelsGoIntoItsSlots) {
  const auto ring = MakeRing(3, size_t{kWidth} * kHeight);
  Opened opened(PairConfig());
  opened.input->UseRing(ring);
  opened.participant.Send("/left/image_raw", Padded(1, 10).message);
  opened.participant.Send("/right/image_raw", Padded(1, 90).message);
  ASSERT_EQ(opened.frames.size(), 1u);
  for (const auto& [picture, value] :
       {std::pair(&opened.frames[0]->left, 10), std::pair(&opened.frames[0]->right, 90)}) {
    EXPECT_EQ(picture->image.kind, ImageInput::Kind::kShared);
    EXPECT_EQ(picture->image.data, picture->image.slot.data());  // in the slot itself
    EXPECT_TRUE(picture->bytes.empty());                         // and nowhere else
    ExpectPixels(picture->image, static_cast<uint8_t>(value));
  }
  // The server reads them there.
  const auto found = client_.Detect({}, opened.frames[0]->left.image);
  EXPECT_TRUE(found.ok()) << found.status();

  // One slot is free: the second picture gets memory of its own, at once.
  opened.participant.Send("/left/image_raw", Padded(34, 20).message);
  opened.participant.Send("/right/image_raw", Padded(34, 100).message);
  ASSERT_EQ(opened.frames.size(), 2u);
  EXPECT_EQ(opened.frames[1]->left.image.kind, ImageInput::Kind::kShared);
  EXPECT_EQ(opened.frames[1]->right.image.kind, ImageInput::Kind::kRaw);
  ExpectPixels(opened.frames[1]->right.image, 100);
  ExpectPixels(opened.frames[0]->left.image, 10);

  // Slots are free again with their frames, also those of pictures that wait in vain.
  opened.frames.clear();
  for (int64_t i = 0; i < 20; ++i) opened.participant.Send("/left/image_raw", Padded(100 + 33 * i, 1).message);
  opened.participant.Send("/right/image_raw", Padded(100 + 33 * 19, 1).message);
  opened.frames.clear();
  EXPECT_FALSE(ring->Acquire(absl::ZeroDuration()).empty());
  opened.participant.Send("/left/image_raw", Padded(2000, 1).message);
  opened.participant.Send("/right/image_raw", Padded(2000, 1).message);
  EXPECT_EQ(opened.frames[0]->right.image.kind, ImageInput::Kind::kShared);
}

TEST_F(Ring, OneThatIsTooSmallOrGoneIsNotUsed) {
  Opened opened(PairConfig());
  opened.input->UseRing(MakeRing(4, 1));  // a page: 64 x 48 fit, 128 x 48 do not
  const auto send = [&](int64_t ms, uint32_t width) {
    for (const char* topic : {"/left/image_raw", "/right/image_raw"}) {
      opened.participant.Send(topic, testing::Grey(width, kHeight, ms).message);
    }
    return opened.frames.back()->left.image.kind;
  };
  EXPECT_EQ(send(1, 64), ImageInput::Kind::kShared);
  EXPECT_EQ(send(34, 128), ImageInput::Kind::kRaw);
  EXPECT_EQ(opened.input->image_bytes(), size_t{128} * kHeight);
  opened.input->UseRing(nullptr);
  EXPECT_EQ(send(67, 64), ImageInput::Kind::kRaw);
  EXPECT_EQ(opened.frames.front()->left.image.data[64 * 47], 77);  // a slot outlives its ring
}

}  // namespace
}  // namespace glint::ros2
