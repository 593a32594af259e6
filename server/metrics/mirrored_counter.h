// Exports a count that another component keeps as a Prometheus counter.
#ifndef GLINT_SERVER_METRICS_MIRRORED_COUNTER_H_
#define GLINT_SERVER_METRICS_MIRRORED_COUNTER_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace glint {

// Thread-safe: concurrent scrapes add each increment exactly once.
class MirroredCounter {
 public:
  // `add` increments the exported counter.
  explicit MirroredCounter(std::function<void(int64_t)> add) : add_(std::move(add)) {}

  // Adds the increment since the last call. A `count` below the exported value is ignored.
  void Update(int64_t count) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (count <= exported_) return;
    add_(count - exported_);
    exported_ = count;
  }

 private:
  const std::function<void(int64_t)> add_;
  std::mutex mutex_;
  int64_t exported_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_MIRRORED_COUNTER_H_
