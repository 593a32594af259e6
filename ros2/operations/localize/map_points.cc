#include "ros2/operations/localize/map_points.h"

namespace glint::ros2 {

void MapPoints::Begin() {
  const absl::MutexLock lock(&mutex_);
  asked_ = false;
  is_first_ = true;
}

std::optional<client::MapPosition> MapPoints::Next() {
  const absl::MutexLock lock(&mutex_);
  if (asked_ || (is_first_ && SteadyNow() < due_)) return std::nullopt;
  asked_ = true;
  if (is_first_) {
    next_ = {};
    points_.clear();
  }
  return next_;
}

void MapPoints::Take(const client::LocalizeAnswer& answer, absl::FunctionRef<void(const Points&)> use) {
  const client::MapPart& part = answer.map;
  const bool is_good = answer.status.ok() && (is_first_ || part.map_id == map_id_);
  map_id_ = part.map_id;
  is_first_ = !is_good || !part.has_next;
  next_ = part.next;
  if (is_first_) due_ = SteadyNow() + pause_;
  if (is_good) {
    for (size_t i = 0; i < part.point_id.size(); ++i) points_.push_back({part.x[i], part.y[i], part.z[i]});
    if (is_first_) use(points_);
  }
  const absl::MutexLock lock(&mutex_);
  asked_ = false;
}

}  // namespace glint::ros2
