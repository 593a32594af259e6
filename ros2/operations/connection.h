// The connection to the server: found again when it is lost, for as long as the node lives, and its shared memory.
#ifndef GLINT_ROS2_OPERATIONS_CONNECTION_H_
#define GLINT_ROS2_OPERATIONS_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "ros/messages.h"
#include "ros2/config/config.h"
#include "ros2/input/input.h"

namespace glint::ros2 {

// Thread-safe.
class Connection {
 public:
  struct Options {
    ServerConfig server;
    int slots = 32;  // of shared memory: pictures that all operations and the input have at once; fewer of large ones
  };
  // Begins to connect, on a thread of its own. `input` gets the memory that is shared with a server at a unix socket,
  // and must outlive this.
  Connection(const Options& options, Input* input);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Null: there is none now.
  std::shared_ptr<const client::Client> client() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a stream of `client` that has ended with UNAVAILABLE, or could not be opened: connects again. Nothing happens if
  // that has begun before. What is written afterwards must be of frames that came later: those before may lie in memory
  // that the server no longer has.
  void Lost(const std::shared_ptr<const client::Client>& client, const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the server that is connected, or was last; nothing: none has answered yet.
  std::optional<client::ServerInfo> server() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Not OK: there was no server for ServerConfig::give_up_after.
  absl::Status given_up() const ABSL_LOCKS_EXCLUDED(mutex_);
  ros::DiagnosticStatus Diagnose() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();
  // One attempt.
  absl::Status Connect() ABSL_LOCKS_EXCLUDED(mutex_);
  // Shares memory for images as large as those that have come, if there is none.
  void Share() ABSL_LOCKS_EXCLUDED(mutex_);
  // Until that is over, the connection is lost, or the end.
  void Wait(absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopping() const ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  Input* const input_;
  // For the thread.
  size_t slot_bytes_ = 0;  // of the ring that input_ has; 0: none
  int slots_ = 0;          // that the next ring is to have
  absl::Time share_at_ = absl::InfinitePast();

  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const client::Client> client_ ABSL_GUARDED_BY(mutex_);
  std::optional<client::ServerInfo> server_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_) = absl::UnavailableError("not connected yet");
  absl::Status given_up_ ABSL_GUARDED_BY(mutex_);
  std::string memory_ ABSL_GUARDED_BY(mutex_);  // how images go to the server, for people
  absl::Time since_ ABSL_GUARDED_BY(mutex_);    // connected, or not
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;

  std::thread thread_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_CONNECTION_H_
