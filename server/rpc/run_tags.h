// The loop of a thread that runs what is ready in a completion queue.
#ifndef GLINT_SERVER_RPC_RUN_TAGS_H_
#define GLINT_SERVER_RPC_RUN_TAGS_H_

#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/rpc/call.h"

namespace glint {

// How long a thread goes on with what is ready before it looks at the sockets.
inline constexpr int64_t kMostBlindNs = 1'000'000;

// Runs the tags of the queue, one after the other, until it is shut down and empty.
//
// gRPC 1.51 looks at no socket as long as something is ready in the queue. A client whose messages have all come
// already, thousands in one DATA frame, would keep it so, and nobody else would be heard. So now and then all that is
// ready is taken out, which ends with a look at the sockets, and only then run.
inline void RunTags(grpc::CompletionQueue* queue) {
  std::vector<std::pair<Tag*, bool>> ready;
  ready.reserve(1024);  // more than calls have at once, so that no frame makes it grow
  void* tag = nullptr;
  bool ok = false;
  int64_t looked_at = 0;
  for (int64_t asked_at = MonotonicNs(); queue->Next(&tag, &ok); asked_at = MonotonicNs()) {
    const int64_t now = MonotonicNs();
    if (now - asked_at > kMostBlindNs / 10) looked_at = now;  // it has waited
    ready.emplace_back(static_cast<Tag*>(tag), ok);
    if (now - looked_at > kMostBlindNs) {
      while (queue->AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_REALTIME)) == grpc::CompletionQueue::GOT_EVENT) {
        ready.emplace_back(static_cast<Tag*>(tag), ok);
      }
      looked_at = MonotonicNs();
    }
    for (const auto& [next, is_ok] : ready) next->Run(is_ok);
    ready.clear();
  }
}

}  // namespace glint

#endif  // GLINT_SERVER_RPC_RUN_TAGS_H_
