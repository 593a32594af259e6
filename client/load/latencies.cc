#include "client/load/latencies.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace glint::load {
namespace {

constexpr int kMantissaBits = 7;
constexpr int kLinear = 1 << (kMantissaBits + 1);  // values below have a bucket of their own

// Position of the highest bit of value >= 1.
int HighestBit(int64_t value) { return 63 - __builtin_clzll(static_cast<uint64_t>(value)); }

size_t BucketOf(int64_t value) {
  if (value < kLinear) return static_cast<size_t>(value);
  const int shift = HighestBit(value) - kMantissaBits;
  return static_cast<size_t>((int64_t{shift} << kMantissaBits) + (value >> shift));
}

// The smallest value of a bucket.
int64_t ValueOf(size_t bucket) {
  const int64_t b = static_cast<int64_t>(bucket);
  if (b < kLinear) return b;
  const int64_t shift = (b >> kMantissaBits) - 1;
  return (b - (shift << kMantissaBits)) << shift;
}

}  // namespace

Latencies::Latencies() : buckets_(BucketOf(std::numeric_limits<int64_t>::max()) + 1) {}

void Latencies::Add(int64_t nanoseconds) {
  nanoseconds = std::max<int64_t>(nanoseconds, 0);
  ++buckets_[BucketOf(nanoseconds)];
  min_ = count_ > 0 ? std::min(min_, nanoseconds) : nanoseconds;
  max_ = std::max(max_, nanoseconds);
  sum_ += static_cast<double>(nanoseconds);
  ++count_;
}

void Latencies::Merge(const Latencies& other) {
  if (other.count_ == 0) return;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) buckets_[bucket] += other.buckets_[bucket];
  min_ = count_ > 0 ? std::min(min_, other.min_) : other.min_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  count_ += other.count_;
}

int64_t Latencies::Percentile(double share) const {
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(share * static_cast<double>(count_))));
  int64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return ValueOf(bucket);
  }
  return 0;
}

std::vector<std::pair<int64_t, int64_t>> Latencies::Buckets() const {
  std::vector<std::pair<int64_t, int64_t>> buckets;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    if (buckets_[bucket] > 0) buckets.emplace_back(ValueOf(bucket), buckets_[bucket]);
  }
  return buckets;
}

}  // namespace glint::load
