// What the metrics of the server and of its operations are made of. Functions are thread-safe.
#ifndef GLINT_SERVER_METRICS_FAMILIES_H_
#define GLINT_SERVER_METRICS_FAMILIES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "server/base/names.h"

namespace glint {

inline constexpr int kStatusCodeCount = 17;  // gRPC's 0..16

// "OK", "INVALID_ARGUMENT": a status code as gRPC spells it.
const char* StatusCodeName(absl::StatusCode code);
// Index into arrays of kStatusCodeCount.
size_t IndexOf(absl::StatusCode code);

namespace metric {

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry* registry, const Name& name);
prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry* registry, const Name& name);
prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry* registry, const Name& name);

// Five steps a decade and finer from 50 us to 1 s, where frames live.
const prometheus::Histogram::BucketBoundaries& SecondsBuckets();
// The histogram of a stage of frames.
prometheus::Histogram* Stage(prometheus::Registry* registry, const char* stage);

inline double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace metric

// Counts the frames, or the edits, of an operation.
struct FrameCounters {
  FrameCounters(prometheus::Registry* registry, const char* operation);
  void Ended(absl::StatusCode code, int64_t total_ns) const;

  std::array<prometheus::Counter*, kStatusCodeCount> frames;
  prometheus::Histogram* seconds;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_FAMILIES_H_
