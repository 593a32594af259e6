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
  // Returns the owner of what comes over a connection (shared_memory.h), or why it is refused. Called on the thread of
  // this object.
  using Admit = std::function<absl::StatusOr<std::string>(int fd)>;
  // Listens at `path`, replacing a stale socket. At most `max_connections` at a time, and at most
  // SharedMemory::max_bytes(). Where there is no room, the connection whose region was not used for longest ends, of
  // the owner who has most, if he has more than the newcomer would have; else the newcomer is refused. So are those
  // that `admit` refuses, with its status. Without `admit` the owner is "". UNAVAILABLE names the path and the reason.
  // `memory` must outlive this.
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
    std::string owner;
    int64_t deadline_ns;  // MonotonicNs() by which its request must arrive
    std::string token;    // set by the hand-off
    bool over = false;    // it is closed
  };

  Handoff(std::string path, int listener, int stop, int max_connections, SharedMemory* memory, Admit admit);
  void Main();
  void Accept();
  // False when the connection has to be closed.
  bool Serve(Connection* connection);
  // Ends a connection, with a region if that is what is needed, so that `owner` may have `more` in addition to what he
  // has, of `total`; `share` returns what an owner has. False: nobody has to make way.
  template <typename Share>
  bool MakeWay(const std::string& owner, bool with_region, int64_t more, int64_t total, Share share);
  void Close(Connection* connection);
  void ForgetClosed();

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
