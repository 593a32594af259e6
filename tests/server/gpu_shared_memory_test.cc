// Frames that a GPU copies straight out of a client's memory, or an integrated one has written where it reads them: the
// replies are, byte for byte, those of the CPU. Skips without a usable GPU and says why.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "tests/server/gpu_lanes.h"
#include "tests/server/harness.h"
#include "tests/server/memory_client.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

constexpr int kWidth = 640, kHeight = 480, kSlots = 5;
constexpr size_t kSlotBytes = size_t{kWidth} * kHeight + 123;  // frames begin anywhere

// What a server answers to the frames of a region, and what became of the pinning.
struct Answers {
  std::optional<absl::Status> pinned;
  std::vector<std::string> features;
};

Answers Ask(Backend backend, const Memory& memory) {
  Answers answers;
  ServerOptions options = TestOptions();
  options.lanes.backend = backend;
  options.lanes.lanes = 2;
  options.shared_memory.enabled = true;
  options.create_lanes = [&](const LaneOptions& lanes) {
    auto set = CreateLanes(lanes);
    if (set.ok() && set->pinning.pin != nullptr) {
      set->pinning.pin = [&answers, pin = set->pinning.pin](absl::Span<const uint8_t> region) {
        answers.pinned = pin(region);
        return *answers.pinned;
      };
    }
    return set;
  };
  TestServer server(options);
  HandoffClient client(server->addresses().at(0).substr(5) + kHandoffSuffix);
  v1::RegisterSharedMemoryRequest request;
  request.set_token(client.HandOver(memory));
  request.set_name("camera");
  v1::RegisterSharedMemoryResponse response;
  grpc::ClientContext context;
  EXPECT_TRUE(server.server_stub()->RegisterSharedMemory(&context, request, &response).ok());
  TestStream stream(server.stub());
  stream.Write(OptionsMessage());
  for (int i = 0; i < 4 * kSlots; ++i) {
    v1::DetectStreamRequest message;
    v1::SharedImage* const image = message.mutable_frame()->mutable_image()->mutable_shared();
    image->set_format(v1::PIXEL_FORMAT_GRAY8);
    image->set_width(static_cast<uint32_t>(kWidth - 7 * (i % 3)));  // with and without something between the rows
    image->set_height(kHeight);
    image->set_stride(kWidth);
    image->set_offset(static_cast<uint64_t>(i % kSlots) * kSlotBytes);
    image->set_region("camera");
    stream.Write(message);
    const v1::DetectStreamResponse reply = stream.Read();
    EXPECT_EQ(reply.status().code(), 0) << reply.status().message();
    EXPECT_GT(reply.features().x_size(), 100);
    answers.features.push_back(reply.features().SerializeAsString());
  }
  return answers;
}

TEST(GpuSharedMemory, IsReadWhereItIs) {
  const auto set = OneGpuLane();
  if (!set.ok()) GTEST_SKIP() << set.status().message();
  const Memory memory(kSlots * kSlotBytes);
  for (int slot = 0; slot < kSlots; ++slot) {
    const Image noise = Noise({kWidth, kHeight}, static_cast<uint32_t>(slot + 1));
    for (int y = 0; y < kHeight; ++y) {
      std::memcpy(memory.data() + static_cast<size_t>(slot) * kSlotBytes + y * kWidth, noise.row(y), kWidth);
    }
  }
  const Answers gpu = Ask(Backend::kCuda, memory), cpu = Ask(Backend::kCpu, memory);
  // An integrated device has the machine's memory for its own: pixels are written where it reads them.
  ASSERT_EQ(gpu.pinned.has_value(), set->pinning.pin != nullptr);
  EXPECT_TRUE(gpu.pinned.value_or(absl::OkStatus()).ok()) << *gpu.pinned;
  EXPECT_EQ(gpu.features, cpu.features);
}

}  // namespace
}  // namespace glint::testing
