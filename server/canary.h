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

// Keeps one stream open (it counts in glint_sessions), because a stream's frames wait their turn in a full queue where
// calls of Detect would be refused: a server that is only busy still answers. Thread-compatible.
class Canary {
 public:
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
