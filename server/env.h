// What the parts of one server share. Members are in the order of construction; destruction is the reverse.
#ifndef GLINT_SERVER_ENV_H_
#define GLINT_SERVER_ENV_H_

#include <atomic>
#include <string>
#include <utility>

#include "server/health.h"
#include "server/lane/lane.h"
#include "server/log.h"
#include "server/metrics/metrics.h"
#include "server/options.h"
#include "server/schedule/frame_queue.h"
#include "server/shm/shared_memory.h"

namespace glint {

inline const char* BackendName(Backend backend) { return backend == Backend::kCuda ? "cuda" : "cpu"; }

struct ServerEnv {
  ServerEnv(ServerOptions server_options, LaneSet lane_set)
      : options(std::move(server_options)),
        logger(options.log_format, stderr),
        lanes(std::move(lane_set)),
        shared_memory(options.shared_memory),
        queue({options.queue_capacity, options.max_pending_bytes, static_cast<int>(lanes.lanes.size())}),
        health(static_cast<int>(lanes.lanes.size())),
        metrics({ServerVersion(), BackendName(lanes.backend), lanes.device, lanes.simd,
                 static_cast<int>(lanes.lanes.size()), options.queue_capacity},
                [this] { return queue.size(); }) {}

  const ServerOptions options;
  Logger logger;
  LaneSet lanes;
  SharedMemory shared_memory;
  FrameQueue queue;
  Health health;
  Metrics metrics;
  std::atomic<int> sessions{0};          // streams that are open
  std::atomic<int> frames_in_flight{0};  // read and not answered
};

}  // namespace glint

#endif  // GLINT_SERVER_ENV_H_
