// Recordings of any format: refused with a word about why, or topics, and messages of them in spans that can be read,
// an end to them, and twice the same. Input: the file.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bag/bag.h"
#include "tests/fuzz/targets/input.h"

namespace glint::bag {
namespace {

constexpr int64_t kMostMessages = 100000;

// Messages, and a sum of all that they have.
std::pair<int64_t, uint64_t> ReadAll(Bag* bag, const std::vector<int>& topics) {
  FUZZ_CHECK(bag->Select(topics).ok());
  int64_t messages = 0;
  uint64_t sum = 0;
  Message message;
  absl::Status status;
  while (messages < kMostMessages && (status = bag->Next(&message)).ok()) {
    FUZZ_CHECK(message.topic >= 0 && static_cast<size_t>(message.topic) < bag->topics().size());
    FUZZ_CHECK(static_cast<int64_t>(message.data.size()) <= Bag::kLargestMessage);
    ++messages;
    for (const uint8_t byte : message.data) sum = sum * 31 + byte;
    sum = sum * 31 + static_cast<uint64_t>(message.time_ns);
  }
  if (messages < kMostMessages) FUZZ_CHECK(!status.message().empty());
  return {messages, sum};
}

void Run(const uint8_t* data, size_t size) {
  static const std::string path = absl::StrCat("/dev/shm/glint-bag-fuzz-", getpid());
  static const bool removed_at_exit = std::atexit([] { unlink(path.c_str()); }) == 0;
  FUZZ_CHECK(removed_at_exit);
  std::ofstream(path, std::ios::binary) << std::string(reinterpret_cast<const char*>(data), size);
  const auto bag = Bag::Open(path);
  if (!bag.ok()) {
    FUZZ_CHECK(!bag.status().message().empty());
    return;
  }
  FUZZ_CHECK((*bag)->topics().size() <= Bag::kMostTopics);
  std::vector<int> topics;
  for (const Topic& topic : (*bag)->topics()) {
    FUZZ_CHECK(topic.messages >= 0 && topic.first_ns <= topic.last_ns);
    topics.push_back(static_cast<int>(topics.size()));
  }
  FUZZ_CHECK(ReadAll(bag->get(), topics) == ReadAll(bag->get(), topics));
}

}  // namespace
}  // namespace glint::bag

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::bag::Run(data, size);
  return 0;
}
