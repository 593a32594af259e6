// Parts shared by both forms of the report. Internal to it.
#ifndef GLINT_CLIENT_LOAD_REPORT_PARTS_H_
#define GLINT_CLIENT_LOAD_REPORT_PARTS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "client/load/latencies.h"
#include "client/load/recorder.h"
#include "client/load/task.h"
#include "glint/v1/envelope.pb.h"

namespace glint::load {

struct Share {
  double share;
  const char* column;
  const char* key;
};
inline constexpr Share kShares[] = {
    {0.5, "p50", "p50_ns"}, {0.9, "p90", "p90_ns"}, {0.99, "p99", "p99_ns"}, {0.999, "p99.9", "p99_9_ns"}};

// True if there are values above the percentile; otherwise it would be the maximum.
inline bool Known(const Latencies& latencies, double share) {
  return static_cast<double>(latencies.count()) * (1 - share) >= 1 - 1e-9;
}

// True if the task has the stage: single frames are not matched.
inline bool HasStage(Task task, const Stage& stage) { return IsPair(task) || !stage.of_pairs; }

inline double PerFrame(int64_t total, int64_t frames) {
  return frames > 0 ? static_cast<double>(total) / static_cast<double>(frames) : 0;
}

inline std::string CodeName(int code) { return absl::StatusCodeToString(static_cast<absl::StatusCode>(code)); }

// "SUPERSEDED", "EXPIRED", "REJECTED".
inline std::string ReasonName(int reason) {
  const std::string& name = v1::DropReason_Name(static_cast<v1::DropReason>(reason));
  return name.substr(sizeof("DROP_REASON_") - 1);
}

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_REPORT_PARTS_H_
