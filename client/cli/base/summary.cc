#include "client/cli/base/summary.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace glint::cli {
namespace {

constexpr const char* kStageNames[] = {"receive",  "queue",     "decode", "upload",        "detect",
                                       "download", "serialize", "order",  "server, total", "round trip"};

}  // namespace

void Summary::AddOk(const client::Detection& detection) {
  ++ok_;
  keypoints_ += static_cast<int64_t>(detection.features.count());
  const client::Timings& t = detection.timings;
  const int64_t values[kStages] = {
      t.receive_ns,  t.queue_ns,     t.decode_ns, t.upload_ns, t.detect_ns,
      t.download_ns, t.serialize_ns, t.order_ns,  t.total_ns,  absl::ToInt64Nanoseconds(detection.round_trip)};
  for (int i = 0; i < kStages; ++i) stages_[static_cast<size_t>(i)].Add(values[i]);
}

std::string Summary::Text(absl::Duration elapsed) const {
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-9);
  std::string out =
      absl::StrFormat("%d frame%s in %.2f s: %.1f frames/s, %d failed", frames(), frames() == 1 ? "" : "s", seconds,
                      static_cast<double>(frames()) / seconds, failed_);
  if (dropped_ > 0) absl::StrAppendFormat(&out, ", %d dropped", dropped_);
  if (pictures_ > 0) {
    absl::StrAppendFormat(&out, ", %.0f bytes a frame", static_cast<double>(bytes_) / static_cast<double>(pictures_));
  }
  if (ok_ > 0) {
    absl::StrAppendFormat(&out, ", %.1f keypoints a frame\n",
                          static_cast<double>(keypoints_) / static_cast<double>(ok_));
    absl::StrAppendFormat(&out, "%-14s %10s %10s %10s %10s\n", "ms", "p50", "p95", "p99", "max");
    for (int i = 0; i < kStages; ++i) {
      const load::Latencies& stage = stages_[static_cast<size_t>(i)];
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
