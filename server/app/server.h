// The server as an object; several can live in one process. glint-server is this class and flags; `glint --server
// inproc` and the tests create their own.
//
//   auto server = glint::Server::Create(options);
//   if (absl::Status s = (*server)->Start(); !s.ok()) ...
//   absl::Status why = (*server)->Wait();                // until RequestShutdown() or a lost device
//   (*server)->Shutdown(absl::Seconds(10));
#ifndef GLINT_SERVER_APP_SERVER_H_
#define GLINT_SERVER_APP_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/usable_machine.h"
#include "server/config/options.h"

namespace grpc {
class Channel;
}

namespace glint {

// Thread-safe, apart from destruction.
class Server {
 public:
  // Validates the options and creates the lanes. INVALID_ARGUMENT names the flag, also if the limits allow more memory
  // than options.memory_limit; errors of CreateLanes(). RESOURCE_EXHAUSTED: a thread cannot be made.
  static absl::StatusOr<std::unique_ptr<Server>> Create(ServerOptions options);
  // Shutdown(absl::ZeroDuration()) if that was not done.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens and starts the lanes' threads; each lane takes a warm-up frame, and when all have, the server is SERVING.
  // Once. UNAVAILABLE: an address is in use or cannot be listened on; the text says which and why. RESOURCE_EXHAUSTED:
  // a thread cannot be made; later none is made for what clients ask for.
  absl::Status Start();

  // Addresses that clients can use, as in ServerOptions::listen with the real ports. After Start().
  std::vector<std::string> addresses() const;
  // "HOST:PORT" of the metrics page; empty if there is none.
  std::string metrics_address() const;
  // The lanes and their devices.
  const LaneSet& lanes() const;
  // Host memory that the options allow, what there is of memory and else, and MemoryExcess().
  int64_t memory_bound_bytes() const;
  const UsableMachine& machine() const;
  const std::string& memory_excess() const;

  // A channel that needs no socket, without limits on messages. After Start(); must not outlive the server.
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // True once SERVING; false after `timeout`, or if SERVING can no longer be reached.
  bool WaitUntilServing(absl::Duration timeout);
  bool serving() const;
  // DEADLINE_EXCEEDED while a lane works on one frame for longer than --lane-timeout.
  absl::Status lane_health() const;

  // Open streams, and open calls of any kind, without health watchers.
  int sessions() const;
  int calls() const;
  // Frames of streams and calls that were received and not answered.
  int frames_in_flight() const;
  // The part of these that waits in the queue for a lane.
  int frames_waiting() const;

  // Reloads --access-file; a change of the file triggers this within 0.3 s. Calls that are no longer permitted end
  // within half a second. On an error, which is also logged, nothing changes.
  absl::Status ReloadAccess();

  // Makes Wait() return. Does not block.
  void RequestShutdown();
  // Returns OK after RequestShutdown(), or the error when a device under the lanes is lost for this process or a lane
  // hangs for longer than --lane-timeout and --lane-grace; the caller then shuts down either way.
  absl::Status Wait();
  // Reports NOT_SERVING, refuses further frames (UNAVAILABLE), answers accepted ones, ends all calls, stops listening
  // and joins all threads but those of the metrics page, which answers until the end. DEADLINE_EXCEEDED: calls that had
  // not ended after `drain_timeout` were cancelled. Later calls return the first one's result. Frames on lanes are
  // waited for: while a lane hangs, this does not return, and the process has to exit.
  absl::Status Shutdown(absl::Duration drain_timeout);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint

#endif  // GLINT_SERVER_APP_SERVER_H_
