// What a process on the same machine can send to the socket for shared memory: any messages with any descriptors. The
// server closes all of them, drops what it took when the connection ends, and goes on accepting good memory.
// Input: messages, each a byte for its length, a byte for its descriptors, and its bytes.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/shm/handoff.h"
#include "tests/fuzz/targets/input.h"
#include "tests/server/memory_client.h"

namespace glint {
namespace {

using testing::HandoffClient;
using testing::Memory;

constexpr size_t kBytes = 4096;
constexpr int kMaxMessages = 32;

int OpenDescriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

class Target {
 public:
  Target()
      : path_(absl::StrCat(std::filesystem::temp_directory_path().string(), "/glint-fuzz-", getpid(), ".shm")),
        memory_({true, 1 << 20, 4}, &pinning_, [](const absl::Status&) {}) {
    auto started = Handoff::Start(path_, 4, &memory_);
    FUZZ_CHECK(started.ok());
    handoff_ = *std::move(started);
  }

  void Run(fuzz::Input input) {
    descriptors_ = OpenDescriptors();  // libFuzzer opens some between runs
    {
      HandoffClient client(path_);
      FUZZ_CHECK(client.connected());
      for (int i = 0; i < kMaxMessages && !input.empty(); ++i) {
        const auto length = input.Number<uint8_t>();
        const auto descriptors = input.Number<uint8_t>();
        const std::vector<uint8_t> bytes = Message(length, input.Take(length % 40));
        if (bytes.empty() || !client.Send(bytes.data(), bytes.size(), Descriptors(descriptors))) break;
      }
    }
    FUZZ_CHECK(IsAtRest());
    {
      HandoffClient client(path_);
      FUZZ_CHECK(!client.HandOver(good_).empty());
    }
    FUZZ_CHECK(IsAtRest());
  }

 private:
  // Lengths from 128: a valid request, changed by the input.
  static std::vector<uint8_t> Message(uint8_t length, fuzz::Bytes given) {
    std::vector<uint8_t> bytes(given.begin(), given.end());
    if (length < 128) return bytes;
    const HandoffRequest request = HandoffClient::Request(kBytes);
    bytes.resize(sizeof(request));
    std::memcpy(bytes.data(), &request, sizeof(request));
    for (size_t i = 0; i < std::min(given.size(), bytes.size()); ++i) bytes[i] ^= given[i];
    return bytes;
  }
  std::vector<int> Descriptors(uint8_t which) const {
    if (which >= 250) return std::vector<int>(which - 3, good_.fd());  // up to 252; Linux allows 253
    std::vector<int> fds;
    for (int i = 0; i < which % 6; ++i) fds.push_back((which >> 3 & 1 << i) != 0 ? unsealed_.fd() : good_.fd());
    return fds;
  }
  // The server's thread closes what it got soon after the client is gone; not within ten seconds: never.
  bool IsAtRest() const {
    const absl::Time give_up = absl::Now() + absl::Seconds(10);
    for (int i = 0; OpenDescriptors() != descriptors_ || memory_.bytes() != 0; ++i) {
      if (absl::Now() > give_up) return false;
      absl::SleepFor(absl::Microseconds(i < 20 ? 10 : 1000));
    }
    return true;
  }

  const std::string path_;
  MemoryPinning pinning_;
  SharedMemory memory_;
  const Memory good_{kBytes}, unsealed_{kBytes, 0};
  std::unique_ptr<Handoff> handoff_;
  int descriptors_ = 0;
};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static glint::Target target;
  target.Run(glint::fuzz::Input(data, size));
  return 0;
}
