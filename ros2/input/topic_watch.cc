#include "ros2/input/topic_watch.h"

namespace glint::ros2 {

void TopicWatch::Came(int64_t stamp_ns, int64_t received_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_first = figures_.messages++ == 0;
  figures_.newest_ns = received_ns;
  if (is_first || stamp_ns < first_ns_ || stamp_ns > last_ns_ + 10 * kWindow) {
    first_ns_ = last_ns_ = stamp_ns;
    count_ = 0;
    return;
  }
  ++count_;
  if (stamp_ns > last_ns_) last_ns_ = stamp_ns;
  if (last_ns_ - first_ns_ < kWindow) return;
  figures_.rate = static_cast<double>(count_) * 1e9 / static_cast<double>(last_ns_ - first_ns_);
  first_ns_ = last_ns_;
  count_ = 0;
}

void TopicWatch::CouldNotRead(const absl::Status& why, int64_t received_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++figures_.unreadable;
  figures_.reason = std::string(why.message());
  figures_.newest_ns = received_ns;
}

TopicFigures TopicWatch::figures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return figures_;
}

}  // namespace glint::ros2
