#include "bench/floors.h"

#include <cstdint>
#include <cstring>

namespace glint::bench {
namespace {

// Independent sums of 8-byte words, which the compiler vectorizes.
uint64_t SumOfWords(const ImageView& image) {
  constexpr int kLanes = 16;
  uint64_t sum[kLanes] = {};
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* row = image.row(y);
    int x = 0;
    for (; x + kLanes * 8 <= image.width; x += kLanes * 8) {
      uint64_t words[kLanes];
      std::memcpy(words, row + x, sizeof words);
      for (int i = 0; i < kLanes; ++i) sum[i] += words[i];
    }
    for (; x < image.width; ++x) sum[0] += row[x];
  }
  uint64_t total = 0;
  for (const uint64_t s : sum) total += s;
  return total;
}

}  // namespace

Contestant ReadPass(const ImageView& image, Clock clock) {
  return Timed("read_pass", clock, [image] {
    volatile uint64_t sink = SumOfWords(image);
    static_cast<void>(sink);
    return absl::OkStatus();
  });
}

}  // namespace glint::bench
