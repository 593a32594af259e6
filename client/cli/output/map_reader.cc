#include "client/cli/output/map_reader.h"

#include <utility>

namespace glint::cli {

std::optional<client::MapPosition> MapReader::Next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asked_ || SteadyNow() < due_) return std::nullopt;
  asked_ = true;
  return next_;
}

std::shared_ptr<const view::MapPoints> MapReader::Take(const client::LocalizeAnswer& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_ = false;
  const client::MapPart& part = answer.map;
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

}  // namespace glint::cli
