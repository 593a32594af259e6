// Receives memory regions from clients, by the protocol in proto/handoff.h. Input is untrusted.
#ifndef GLINT_SERVER_SHM_HANDOFF_H_
#define GLINT_SERVER_SHM_HANDOFF_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/shm/shared_memory.h"

namespace glint {

// Serves all connections on one thread, without blocking on any of them.
class Handoff {
 public:
  // Listens at `path`, replacing a stale socket. At most `max_connections` at a time; others are refused, and so are
  // those that `admit` refuses, with its status; it is called on the thread of this object. UNAVAILABLE names the path
  // and the reason. `memory` must outlive this.
  using Admit = std::function<absl::Status(int fd)>;
  static absl::StatusOr<std::unique_ptr<Handoff>> Start(const std::string& path, int max_connections,
                                                        SharedMemory* memory, Admit admit = nullptr);
  // Closes all connections, so that their regions are dropped, and removes the socket.
  ~Handoff();
  Handoff(const Handoff&) = delete;
  Handoff& operator=(const Handoff&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Connection {
    int fd;
    int64_t deadline_ns;  // MonotonicNs() by which its request must arrive
    std::string token;    // set by the hand-off
  };

  Handoff(std::string path, int listener, int stop, int max_connections, SharedMemory* memory, Admit admit);
  void Main();
  void Accept();
  // False when the connection has to be closed.
  bool Serve(Connection* connection);
  void Close(Connection* connection);

  const std::string path_;
  const int listener_;
  const int stop_;  // an eventfd
  const size_t max_connections_;
  SharedMemory* const memory_;
  const Admit admit_;                    // may be null
  std::vector<Connection> connections_;  // used by the thread only
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SHM_HANDOFF_H_
