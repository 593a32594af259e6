// Metrics of tracking. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_METRICS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "server/metrics/families.h"
#include "server/operations/track/tracks.h"

namespace glint {

class TrackMetrics {
 public:
  explicit TrackMetrics(prometheus::Registry* registry);

  // Counts the tracks of one camera that began or ended in a frame or by an edit.
  void Changed(const CameraTracks& tracks) const;
  // Counts tracks that ended with their stream.
  void Left(size_t tracks) const { live_->Decrement(static_cast<double>(tracks)); }
  void StreamsAre(int streams) const { streams_->Set(streams); }
  void Tracked(int64_t ns) const { seconds_->Observe(metric::Seconds(ns)); }

 private:
  prometheus::Gauge *const live_, *const streams_;
  prometheus::Counter* const begun_;
  std::array<prometheus::Counter*, kTrackStateCount> ended_{};  // null for live states
  prometheus::Histogram *const age_, *const seconds_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_METRICS_H_
