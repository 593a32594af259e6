// Descriptors with the keypoint fields that match conditions use.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTORS_H_
#define GLINT_SERVER_OPERATIONS_MATCH_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/matcher.h"

namespace glint {

// Average bytes per descriptor that a server accepts.
inline constexpr int64_t kSetBytesPerDescriptor = 64;

// Sizes of a DescriptorSet, existing or announced.
struct SetSizes {
  size_t rows = 0;    // bytes
  int32_t bytes = 0;  // of one descriptor; untrusted, may be negative
  size_t x = 0, y = 0, octave = 0, angle = 0;

  size_t count() const { return bytes <= 0 ? 0 : rows / static_cast<size_t>(bytes); }
};

// Contiguous descriptors with the keypoint fields that conditions use; each array is empty or complete.
struct DescriptorSet {
  std::vector<uint8_t> rows;
  int32_t bytes = 0;  // of one descriptor
  std::vector<float> x, y, angle;
  std::vector<int32_t> octave;

  SetSizes sizes() const { return {rows.size(), bytes, x.size(), y.size(), octave.size(), angle.size()}; }
  int count() const { return static_cast<int>(sizes().count()); }
  DescriptorView view() const { return {rows.data(), count(), bytes}; }
  // Empties the set and keeps its memory.
  void Clear() {
    rows.clear();
    for (auto* v : {&x, &y, &angle}) v->clear();
    octave.clear();
    bytes = 0;
  }
};

// Conditions per query; each array is empty or complete.
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
