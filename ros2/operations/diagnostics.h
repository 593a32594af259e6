// How all goes: on /diagnostics every second or so, and what has become bad on standard error.
#ifndef GLINT_ROS2_OPERATIONS_DIAGNOSTICS_H_
#define GLINT_ROS2_OPERATIONS_DIAGNOSTICS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ros/messages.h"
#include "ros2/operations/context.h"
#include "ros2/operations/topic.h"

namespace glint::ros2 {

// Begins with Open(), ends with its destruction.
class Diagnostics {
 public:
  struct Sources {
    // Called on a thread of this. Names without that of the node.
    std::function<std::vector<ros::DiagnosticStatus>()> diagnose;
    std::function<int64_t()> now_ns;  // for the message's stamp
  };
  static absl::StatusOr<std::unique_ptr<Diagnostics>> Open(const Context& context, Sources sources);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

 private:
  Diagnostics(const Context& context, Sources sources, Topic<ros::DiagnosticArray> topic)
      : context_(context), sources_(std::move(sources)), topic_(std::move(topic)) {}

  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Look();
  // The participant's warnings.
  ros::DiagnosticStatus OfNetwork();
  // On standard error, if the level is another one than was said before. What gets better waits, since it may not stay.
  void SayIfNew(const ros::DiagnosticStatus& status);

  const Context context_;
  const Sources sources_;
  Topic<ros::DiagnosticArray> topic_;
  std::deque<std::string> warnings_;  // newest last
  absl::Time warned_ = absl::InfinitePast();
  struct Said {
    std::byte level = ros::DiagnosticStatus::kOk;
    absl::Time at = absl::InfinitePast();
  };
  std::map<std::string, Said> said_;  // last, by name

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_DIAGNOSTICS_H_
