#include "client/cli/summary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace glint::cli {
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

constexpr const char* kStageNames[] = {"receive", "queue",    "decode",        "upload",
                                       "detect",  "download", "server, total", "round trip"};

}  // namespace

void Latencies::Add(int64_t nanoseconds) {
  nanoseconds = std::max<int64_t>(nanoseconds, 0);
  const size_t bucket = BucketOf(nanoseconds);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, nanoseconds);
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

void Summary::AddOk(const client::Detection& detection) {
  ++ok_;
  keypoints_ += static_cast<int64_t>(detection.features.count());
  const client::Timings& t = detection.timings;
  const int64_t values[kStages] = {
      t.receive_ns, t.queue_ns,    t.decode_ns, t.upload_ns,
      t.detect_ns,  t.download_ns, t.total_ns,  absl::ToInt64Nanoseconds(detection.round_trip)};
  for (int i = 0; i < kStages; ++i) stages_[static_cast<size_t>(i)].Add(values[i]);
}

std::string Summary::Text(absl::Duration elapsed) const {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  std::string out = absl::StrFormat("%d frames in %.2f s: %.1f frames/s, %d failed", frames(), seconds,
                                    static_cast<double>(frames()) / seconds, failed_);
  if (ok_ > 0) {
    absl::StrAppendFormat(&out, ", %.1f keypoints a frame\n",
                          static_cast<double>(keypoints_) / static_cast<double>(ok_));
    absl::StrAppendFormat(&out, "%-14s %10s %10s %10s %10s\n", "ms", "p50", "p95", "p99", "max");
    for (int i = 0; i < kStages; ++i) {
      const Latencies& stage = stages_[static_cast<size_t>(i)];
      const auto ms = [](int64_t ns) { return static_cast<double>(ns) * 1e-6; };
      absl::StrAppendFormat(&out, "%-14s %10.3f %10.3f %10.3f %10.3f\n", kStageNames[i], ms(stage.Percentile(0.50)),
                            ms(stage.Percentile(0.95)), ms(stage.Percentile(0.99)), ms(stage.max()));
    }
  } else {
    out += '\n';
  }
  return out;
}

}  // namespace glint::cli
