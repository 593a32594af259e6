// What came on a topic, for diagnosis.
#ifndef GLINT_ROS2_INPUT_TOPIC_WATCH_H_
#define GLINT_ROS2_INPUT_TOPIC_WATCH_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace glint::ros2 {

struct TopicFigures {
  int64_t messages = 0;    // that could be read
  int64_t unreadable = 0;  // that could not
  std::string reason;      // of the last of these
  double rate = 0;         // messages a second of their stamps, over two seconds or more; 0: not known yet
  int64_t newest_ns = 0;   // when the last message was received, since the epoch; 0: none was
};

// Thread-safe.
class TopicWatch {
 public:
  void Came(int64_t stamp_ns, int64_t received_ns);
  void CouldNotRead(const absl::Status& why, int64_t received_ns);
  TopicFigures figures() const;

 private:
  static constexpr int64_t kWindow = 2'000'000'000;  // ns

  mutable std::mutex mutex_;
  TopicFigures figures_;
  int64_t first_ns_ = 0, last_ns_ = 0, count_ = 0;  // stamps of the window, and intervals between them
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_TOPIC_WATCH_H_
