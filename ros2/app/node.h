// glint-ros2 as a whole: a node of ROS 2, what it subscribes to, the server, its operations, and /diagnostics.
#ifndef GLINT_ROS2_APP_NODE_H_
#define GLINT_ROS2_APP_NODE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/view/view.h"
#include "ros/messages.h"
#include "ros2/config/config.h"
#include "ros2/dds/participant.h"
#include "ros2/input/input.h"
#include "ros2/operations/connection.h"
#include "ros2/operations/diagnostics.h"
#include "ros2/operations/live.h"
#include "ros2/operations/operation.h"

namespace glint::ros2 {

// Thread-safe, apart from destruction, which ends everything in order.
class Node {
 public:
  // `config` is checked (LoadConfig()). INVALID_ARGUMENT names a key or a variable of the environment; other errors are
  // those of Participant and of threads. A server that is not there is none: it is waited for.
  static absl::StatusOr<std::unique_ptr<Node>> Create(const Config& config);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Not OK: there was no server for so long that the program is to end (ServerConfig::give_up_after).
  absl::Status given_up() const { return connection_->given_up(); }
  // For people, one line: the node, the server, what it takes and does.
  std::string Text() const;

 private:
  using Operations = std::vector<std::unique_ptr<Operation>>;

  explicit Node(const Config& config) : config_(config) {}
  absl::Status Start();
  absl::Status AddOperations(const Context& context) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<ros::DiagnosticStatus> Diagnose() ABSL_LOCKS_EXCLUDED(mutex_);

  const Config config_;
  std::unique_ptr<Participant> participant_;
  std::atomic<int64_t> clock_ns_ = 0;  // of /clock, with use_sim_time
  std::unique_ptr<Subscription> clock_;

  absl::Mutex mutex_;
  Operations operations_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Input> input_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<view::View> view_;
  std::unique_ptr<Live> live_;
  std::unique_ptr<Diagnostics> diagnostics_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_APP_NODE_H_
