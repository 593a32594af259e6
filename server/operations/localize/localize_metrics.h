// Metrics of localization. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_METRICS_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_METRICS_H_

#include <array>

#include "server/metrics/families.h"
#include "server/operations/localize/localize_work.h"

namespace glint {

class LocalizeMetrics {
 public:
  explicit LocalizeMetrics(prometheus::Registry* registry);

  // What a pair or a request made of a stream, whose map was of size `before`.
  void Located(const LocalizeTask& task, const MapSize& before) const;
  // Readings of a stream that had counted `before`.
  void Received(const ImuReceived& before, const ImuReceived& after) const;
  // The map goes with its stream.
  void MapLeft(const MapSize& size) const { MapChanged(size, {}); }
  void StreamsAre(int streams) const { streams_->Set(streams); }
  void Answered(const FrameTimes& times) const;

 private:
  void MapChanged(const MapSize& before, const MapSize& after) const;

  prometheus::Gauge *const streams_, *const map_keyframes_, *const map_points_, *const map_bytes_;
  std::array<prometheus::Counter*, kLocationStatusCount> locations_{};                              // none for 0
  std::array<prometheus::Counter*, static_cast<size_t>(InertialStatus::kLeftOut) + 1> inertial_{};  // none for 0
  prometheus::Counter *const readings_, *const ahead_of_readings_;
  std::array<prometheus::Counter*, 7> faults_{};  // of readings
  prometheus::Counter *const keyframes_, *const keyframes_refused_, *const loops_closed_;
  prometheus::Histogram *const match_seconds_, *const locate_seconds_, *const adjust_seconds_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_METRICS_H_
