// Exports a count that is kept elsewhere as a Prometheus counter.
#ifndef GLINT_SERVER_METRICS_FOLLOWED_COUNT_H_
#define GLINT_SERVER_METRICS_FOLLOWED_COUNT_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace glint {

// Thread-safe: concurrent scrapes add each increment exactly once.
class FollowedCount {
 public:
  // `add` adds to what the page shows.
  explicit FollowedCount(std::function<void(int64_t)> add) : add_(std::move(add)) {}

  // Ignored if it is below the value that is exported already.
  void Show(int64_t count) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (count <= shown_) return;
    add_(count - shown_);
    shown_ = count;
  }

 private:
  const std::function<void(int64_t)> add_;
  std::mutex mutex_;
  int64_t shown_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_FOLLOWED_COUNT_H_
