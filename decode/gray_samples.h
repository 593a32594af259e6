// Samples of 16 bits: their grey by a range, and the range of those that an image has.
#ifndef GLINT_DECODE_GRAY_SAMPLES_H_
#define GLINT_DECODE_GRAY_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "features/gray_range.h"

namespace glint::decode {

// GrayOf() of all samples. Thread-compatible.
class GrayTable {
 public:
  // Fills the table, unless it has these limits.
  void SetLimits(GrayLimits limits);
  // Converts `width` little-endian samples. After SetLimits().
  void Convert(const uint8_t* samples, int width, uint8_t* gray) const;

 private:
  GrayLimits limits_;
  std::vector<uint8_t> gray_;
};

// How often an image has each sample. Thread-compatible; keeps its memory of 256 KiB.
class SampleCounts {
 public:
  void Clear();
  // Adds `width` little-endian samples.
  void Add(const uint8_t* samples, int width);
  // The limits at `percentile` of what was added (GrayRange), of which there is some. Where both are one sample, the
  // highest is the next one.
  GrayLimits LimitsAt(float percentile) const;

 private:
  std::vector<uint32_t> counts_;
  int64_t total_ = 0;
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_GRAY_SAMPLES_H_
