// The server's metrics: every child is fetched once, here, so that counting is an atomic addition.
#ifndef GLINT_SERVER_METRICS_METRICS_H_
#define GLINT_SERVER_METRICS_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/metrics/names.h"
#include "server/schedule/frame_job.h"

namespace glint {

enum class Method { kDetect, kDetectStream, kGetServerInfo, kRegisterSharedMemory, kUnregisterSharedMemory };
inline constexpr int kMethodCount = 5;

// What a frame's bytes were.
enum class FrameEncoding { kRaw, kShared, kJpeg, kPng, kUnknown };
inline constexpr int kFrameEncodingCount = 5;

inline constexpr int kStatusCodeCount = 17;  // gRPC's 0..16

// Thread-safe. Counting allocates nothing.
class Metrics {
 public:
  struct BuildInfo {
    std::string version, backend, device, simd;
    int lanes = 0;
    int queue_capacity = 0;
  };
  // `queue_frames` is asked whenever the page is made.
  Metrics(const BuildInfo& info, std::function<int()> queue_frames);

  void CallStarted(Method method);
  void CallEnded(Method method, absl::StatusCode code, int64_t duration_ns);
  void MessageReceived(Method method) { calls_[Index(method)].received->Increment(); }
  void MessageSent(Method method) { calls_[Index(method)].sent->Increment(); }

  void FrameReceived(FrameEncoding encoding, size_t bytes);
  void PixelsCopied(int64_t bytes) { copied_bytes_->Increment(static_cast<double>(bytes)); }
  // One good frame's time and yield.
  void FrameSucceeded(const FrameTimes& times, int64_t total_ns, size_t keypoints);
  void FrameFailed(absl::StatusCode code, int64_t total_ns);

  void SessionsAre(int sessions) { sessions_->Set(sessions); }
  void LaneBusy(bool busy) { busy ? lanes_busy_->Increment() : lanes_busy_->Decrement(); }

  // The page, in Prometheus' text format 0.0.4.
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

  void AddCalls();
  void AddFrames();

  prometheus::Registry registry_;
  const std::function<int()> queue_frames_;

  std::array<CallChildren, kMethodCount> calls_;
  std::array<prometheus::Counter*, kStatusCodeCount> frames_;
  std::array<prometheus::Counter*, kFrameEncodingCount> frame_bytes_;
  prometheus::Counter* copied_bytes_;
  prometheus::Histogram* frame_seconds_;
  struct {
    prometheus::Histogram *receive, *queue, *decode, *upload, *detect, *download;
  } stage_seconds_;
  prometheus::Histogram* keypoints_;
  prometheus::Gauge* queue_gauge_;
  prometheus::Gauge* sessions_;
  prometheus::Gauge* lanes_busy_;
};

// "OK", "INVALID_ARGUMENT": a status code as gRPC spells it.
const char* StatusCodeName(absl::StatusCode code);

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_METRICS_H_
