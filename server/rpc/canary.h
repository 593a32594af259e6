// An end-to-end probe: a small frame passes through a call, the queue and a lane. It distinguishes a working server
// from one whose device hangs, which no error would report.
#ifndef GLINT_SERVER_RPC_CANARY_H_
#define GLINT_SERVER_RPC_CANARY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Channel;
}

namespace glint {

// Metadata key that marks the canary's call. It is honoured only for calls from this process.
inline constexpr char kCanaryKey[] = "glint-canary";

// Keeps one stream open, which counts in glint_sessions but is exempt from session limits. Its frame bypasses the
// queue's limits and order and waits only for the first lane that becomes free, so a busy server still answers.
// Thread-compatible.
class Canary {
 public:
  // `channel`: Server::InProcessChannel().
  explicit Canary(std::shared_ptr<grpc::Channel> channel);
  ~Canary();
  Canary(const Canary&) = delete;
  Canary& operator=(const Canary&) = delete;

  // Sends one small frame and waits for the reply. DEADLINE_EXCEEDED after `timeout`; otherwise the error of the
  // frame or of the stream. The next call opens a new stream after an error.
  absl::Status Send(absl::Duration timeout);

 private:
  struct Stream;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CANARY_H_
