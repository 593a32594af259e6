#include "server/app/server.h"

#include <grpcpp/channel.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/background.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/system_limits.h"
#include "features/thread.h"
#include "server/base/placement.h"
#include "server/base/thread_stack.h"
#include "server/memory/memory_bound.h"
#include "server/metrics/http.h"
#include "server/net/connections.h"
#include "server/net/listen.h"
#include "server/operations/localize/map_directory.h"
#include "server/rpc/env.h"
#include "server/rpc/service.h"
#include "server/schedule/lane_threads.h"
#include "server/schedule/lane_watch.h"
#include "server/wire/calibration_directory.h"

namespace glint {

const char* ServerVersion() { return GLINT_VERSION; }

namespace {

constexpr int kFewestMapKeyframes = 10, kFewestMapPoints = 1000;

absl::Status ValidateSharedMemory(const ServerOptions& o) {
  const SharedMemoryOptions& shared = o.shared_memory;
  if (shared.max_bytes < 1 || shared.max_bytes > kMaxSharedMemoryBytes) {
    return OutOfRangeError("shared-memory-max-bytes", shared.max_bytes, int64_t{1}, kMaxSharedMemoryBytes);
  }
  if (shared.max_regions < 1 || shared.max_regions > kMaxSharedMemoryRegions) {
    return OutOfRangeError("shared-memory-max-regions", shared.max_regions, 1, kMaxSharedMemoryRegions);
  }
  if (!shared.enabled) return absl::OkStatus();
  const auto address = std::find_if(o.listen.begin(), o.listen.end(), IsUnixAddress);
  if (address == o.listen.end()) {
    return ContradictionError("shared-memory", "needs a unix:PATH in --listen, since only its clients can use it");
  }
  return CheckListenAddress("shared-memory", absl::StrCat("unix:", HandoffPath(*address)));
}

}  // namespace

absl::Status ValidateServerOptions(const ServerOptions& o) {
  for (const std::string& address : o.listen) {
    GLINT_RETURN_IF_ERROR(CheckListenAddress("listen", address));
  }
  if (!o.metrics_listen.empty()) {
    GLINT_RETURN_IF_ERROR(CheckTcpAddress("metrics-listen", o.metrics_listen));
  }
  GLINT_RETURN_IF_ERROR(ValidateTlsFiles(o.tls));
  const auto check = [](absl::string_view flag, int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(flag, value, low, high);
  };
  for (const absl::Status& s :
       {check("lanes", o.lanes.lanes, 0, kMaxLanes),
        check("threads-per-lane", o.lanes.threads_per_lane, 1, kMaxThreadsPerLane),
        check("cpu-dma-latency", o.cpu_dma_latency_us, -1, kMaxCpuDmaLatencyUs),
        check("queue-capacity", o.queue_capacity, 1, kMaxQueueCapacity),
        check("max-image-pixels", o.lanes.max_image_pixels, 1, kMaxImagePixels),
        check("max-features", o.max_features, kMinFeatures, kMaxFeatures),
        check("max-match-pairs", o.max_match_pairs, 1, kMaxMatchPairsCeiling),
        check("max-message-bytes", o.max_message_bytes, kMaxMessageBytesFloor, INT32_MAX),
        check("max-pending-bytes", o.max_pending_bytes, o.max_message_bytes, INT64_MAX),
        check("max-detect-calls", o.max_detect_calls, 1, kMaxDetectCallsCeiling),
        check("max-small-calls", o.max_small_calls, 1, kMaxSmallCallsCeiling),
        check("max-watchers", o.max_watchers, 1, kMaxWatchersCeiling),
        check("max-sessions", o.max_sessions, 1, kMaxSessionsCeiling),
        check("max-track-streams", o.max_track_streams, 0, kMaxSessionsCeiling),
        check("max-track-cameras", o.max_track_cameras, 1, kMaxTrackCameras),
        check("max-tracks", o.max_tracks, 1, kMaxTrackPoints),
        check("max-track-pixels", o.max_track_pixels, kMinTrackPixels, kMaxTrackCameras * kMaxImagePixels),
        check("max-localize-streams", o.max_localize_streams, 0, kMaxSessionsCeiling),
        check("max-localize-pixels", o.max_localize_pixels, 2, 2 * kMaxImagePixels),
        check("max-map-keyframes", o.max_map_keyframes, kFewestMapKeyframes, kMaxMapKeyframesCeiling),
        check("max-map-points", o.max_map_points, kFewestMapPoints, kMaxMapPointsCeiling),
        check("max-map-bytes", o.max_map_bytes, kMinMapBytes, kMaxMapBytesCeiling),
        check("max-maps", o.max_maps, 1, kMaxMapsCeiling),
        check("max-rectification-bytes", o.max_rectification_bytes, 0, kMaxRectificationBytes),
        check("max-sessions-per-peer", o.max_sessions_per_peer, 0, kMaxSessionsCeiling),
        check("max-frames-per-client", o.client_limits.frames, 0, kMaxClientFrames),
        check("max-bytes-per-client", o.client_limits.bytes, o.client_limits.bytes == 0 ? 0 : o.max_message_bytes,
              INT64_MAX),
        check("max-connections", o.connections.max_connections, 1, kMaxConnectionsCeiling),
        check("max-connections-per-peer", o.connections.max_connections_per_peer, 0, kMaxConnectionsCeiling),
        check("max-in-flight", o.max_in_flight, 1, kMaxInFlightCeiling),
        check("memory-limit", o.memory_limit, o.memory_limit == 0 ? 0 : kMemoryLimitFloor, INT64_MAX)}) {
    if (!s.ok()) return s;
  }
  if (!(o.client_limits.frame_rate >= 0 && o.client_limits.frame_rate <= kMaxClientFrameRate)) {
    return OutOfRangeError("max-frame-rate-per-client", o.client_limits.frame_rate, 0.0, kMaxClientFrameRate);
  }
  if (!(o.client_limits.lane_seconds >= 0 && o.client_limits.lane_seconds <= kMaxClientLaneSeconds)) {
    return OutOfRangeError("max-lane-seconds-per-client", o.client_limits.lane_seconds, 0.0, kMaxClientLaneSeconds);
  }
  for (const auto& [flag, cpus] :
       {std::pair("lane-cpus", &o.lane_cpus), std::pair("completion-cpus", &o.completion_cpus)}) {
    for (const int cpu : *cpus) {
      GLINT_RETURN_IF_ERROR(check(flag, cpu, 0, kMaxCpu));
    }
  }
  for (const int device : o.lanes.devices) {
    GLINT_RETURN_IF_ERROR(check("devices", device, 0, kMaxDevice));
    if (std::count(o.lanes.devices.begin(), o.lanes.devices.end(), device) > 1) {
      return ContradictionError("devices", absl::StrCat(device, " is there twice"));
    }
  }
  GLINT_RETURN_IF_ERROR(ValidateSharedMemory(o));
  GLINT_RETURN_IF_ERROR(CheckMapDirectory(o.map_directory));
  GLINT_RETURN_IF_ERROR(CheckCalibrationDirectory(o.calibration_directory));
  const auto check_duration = [](absl::string_view flag, absl::Duration value, absl::Duration low) {
    if (value >= low && value <= absl::Hours(24)) return absl::OkStatus();
    return OutOfRangeError(flag, absl::FormatDuration(value), absl::FormatDuration(low), std::string("24h"));
  };
  absl::Status s = check_duration("detect-receive-timeout", o.detect_receive_timeout, absl::Milliseconds(1));
  s.Update(check_duration("detect-reply-timeout", o.detect_reply_timeout, absl::Milliseconds(1)));
  s.Update(check_duration("stream-first-message-timeout", o.stream_first_message_timeout, absl::Milliseconds(1)));
  s.Update(check_duration("stream-idle-timeout", o.stream_idle_timeout, absl::Milliseconds(1)));
  s.Update(check_duration("keepalive-time", o.connections.keepalive_time, absl::Seconds(1)));
  s.Update(check_duration("keepalive-timeout", o.connections.keepalive_timeout, absl::Seconds(1)));
  s.Update(check_duration("lane-timeout", o.lane_timeout, absl::Milliseconds(1)));
  s.Update(check_duration("small-call-timeout", o.small_call_timeout, absl::Milliseconds(1)));
  s.Update(check_duration("drain-timeout", o.drain_timeout, absl::ZeroDuration()));
  struct {
    absl::string_view flag;
    absl::Duration value, low;
  } const may_be_infinite[] = {{"connection-idle-timeout", o.connections.idle_timeout, absl::Seconds(1)},
                               {"connection-max-age", o.connections.max_age, absl::Seconds(1)},
                               {"connection-age-grace", o.connections.age_grace, absl::Seconds(1)},
                               {"lane-grace", o.lane_grace, absl::Milliseconds(1)}};
  for (const auto& [flag, value, low] : may_be_infinite) {
    if (value >= low && value <= absl::Hours(24)) continue;
    if (value == absl::InfiniteDuration()) continue;
    s.Update(OutOfRangeError(flag, absl::FormatDuration(value), absl::FormatDuration(low), std::string("24h, or inf")));
  }
  return s;
}

struct Server::Impl {
  Impl(ServerOptions options, LaneSet lanes, std::unique_ptr<BackgroundThreads> background, UsableMachine machine,
       std::string excess)
      : memory_excess(std::move(excess)),
        env(std::move(options), std::move(lanes), std::move(background), std::move(machine)) {}

  // Members in order of construction: each uses those above.
  const std::string memory_excess;
  ServerEnv env;
  CpuDmaLatency cpu_dma_latency;
  std::unique_ptr<LaneWatch> lane_watch;
  std::unique_ptr<LaneThreads> lane_threads;
  std::unique_ptr<Service> service;
  std::unique_ptr<HttpEndpoint> http;

  std::mutex shutdown_mutex;
  std::optional<absl::Status> shutdown_result;
};

namespace {

// Threads beside the lanes for each localization stream: one adjusts, one looks for loops. More than two of each
// processor would wait for each other.
int BackgroundCount(const ServerOptions& options) {
  return std::min(2 * options.max_localize_streams, 2 * FindUsableProcessors().count);
}

// Where nobody says how many lanes there are to be, they take half of the memory at most, by the bound.
void FitLanes(const ServerOptions& options, const UsableMemory& usable, LaneSet* lanes) {
  if (options.lanes.lanes > 0 || lanes->backend != Backend::kCpu) return;
  const int64_t bytes_of_lane = ComputeMemoryBound(options, 1, lanes->backend).lanes;
  const auto most = static_cast<size_t>(std::max<int64_t>(1, usable.bytes / 2 / bytes_of_lane));
  if (lanes->lanes.size() <= most) return;
  absl::StrAppend(&lanes->note, lanes->note.empty() ? "" : "; ", most, " lanes in place of ", lanes->lanes.size(),
                  ", for half of the memory: ", usable.source);
  lanes->lanes.resize(most);
}

// Time that a thread has to record its stack: it does so at once, or hangs where it cannot.
constexpr absl::Duration kStackTimeout = absl::Milliseconds(500);

absl::Status StuckError(const StuckLanes& stuck, absl::string_view limit) {
  return absl::DeadlineExceededError(absl::StrCat(
      "lanes: lane ", stuck.longest, " has been at one frame for ",
      absl::FormatDuration(absl::Milliseconds(stuck.longest_ns / 1'000'000)), ", longer than it may (", limit, ")"));
}

std::unique_ptr<LaneWatch> WatchLanes(ServerEnv* env) {
  const LaneWatch::Limits limits = {env->options.lane_timeout, env->options.lane_grace};
  const std::string timeout = absl::StrCat("--lane-timeout=", absl::FormatDuration(limits.stuck));
  const std::string grace = absl::StrCat(timeout, ", --lane-grace=", absl::FormatDuration(limits.grace));
  LaneWatch::Events events;
  events.changed = [env, timeout](const StuckLanes& stuck) {
    env->metrics.LanesStuck(stuck.count);
    const absl::Status health = stuck.count > 0 ? StuckError(stuck, timeout) : absl::OkStatus();
    env->health.SetLaneHealth(health);
    if (health.ok()) return env->logger.Log(Severity::kWarning, "lanes go on");
    env->logger.Log(Severity::kError, "lane stuck",
                    {{"error", std::string(health.message())}, {"stack", StackOfThread(stuck.thread, kStackTimeout)}});
  };
  events.given_up = [env, grace](const StuckLanes& stuck) { env->health.Fail(StuckError(stuck, grace)); };
  return std::make_unique<LaneWatch>(static_cast<int>(env->lanes.lanes.size()), limits, std::move(events));
}

void WatchConnections(ServerEnv* env) {
  const ConnectionOptions& connections = env->options.connections;
  SetConnectionRules({connections.max_connections, connections.connections_per_peer(), env->options.tls.enabled(),
                      [env](absl::string_view peer, absl::string_view what) {
                        env->logger.LogLimited("connection closed", Severity::kWarning, "connection closed",
                                               {{"peer", std::string(peer)}, {"over", std::string(what)}});
                      }});
}

// Checks the files of TLS, before anything listens.
absl::Status OpenTls(ServerEnv* env) {
  if (!env->options.tls.enabled()) return absl::OkStatus();
  auto tls = TlsReloader::Open(env->options.tls, [env](const absl::StatusOr<absl::Time>& expiry) {
    if (!expiry.ok()) {
      return env->logger.Log(Severity::kWarning, "certificate not renewed",
                             {{"error", std::string(expiry.status().message())}});
    }
    env->logger.Log(Severity::kInfo, "certificate renewed",
                    {{"certificate_ends", absl::FormatTime(*expiry, absl::UTCTimeZone())}});
  });
  if (!tls.ok()) return tls.status();
  env->tls = *std::move(tls);
  return absl::OkStatus();
}

}  // namespace

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { Shutdown(absl::ZeroDuration()).IgnoreError(); }

absl::StatusOr<std::unique_ptr<Server>> Server::Create(ServerOptions options) {
  GLINT_RETURN_IF_ERROR(ValidateServerOptions(options));
  UsableMachine machine = {FindUsableProcessors(), FindUsableMemory(), FindThreadLimit()};
  if (options.memory_limit > 0) machine.memory = {options.memory_limit, "--memory-limit"};
  // Threads of a lane's device or pool stay on the lane's processors.
  const ScopedCpus on_lane_cpus("lane-cpus", options.lane_cpus);
  if (!on_lane_cpus.status().ok()) return on_lane_cpus.status();
  GLINT_ASSIGN_OR_RETURN(auto lanes, options.create_lanes(options.lanes));
  FitLanes(options, machine.memory, &lanes);
  std::string excess = MemoryExcess(options, LanesToBound(lanes), machine.memory);
  if (options.memory_limit > 0 && !excess.empty()) return ContradictionError("memory-limit", excess);
  GLINT_ASSIGN_OR_RETURN(auto background, BackgroundThreads::Create("max-localize-streams", BackgroundCount(options)));
  GLINT_ASSIGN_OR_RETURN(auto impl, WithThreads("log", [&] {
                           return std::make_unique<Impl>(std::move(options), std::move(lanes), std::move(background),
                                                         std::move(machine), std::move(excess));
                         }));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

absl::Status Server::Start() {
  ServerEnv& env = impl_->env;
  GLINT_RETURN_IF_ERROR(OpenTls(&env));
  if (env.options.cpu_dma_latency_us >= 0) {
    GLINT_RETURN_IF_ERROR(impl_->cpu_dma_latency.Hold(env.options.cpu_dma_latency_us));
  }
  if (!env.options.metrics_listen.empty()) {
    const auto page = [&env] {
      return absl::StrCat(env.metrics.Page(), env.tls == nullptr ? "" : env.tls->Metrics(), ConnectionMetrics());
    };
    const auto serving = [&env] { return env.health.serving(); };
    GLINT_ASSIGN_OR_RETURN(auto http, HttpEndpoint::Create(env.options.metrics_listen, {page, serving}));
    impl_->http = std::move(http);
  }
  LaneThreads::Events events;
  events.warm = [&env] { env.health.LaneIsWarm(); };
  events.done = [&env](const FrameJob& job) { env.metrics.LaneDone(job); };
  events.left = [&env](const std::string& device, bool warm) {
    env.health.LaneLeaves(warm);
    env.metrics.LaneLeft(device);
  };
  events.lost = [&env](const absl::Status& why, bool last) {
    env.logger.Log(Severity::kError, last ? "failed" : "device lost", {{"error", std::string(why.message())}});
    if (last) env.health.Fail(why);
  };
  GLINT_ASSIGN_OR_RETURN(impl_->lane_watch, WithThreads("lane-timeout", [&env] { return WatchLanes(&env); }));
  events.busy = [&env, watch = impl_->lane_watch.get()](int lane, bool busy) {
    env.metrics.LaneBusy(busy);
    watch->LaneBusy(lane, busy);
  };
  events.moves = [watch = impl_->lane_watch.get()](int lane) { watch->LaneMoves(lane); };
  impl_->lane_threads =
      std::make_unique<LaneThreads>(&env.queue, &env.lanes, env.options.lanes.max_image_pixels, std::move(events));
  {
    const ScopedCpus on_lane_cpus("lane-cpus", env.options.lane_cpus);
    if (!on_lane_cpus.status().ok()) return on_lane_cpus.status();
    GLINT_RETURN_IF_ERROR(impl_->lane_threads->Make());
  }
  // Last, so that what clients do cannot depend on whether a thread can be made.
  const ScopedCpus on_completion_cpus("completion-cpus", env.options.completion_cpus);
  if (!on_completion_cpus.status().ok()) return on_completion_cpus.status();
  WatchConnections(&env);
  GLINT_ASSIGN_OR_RETURN(impl_->service, Service::Start(&env));
  impl_->lane_threads->Begin();
  return absl::OkStatus();
}

std::vector<std::string> Server::addresses() const {
  return impl_->service == nullptr ? std::vector<std::string>() : impl_->service->addresses();
}

std::string Server::metrics_address() const { return impl_->http == nullptr ? "" : impl_->http->address(); }

const LaneSet& Server::lanes() const { return impl_->env.lanes; }

int64_t Server::memory_bound_bytes() const { return impl_->env.memory_bound.total(); }

const UsableMachine& Server::machine() const { return impl_->env.machine; }

const std::string& Server::memory_excess() const { return impl_->memory_excess; }

std::shared_ptr<grpc::Channel> Server::InProcessChannel() { return impl_->service->InProcessChannel(); }

bool Server::WaitUntilServing(absl::Duration timeout) { return impl_->env.health.WaitUntilServing(timeout); }

bool Server::serving() const { return impl_->env.health.serving(); }

absl::Status Server::lane_health() const { return impl_->env.health.lane_health(); }

int Server::sessions() const { return impl_->env.sessions.open(); }

int Server::calls() const { return impl_->service == nullptr ? 0 : impl_->service->calls(); }

int Server::frames_in_flight() const { return impl_->env.frames_in_flight; }

int Server::frames_waiting() const { return impl_->env.queue.size(); }

absl::Status Server::ReloadAccess() {
  return impl_->service == nullptr ? absl::OkStatus() : impl_->service->gate()->Reload();
}

void Server::RequestShutdown() { impl_->env.health.RequestShutdown(); }

absl::Status Server::Wait() { return impl_->env.health.WaitForEnd(); }

absl::Status Server::Shutdown(absl::Duration drain_timeout) {
  std::lock_guard<std::mutex> lock(impl_->shutdown_mutex);
  if (impl_->shutdown_result.has_value()) return *impl_->shutdown_result;
  absl::Status result;
  if (impl_->service == nullptr) impl_->env.health.StartDraining();
  if (impl_->service != nullptr) {
    impl_->service->StartDraining();
    if (!impl_->service->WaitUntilIdle(drain_timeout)) {
      result = absl::DeadlineExceededError(
          absl::StrCat(impl_->service->calls(), " calls had not ended after ", absl::FormatDuration(drain_timeout)));
    }
    impl_->service->Stop();
  }
  SetConnectionRules({});
  impl_->env.queue.Close();
  impl_->lane_threads.reset();
  impl_->lane_watch.reset();
  impl_->env.health.RequestShutdown();
  impl_->shutdown_result = result;
  return result;
}

}  // namespace glint
