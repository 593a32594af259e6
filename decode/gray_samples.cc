#include "decode/gray_samples.h"

#include <cmath>
#include <cstddef>

namespace glint::decode {
namespace {

constexpr int kSamples = 1 << 16;

int SampleAt(const uint8_t* samples, int x) {
  const uint8_t* const at = samples + 2 * static_cast<ptrdiff_t>(x);
  return at[0] | at[1] << 8;
}

}  // namespace

void GrayTable::SetLimits(GrayLimits limits) {
  if (!gray_.empty() && limits == limits_) return;
  limits_ = limits;
  gray_.resize(kSamples);
  for (int sample = 0; sample < kSamples; ++sample) gray_[static_cast<size_t>(sample)] = GrayOf(sample, limits);
}

void GrayTable::Convert(const uint8_t* samples, int width, uint8_t* gray) const {
  for (int x = 0; x < width; ++x) gray[x] = gray_[static_cast<size_t>(SampleAt(samples, x))];
}

void SampleCounts::Clear() {
  counts_.assign(kSamples, 0);
  total_ = 0;
}

void SampleCounts::Add(const uint8_t* samples, int width) {
  for (int x = 0; x < width; ++x) ++counts_[static_cast<size_t>(SampleAt(samples, x))];
  total_ += width;
}

GrayLimits SampleCounts::LimitsAt(float percentile) const {
  const auto rank = static_cast<int64_t>(std::floor(static_cast<double>(total_) * percentile / 100));
  GrayLimits limits = {0, kSamples - 1};
  for (int64_t below = counts_[0]; below <= rank; below += counts_[static_cast<size_t>(limits.lowest)]) ++limits.lowest;
  for (int64_t above = counts_[kSamples - 1]; above <= rank; above += counts_[static_cast<size_t>(limits.highest)]) {
    --limits.highest;
  }
  if (limits.lowest == kSamples - 1) --limits.lowest;
  if (limits.highest <= limits.lowest) limits.highest = limits.lowest + 1;
  return limits;
}

}  // namespace glint::decode
