#include "client/scenes/map_reader.h"

#include <utility>

#include "absl/time/clock.h"

namespace glint::client {
namespace {

constexpr absl::Duration kPartPoll = absl::Milliseconds(5);

}  // namespace

std::optional<MapPosition> MapReader::Next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asked_ || SteadyNow() < due_) return std::nullopt;
  asked_ = true;
  return next_;
}

std::shared_ptr<const view::MapPoints> MapReader::Take(const LocalizeAnswer& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_ = false;
  const MapPart& part = answer.map;
  const bool first = next_.keyframe == 0 && next_.point == 0;
  const bool good = answer.status.ok() && (first || part.map_id == map_id_);
  if (good) {
    map_id_ = part.map_id;
    for (size_t i = 0; i < part.point_id.size(); ++i) points_.push_back({part.x[i], part.y[i], part.z[i]});
    if (part.has_next) {
      next_ = part.next;
      return nullptr;
    }
  }
  due_ = SteadyNow() + pause_;
  next_ = {};
  auto points = std::make_shared<const view::MapPoints>(std::exchange(points_, {}));
  return good ? points : nullptr;
}

void MapReader::Hear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  heard_ = SteadyNow();
}

bool MapReader::Wait(const std::function<bool()>& stop) {
  Hear();
  while (!stop()) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!asked_) return true;
      if (SteadyNow() - heard_ >= patience_) return false;
    }
    absl::SleepFor(kPartPoll);
  }
  return false;
}

void MapReader::BeginAgain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_ = false;
  points_.clear();
  next_ = {};
  due_ = SteadyNow();
}

bool MapReader::is_whole() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return next_.keyframe == 0 && next_.point == 0;
}

}  // namespace glint::client
