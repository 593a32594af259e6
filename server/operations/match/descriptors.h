// Descriptors as clients send them, with what conditions ask of their keypoints.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTORS_H_
#define GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/matcher.h"

namespace glint {

// Bytes of descriptors for each of the descriptors that a server takes, on average.
inline constexpr int64_t kSetBytesPerDescriptor = 64;

// How much a DescriptorSet holds, or would.
struct SetSizes {
  size_t rows = 0;    // bytes
  int32_t bytes = 0;  // of one descriptor; a client's may be of any sign
  size_t x = 0, y = 0, octave = 0, angle = 0;

  size_t count() const { return bytes <= 0 ? 0 : rows / static_cast<size_t>(bytes); }
};

// Descriptors side by side, with what conditions ask of their keypoints: arrays that are empty or complete.
struct DescriptorSet {
  std::vector<uint8_t> rows;
  int32_t bytes = 0;  // of one descriptor
  std::vector<float> x, y, angle;
  std::vector<int32_t> octave;

  SetSizes sizes() const { return {rows.size(), bytes, x.size(), y.size(), octave.size(), angle.size()}; }
  int count() const { return static_cast<int>(sizes().count()); }
  DescriptorView view() const { return {rows.data(), count(), bytes}; }
  // Keeps the memory.
  void Clear() {
    rows.clear();
    for (auto* v : {&x, &y, &angle}) v->clear();
    octave.clear();
    bytes = 0;
  }
};

// Conditions of each query; arrays that are empty or complete.
struct ConditionArrays {
  std::vector<float> x, y, radius;
  std::vector<int32_t> min_octave, max_octave;

  void Clear() {
    for (auto* v : {&x, &y, &radius}) v->clear();
    for (auto* v : {&min_octave, &max_octave}) v->clear();
  }
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTORS_H_
