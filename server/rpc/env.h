// State shared by the parts of one server. Members are in the order of construction; destruction is the reverse.
#ifndef GLINT_SERVER_RPC_ENV_H_
#define GLINT_SERVER_RPC_ENV_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "features/background.h"
#include "lane/lane.h"
#include "server/base/log.h"
#include "server/base/usable_machine.h"
#include "server/config/options.h"
#include "server/memory/memory_bound.h"
#include "server/metrics/metrics.h"
#include "server/net/tls_reloader.h"
#include "server/rpc/health.h"
#include "server/rpc/served_method.h"
#include "server/schedule/frame_queue.h"
#include "server/session/places.h"
#include "server/shm/shared_memory.h"
#include "server/wire/stereo_rig.h"

namespace glint {

inline const char* BackendName(Backend backend) { return backend == Backend::kCuda ? "cuda" : "cpu"; }

struct ServerEnv {
  // `background_threads` may be null: see Host.
  ServerEnv(ServerOptions server_options, LaneSet lane_set,
            std::unique_ptr<BackgroundThreads> background_threads = nullptr, UsableMachine usable_machine = {})
      : options(std::move(server_options)),
        machine(std::move(usable_machine)),
        logger(options.log_format, &StandardErrorWriter()),
        lanes(std::move(lane_set)),
        shared_memory(options.shared_memory, &lanes.pinning,
                      [this](const absl::Status& why) {
                        constexpr char kEvent[] = "shared memory not pinned";
                        logger.LogLimited(kEvent, Severity::kWarning, kEvent, {{"reason", std::string(why.message())}});
                      }),
        queue({options.queue_capacity, options.max_pending_bytes,
               FrameQueue::ReserveOf(options.max_pending_bytes, options.max_message_bytes),
               static_cast<int>(lanes.lanes.size()), lanes.max_spinning}),
        health(static_cast<int>(lanes.lanes.size())),
        sessions(SessionPlaces(options)),
        memory_bound(ComputeMemoryBound(options, LanesToBound(lanes))),
        metrics(Describe(*this), {[this] { return queue.size(); }, [this] { return frames_in_flight.load(); },
                                  [this] { return queue.bytes(); }, [this] { return logger.dropped_lines(); },
                                  [this] { return logger.limited_lines(); }}),
        background(std::move(background_threads)),
        rectifications(
            options.max_rectification_bytes, options.calibration_directory,
            [this](absl::string_view name, const std::string& warning) {
              constexpr char kEvent[] = "doubtful calibration";
              logger.LogLimited(kEvent, Severity::kWarning, kEvent, {{"name", std::string(name)}, {"reason", warning}});
            }),
        methods(ServeMethods({&options, &metrics, &rectifications, background.get()})) {}

  const ServerOptions options;
  const UsableMachine machine;
  Logger logger;
  LaneSet lanes;
  SharedMemory shared_memory;
  FrameQueue queue;
  Health health;
  Places sessions;  // open streams
  const MemoryBound memory_bound;
  std::atomic<int> frames_in_flight{0};  // received and not answered
  Metrics metrics;
  const std::unique_ptr<BackgroundThreads> background;
  Rectifications rectifications;
  const std::vector<ServedMethod> methods;
  std::unique_ptr<TlsReloader> tls;  // made by Server::Start(); null without TLS

 private:
  static Places::Limits SessionPlaces(const ServerOptions& options) {
    const bool by_default = options.max_sessions_per_peer == 0;
    Places::Limits limits;
    limits.field = "sessions";
    limits.advice = "end a stream, or try again later";
    limits.total = options.max_sessions;
    limits.flag = "--max-sessions";
    limits.share = by_default ? ShareOfOnePeer(options.max_sessions) : options.max_sessions_per_peer;
    limits.share_flag = "--max-sessions-per-peer";
    limits.kept = by_default ? KeptByOnePeer(options.max_sessions) : 0;
    limits.patience_ns = 1'000'000'000;
    limits.own_patience_ns = 2'000'000'000;
    return limits;
  }
  static Metrics::BuildInfo Describe(const ServerEnv& env) {
    Metrics::BuildInfo info;
    info.version = ServerVersion();
    info.backend = BackendName(env.lanes.backend);
    info.device = env.lanes.device;
    info.simd = env.lanes.simd;
    info.queue_capacity = env.options.queue_capacity;
    info.pool_limit = env.options.max_pending_bytes;
    info.memory_bound = env.memory_bound.total();
    for (const auto& lane : env.lanes.lanes) info.lanes.push_back(lane->device());
    info.gpus = env.lanes.gpus;
    for (const OperationMethod& row : OperationMethods()) info.methods.push_back({row.service, row.name, row.unary});
    return info;
  }
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_ENV_H_
