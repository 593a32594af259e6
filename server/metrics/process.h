// The process_* metrics that Prometheus' own client libraries export, from /proc/self. What cannot be read is left out.
#ifndef GLINT_SERVER_METRICS_PROCESS_H_
#define GLINT_SERVER_METRICS_PROCESS_H_

#include <prometheus/metric_family.h>

#include <vector>

namespace glint {

std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_PROCESS_H_
