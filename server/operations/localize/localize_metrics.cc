#include "server/operations/localize/localize_metrics.h"

#include <iterator>
#include <utility>

namespace glint {
namespace {

constexpr std::pair<int64_t ImuReceived::*, const char*> kFaults[] = {
    {&ImuReceived::late, "late"},       {&ImuReceived::duplicate, "duplicate"}, {&ImuReceived::unsorted, "unsorted"},
    {&ImuReceived::missing, "missing"}, {&ImuReceived::saturated, "saturated"}, {&ImuReceived::frozen, "frozen"},
    {&ImuReceived::dropped, "dropped"}};

}  // namespace

LocalizeMetrics::LocalizeMetrics(prometheus::Registry* registry)
    : streams_(&metric::Gauges(registry, metric::kLocalizeStreams).Add({})),
      map_keyframes_(&metric::Gauges(registry, metric::kMapKeyframes).Add({})),
      map_points_(&metric::Gauges(registry, metric::kMapPoints).Add({})),
      map_bytes_(&metric::Gauges(registry, metric::kMapBytes).Add({})),
      readings_(&metric::Counters(registry, metric::kImuReadings).Add({})),
      ahead_of_readings_(&metric::Counters(registry, metric::kPairsAheadOfReadings).Add({})),
      keyframes_(&metric::Counters(registry, metric::kKeyframes).Add({})),
      keyframes_refused_(&metric::Counters(registry, metric::kKeyframesRefused).Add({})),
      loops_closed_(&metric::Counters(registry, metric::kLoopsClosed).Add({})),
      match_seconds_(metric::Stage(registry, "match")),
      locate_seconds_(metric::Stage(registry, "locate")),
      adjust_seconds_(metric::Stage(registry, "adjust")) {
  auto& locations = metric::Counters(registry, metric::kLocations);
  const std::pair<LocationStatus, const char*> statuses[] = {
      {LocationStatus::kInitializing, "initializing"}, {LocationStatus::kTracking, "tracking"},
      {LocationStatus::kCoasting, "coasting"},         {LocationStatus::kLost, "lost"},
      {LocationStatus::kRelocalized, "relocalized"},   {LocationStatus::kNewMap, "new_map"}};
  static_assert(std::size(statuses) + 1 == kLocationStatusCount);
  for (const auto& [status, name] : statuses) {
    locations_[static_cast<size_t>(status)] = &locations.Add({{"status", name}});
  }
  auto& faults = metric::Counters(registry, metric::kImuFaults);
  static_assert(std::size(kFaults) == std::tuple_size_v<decltype(faults_)>);
  for (size_t i = 0; i < faults_.size(); ++i) faults_[i] = &faults.Add({{"kind", kFaults[i].second}});
  auto& inertial = metric::Counters(registry, metric::kInertialPairs);
  for (const auto& [status, name] :
       {std::pair(InertialStatus::kInitializing, "initializing"), std::pair(InertialStatus::kReady, "ready"),
        std::pair(InertialStatus::kLeftOut, "left_out")}) {
    inertial_[static_cast<size_t>(status)] = &inertial.Add({{"status", name}});
  }
}

void LocalizeMetrics::Located(const LocalizeTask& task, const MapSize& before) const {
  MapChanged(before, task.size);
  if (task.location == nullptr) return;
  locations_[static_cast<size_t>(task.location->status)]->Increment();
  if (const auto& inertial = task.location->inertial; inertial.has_value()) {
    inertial_[static_cast<size_t>(inertial->status)]->Increment();
    if (inertial->ahead_of_readings) ahead_of_readings_->Increment();
  }
  if (task.location->is_keyframe) keyframes_->Increment();
  if (task.location->is_keyframe && task.location->map_full) keyframes_refused_->Increment();
  if (task.location->loop_closed) loops_closed_->Increment();
}

void LocalizeMetrics::Received(const ImuReceived& before, const ImuReceived& after) const {
  const auto count = [&](prometheus::Counter* counter, int64_t ImuReceived::*of) {
    counter->Increment(static_cast<double>(after.*of - before.*of));
  };
  count(readings_, &ImuReceived::received);
  for (size_t i = 0; i < faults_.size(); ++i) count(faults_[i], kFaults[i].first);
}

void LocalizeMetrics::Answered(const FrameTimes& times) const {
  match_seconds_->Observe(metric::Seconds(times.match_ns));
  locate_seconds_->Observe(metric::Seconds(times.locate_ns));
  adjust_seconds_->Observe(metric::Seconds(times.adjust_ns));
}

void LocalizeMetrics::MapChanged(const MapSize& before, const MapSize& after) const {
  const auto change = [](prometheus::Gauge* gauge, int64_t from, int64_t to) {
    gauge->Increment(static_cast<double>(to));
    gauge->Decrement(static_cast<double>(from));
  };
  change(map_keyframes_, before.keyframes, after.keyframes);
  change(map_points_, before.points, after.points);
  change(map_bytes_, before.bytes, after.bytes);
}

}  // namespace glint
