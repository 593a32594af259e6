// A frame of our own that goes the whole way: a call, the queue, a lane and back. Whether it comes back tells a server
// that works from one whose device hangs, which has nothing to report.
#ifndef GLINT_SERVER_CANARY_H_
#define GLINT_SERVER_CANARY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Channel;
}

namespace glint {

// Metadata of a call that says it is the canary's. Heeded only if it comes from this process.
inline constexpr char kCanaryKey[] = "glint-canary";

// Keeps one stream open (it counts in glint_sessions) that has a place of its own: no limit of sessions refuses it, and
// its frame waits neither for room in the queue nor for its turn, only for the first lane that ends what it is at. So a
// server that is only busy still answers. Thread-compatible.
class Canary {
 public:
  // `channel`: Server::InProcessChannel().
  explicit Canary(std::shared_ptr<grpc::Channel> channel);
  ~Canary();
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  // Sends one small frame and waits for its answer. DEADLINE_EXCEEDED after `timeout`; otherwise how the frame or the
  // stream failed. The next call begins with a new stream then.
  absl::Status Send(absl::Duration timeout);

 private:
  struct Stream;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace glint

#endif  // GLINT_SERVER_CANARY_H_
