// What a fuzz target makes of its bytes: numbers first, the rest as it is. Every read beyond the end gives zeros, so
// that each input means something.
#ifndef GLINT_TESTS_FUZZ_TARGETS_INPUT_H_
#define GLINT_TESTS_FUZZ_TARGETS_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"

// Aborts, so that libFuzzer keeps the input. Not assert(): fuzzers are built with NDEBUG as what is shipped.
#define FUZZ_CHECK(condition)                                                          \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "%s:%d: FUZZ_CHECK(%s)\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                    \
    }                                                                                  \
  } while (false)

namespace glint::fuzz {

using Bytes = absl::Span<const uint8_t>;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(data, size) {}

  template <typename T>
  T Number() {
    T value = 0;
    const size_t count = std::min(sizeof(T), rest_.size());
    if (count > 0) std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  // The next `count` bytes, or what there is.
  Bytes Take(size_t count) {
    const Bytes taken = rest_.subspan(0, std::min(count, rest_.size()));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  Bytes Rest() { return Take(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  Bytes rest_;
};

inline std::string ToString(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// `bytes` in pieces whose sizes follow from `seed`, each in an allocation of exactly its size, so that the address
// sanitizer sees every byte too far. Some are empty.
class CutBytes {
 public:
  CutBytes(Bytes bytes, uint32_t seed) {
    while (!bytes.empty()) {
      seed = seed * 1664525u + 1013904223u;
      const size_t size = std::min<size_t>(bytes.size(), (seed >> 16) % ((seed >> 8) % 4 == 0 ? 3 : 61));
      owned_.emplace_back(new uint8_t[size]);
      std::copy_n(bytes.data(), size, owned_.back().get());
      spans_.emplace_back(owned_.back().get(), size);
      bytes.remove_prefix(size);
    }
  }
  absl::Span<const Bytes> spans() const { return spans_; }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> owned_;
  std::vector<Bytes> spans_;
};

}  // namespace glint::fuzz

#endif  // GLINT_TESTS_FUZZ_TARGETS_INPUT_H_
