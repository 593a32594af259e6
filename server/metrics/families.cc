#include "server/metrics/families.h"

namespace glint {

const char* StatusCodeName(absl::StatusCode code) {
  static constexpr const char* kNames[kStatusCodeCount] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return kNames[IndexOf(code)];
}

size_t IndexOf(absl::StatusCode code) {
  const int index = static_cast<int>(code);
  return static_cast<size_t>(index >= 0 && index < kStatusCodeCount ? index : 2);  // 2: UNKNOWN
}

namespace metric {

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry* registry, const Name& name) {
  return prometheus::BuildCounter().Name(name.name).Help(name.help).Register(*registry);
}

prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry* registry, const Name& name) {
  return prometheus::BuildGauge().Name(name.name).Help(name.help).Register(*registry);
}

prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry* registry, const Name& name) {
  return prometheus::BuildHistogram().Name(name.name).Help(name.help).Register(*registry);
}

const prometheus::Histogram::BucketBoundaries& SecondsBuckets() {
  static const auto* const kBuckets = new prometheus::Histogram::BucketBoundaries{
      10e-6,  25e-6,  50e-6,  75e-6,  100e-6, 150e-6, 200e-6, 300e-6, 400e-6, 500e-6, 750e-6, 1e-3,
      1.5e-3, 2e-3,   3e-3,   4e-3,   5e-3,   7.5e-3, 10e-3,  15e-3,  20e-3,  30e-3,  40e-3,  50e-3,
      75e-3,  100e-3, 150e-3, 200e-3, 300e-3, 400e-3, 500e-3, 750e-3, 1.0,    2.5,    5.0,    10.0};
  return *kBuckets;
}

prometheus::Histogram* Stage(prometheus::Registry* registry, const char* stage) {
  return &Histograms(registry, kStageDuration).Add({{"stage", stage}}, SecondsBuckets());
}

}  // namespace metric

FrameCounters::FrameCounters(prometheus::Registry* registry, const char* operation)
    : seconds(&metric::Histograms(registry, metric::kFrameDuration)
                   .Add({{"operation", operation}}, metric::SecondsBuckets())) {
  auto& results = metric::Counters(registry, metric::kFrames);
  for (int code = 0; code < kStatusCodeCount; ++code) {
    frames[static_cast<size_t>(code)] =
        &results.Add({{"operation", operation}, {"result", StatusCodeName(static_cast<absl::StatusCode>(code))}});
  }
}

void FrameCounters::Ended(absl::StatusCode code, int64_t total_ns) const {
  frames[IndexOf(code)]->Increment();
  seconds->Observe(metric::Seconds(total_ns));
}

}  // namespace glint
