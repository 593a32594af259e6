// The part of 16 bits that a camera uses, and how its samples become grey levels. Thread-safe: plain values and pure
// functions.
#ifndef GLINT_FEATURES_GRAY_RANGE_H_
#define GLINT_FEATURES_GRAY_RANGE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace glint {

// Without an explicit range, grey is the upper byte of a sample.
struct GrayRange {
  enum class Kind {
    kFull,
    kGiven,
    kPercentile,  // found in the pixels of the first images, then fixed
  };
  Kind kind = Kind::kFull;

  // kGiven: samples, 0..65534 and lowest + 1..65535.
  int lowest = 0;
  int highest = 0;

  // kPercentile. 0..25: of the n samples of an image in ascending order, the lowest is that at
  // floor(n * percentile / 100), the highest as far from the end. Over several images the least and the greatest.
  float percentile = 0.5f;
  int images = 8;  // 1..1000: how many are the first ones; of a call: all

  bool equalize = false;  // then, of kGiven and kPercentile: CLAHE, as cv::createCLAHE() by default

  static GrayRange Given(int lowest, int highest) {
    GrayRange range;
    range.kind = Kind::kGiven;
    range.lowest = lowest;
    range.highest = highest;
    return range;
  }
  static GrayRange Percentile(float percentile = 0.5f, int images = 8) {
    GrayRange range;
    range.kind = Kind::kPercentile;
    range.percentile = percentile;
    range.images = images;
    return range;
  }
  bool wanted() const { return kind != Kind::kFull; }
};

// INVALID_ARGUMENT names the field, as "gray_range.highest".
absl::Status ValidateGrayRange(const GrayRange& range);

// lowest < highest.
struct GrayLimits {
  int lowest = 0;
  int highest = 65535;

  friend bool operator==(const GrayLimits& a, const GrayLimits& b) {
    return a.lowest == b.lowest && a.highest == b.highest;
  }
};

// Grey of a sample: 0 up to the lowest, 255 from the highest on, between them in proportion, halves up.
inline uint8_t GrayOf(int sample, GrayLimits limits) {
  if (sample <= limits.lowest) return 0;
  if (sample >= limits.highest) return 255;
  const int width = limits.highest - limits.lowest;
  return static_cast<uint8_t>((255 * (sample - limits.lowest) + width / 2) / width);
}

}  // namespace glint

#endif  // GLINT_FEATURES_GRAY_RANGE_H_
