// Metrics of detection alone. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_METRICS_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_METRICS_H_

#include <array>
#include <cstddef>

#include "lane/lane.h"
#include "server/metrics/families.h"

namespace glint {

struct DetectMetrics {
  explicit DetectMetrics(prometheus::Registry* registry)
      : jpegs_by_gpu(&metric::Counters(registry, metric::kJpegs).Add({{"decoder", "gpu"}})) {
    auto& family = metric::Counters(registry, metric::kJpegFallbacks);
    for (size_t i = 1; i < jpeg_fallbacks.size(); ++i) {
      jpeg_fallbacks[i] = &family.Add({{"reason", NameOf(static_cast<JpegFallback>(i))}});
    }
  }

  prometheus::Counter* jpegs_by_gpu;
  std::array<prometheus::Counter*, kJpegFallbackCount> jpeg_fallbacks{};  // null for kNone
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_METRICS_H_
