// The server's metrics: every child is fetched once, here, so that counting is an atomic addition.
#ifndef GLINT_SERVER_METRICS_METRICS_H_
#define GLINT_SERVER_METRICS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lane/lane.h"
#include "server/base/names.h"
#include "server/config/client_limits.h"
#include "server/metrics/families.h"
#include "server/metrics/gpu.h"
#include "server/metrics/mirrored_counter.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Methods whose calls are counted: the server's own, then, from kFirstOperation, those of BuildInfo::methods.
enum class Method { kGetServerInfo, kRegisterSharedMemory, kUnregisterSharedMemory, kFirstOperation };

struct MethodLabels {
  std::string service, method;
  bool unary = true;
};

// Form of a frame's pixels.
enum class FrameEncoding { kRaw, kShared, kJpeg, kPng, kUnknown };
inline constexpr int kFrameEncodingCount = 5;

// Why a stream was refused.
enum class SessionRefusal { kDraining, kTotal, kPeer };
inline constexpr int kSessionRefusalCount = 3;

// Which timeout ended a stream.
enum class StreamTimeout { kFirstMessage, kIdle, kReply };
inline constexpr int kStreamTimeoutCount = 3;

// Why a call without an image was refused or cancelled.
enum class SmallRefusal { kTooMany, kDisplaced, kLate, kTooLarge };
inline constexpr int kSmallRefusalCount = 4;

// What a place (server/session/places.h) is for.
enum class PlaceKind { kUnary, kStream, kSmall, kWatcher, kReflection };
inline constexpr int kPlaceKindCount = 5;

// Thread-safe. Counting allocates nothing.
class Metrics {
 public:
  struct BuildInfo {
    std::string version, backend, device, simd;
    int queue_capacity = 0;
    int64_t pool_limit = 0;
    int64_t memory_bound = 0;
    std::vector<std::string> lanes;  // each lane's device
    std::vector<LaneSet::Gpu> gpus;
    std::vector<MethodLabels> methods;  // of operations
  };
  // Read at every scrape.
  struct Sources {
    std::function<int()> queue_frames;
    std::function<int()> frames_in_flight;
    std::function<int64_t()> pool_bytes;
    std::function<int64_t()> log_lines_dropped;  // total dropped because the buffer was full
    std::function<int64_t()> log_lines_limited;  // total above the rate limit
  };
  Metrics(const BuildInfo& info, Sources sources);

  void CallStarted(Method method);
  void CallEnded(Method method, absl::StatusCode code, int64_t duration_ns);
  void MessageReceived(Method method) { calls_[Index(method)].received->Increment(); }
  void MessageSent(Method method) { calls_[Index(method)].sent->Increment(); }

  void FrameReceived(FrameEncoding encoding, size_t bytes);
  void PixelsCopied(int64_t bytes) { copied_bytes_->Increment(static_cast<double>(bytes)); }
  // Counts a job that succeeded: its stage times, and its keypoints unless it was an edit.
  void FrameSucceeded(const FrameCounters& counters, const FrameJob& job, int64_t total_ns);
  static void FrameFailed(const FrameCounters& counters, absl::StatusCode code, int64_t total_ns) {
    counters.Ended(code, total_ns);
  }
  // Counts the reason of a dropped frame, in addition to FrameFailed().
  void FrameDropped(DropReason reason) { frames_dropped_[static_cast<size_t>(reason)]->Increment(); }
  // Registry in which operations register their own metrics.
  prometheus::Registry* registry() { return &registry_; }
  // Counts a frame that a lane has finished, with or without an error, and the files that the CPU decoded.
  void LaneDone(const FrameJob& job);
  void LaneLeft(const std::string& device);

  void SmallCallRefused(SmallRefusal reason) { small_refused_[static_cast<size_t>(reason)]->Increment(); }
  void PlaceRefused(PlaceKind kind) { places_refused_[static_cast<size_t>(kind)]->Increment(); }
  void PlacePreempted(PlaceKind kind) { places_preempted_[static_cast<size_t>(kind)]->Increment(); }
  void TraceparentIgnored() { traceparent_ignored_->Increment(); }
  void SessionsAre(int sessions) { sessions_->Set(sessions); }
  void SessionRefused(SessionRefusal why) { sessions_refused_[static_cast<size_t>(why)]->Increment(); }
  void SessionTimedOut(StreamTimeout timeout) { sessions_timed_out_[static_cast<size_t>(timeout)]->Increment(); }
  void ClientRefused(ClientLimit limit) { client_refusals_[static_cast<size_t>(limit)]->Increment(); }
  // `code`: kUnauthenticated, or anything else for PERMISSION_DENIED.
  void AccessRefused(absl::StatusCode code) {
    access_refused_[code == absl::StatusCode::kUnauthenticated ? 0 : 1]->Increment();
  }
  void AccessRevoked() { access_revoked_->Increment(); }
  void AccessReloaded(bool ok) { access_reloads_[ok ? 0 : 1]->Increment(); }
  void AccessIdentitiesAre(size_t identities) { access_identities_->Set(static_cast<double>(identities)); }
  void LanesStuck(int lanes) { lanes_stuck_->Set(lanes); }
  void LaneBusy(bool busy) { busy ? lanes_busy_->Increment() : lanes_busy_->Decrement(); }

  // The metrics page in Prometheus' text format 0.0.4.
  std::string Page();

 private:
  struct CallChildren {
    prometheus::Counter* started;
    prometheus::Counter* received;
    prometheus::Counter* sent;
    prometheus::Histogram* seconds;
    std::array<prometheus::Counter*, kStatusCodeCount> handled;
  };
  static size_t Index(Method method) { return static_cast<size_t>(method); }

  void AddCalls(const std::vector<MethodLabels>& methods);
  void AddPlaces();
  void AddFrames();
  void AddDevices(const BuildInfo& info);
  void AddSessions();
  void AddAccess();

  prometheus::Registry registry_;
  const Sources sources_;
  const GpuSensors gpu_sensors_;
  EnergyMeter energy_meter_;

  std::vector<CallChildren> calls_;
  std::array<prometheus::Counter*, kSmallRefusalCount> small_refused_;
  std::array<prometheus::Counter*, kPlaceKindCount> places_refused_, places_preempted_;
  std::array<prometheus::Counter*, kFrameEncodingCount> frame_bytes_;
  prometheus::Counter* copied_bytes_;
  prometheus::Counter* jpegs_by_cpu_;
  struct {
    prometheus::Histogram *receive, *queue, *decode, *upload, *detect, *download, *serialize, *order;
  } stage_seconds_;
  prometheus::Histogram* keypoints_;
  struct DeviceChildren {
    std::atomic<double> last_frame{0};  // Unix time; 0: none yet
    prometheus::Gauge* lanes = nullptr;
  };
  std::array<prometheus::Counter*, kDropReasonCount> frames_dropped_{};  // none for kNone
  std::map<std::string, DeviceChildren> devices_;
  prometheus::Family<prometheus::Gauge>* last_device_frame_;
  prometheus::Family<prometheus::Counter>* cuda_errors_;
  std::optional<MirroredCounter> allocations_;  // none: not counted
  std::optional<MirroredCounter> log_lines_dropped_, log_lines_limited_;
  prometheus::Counter* traceparent_ignored_;
  prometheus::Gauge* queue_gauge_;
  prometheus::Gauge* frames_in_flight_;
  prometheus::Gauge* pool_bytes_;
  prometheus::Gauge* lanes_;
  prometheus::Gauge* sessions_;
  std::array<prometheus::Counter*, kSessionRefusalCount> sessions_refused_;
  std::array<prometheus::Counter*, kStreamTimeoutCount> sessions_timed_out_;
  std::array<prometheus::Counter*, kClientLimitCount> client_refusals_;
  std::array<prometheus::Counter*, 2> access_refused_;
  prometheus::Counter* access_revoked_;
  std::array<prometheus::Counter*, 2> access_reloads_;
  prometheus::Gauge* access_identities_;
  prometheus::Gauge* lanes_stuck_;
  prometheus::Gauge* lanes_busy_;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_METRICS_H_
