// What went wrong, for people, until somebody asks.
#ifndef GLINT_ROS2_DDS_WARNINGS_H_
#define GLINT_ROS2_DDS_WARNINGS_H_

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace glint::ros2 {

// Thread-safe. Of what would be too much the rest is dropped.
class Warnings {
 public:
  // Unless it was told before.
  void AddOnce(std::string text) {
    const absl::MutexLock lock(&mutex_);
    if (told_.size() < kMost && told_.insert(text).second) waiting_.push_back(std::move(text));
  }
  void Add(std::string text) {
    const absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMost) waiting_.push_back(std::move(text));
  }
  std::vector<std::string> Take() {
    const absl::MutexLock lock(&mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  static constexpr size_t kMost = 1000;

  absl::Mutex mutex_;
  std::set<std::string> told_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_WARNINGS_H_
