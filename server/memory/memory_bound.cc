#include "server/memory/memory_bound.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/session/session.h"

namespace glint {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t k4kPixels = 3840 * 2160;
constexpr int64_t k1080pPixels = 1920 * 1080;
constexpr int kSomeClients = 16, kFewClients = 8, kFewestClients = 2;
constexpr int64_t kFewPendingBytes = 64 * kMiB;
// Of the one stream that locates a camera and stays longest.
constexpr int64_t kLeastMapBytes = 64 * kMiB;
constexpr int64_t kLeastLocalizePixels = 1 << 20;

// Of a message: fields beside the pixels, at most.
int64_t MessageFor(int64_t pixels, int bytes_per_pixel) { return pixels * bytes_per_pixel + kMiB; }

class Fitting {
 public:
  Fitting(const UsableMemory& usable, int lanes, int fewest_lanes, ServerOptions* options, Backend backend)
      : options_(options),
        fewest_lanes_(fewest_lanes),
        backend_(backend),
        pixels_(IsFree("max-image-pixels", options->lanes.max_image_pixels, defaults_.lanes.max_image_pixels)),
        message_(IsFree("max-message-bytes", options->max_message_bytes, defaults_.max_message_bytes)),
        sessions_(IsFree("max-sessions", options->max_sessions, defaults_.max_sessions)),
        track_streams_(IsFree("max-track-streams", options->max_track_streams, defaults_.max_track_streams)),
        localize_streams_(
            IsFree("max-localize-streams", options->max_localize_streams, defaults_.max_localize_streams)),
        localize_pixels_(IsFree("max-localize-pixels", options->max_localize_pixels, defaults_.max_localize_pixels)),
        map_bytes_(IsFree("max-map-bytes", options->max_map_bytes, defaults_.max_map_bytes)),
        calls_(IsFree("max-detect-calls", options->max_detect_calls, defaults_.max_detect_calls)),
        pending_(IsFree("max-pending-bytes", options->max_pending_bytes, defaults_.max_pending_bytes)) {
    fit_.usable = usable;
    fit_.budget = usable.whole_machine ? usable.bytes / 2 : usable.bytes / 4 * 3;
    fit_.lanes = lanes;
  }

  MemoryFit Fit() {
    FitLanes();
    FitClients();
    fit_.bound = Bound().total();
    Tell("max-image-pixels", options_->lanes.max_image_pixels, defaults_.lanes.max_image_pixels, pixels_);
    Tell("max-message-bytes", options_->max_message_bytes, defaults_.max_message_bytes, message_);
    Tell("max-sessions", options_->max_sessions, defaults_.max_sessions, sessions_);
    Tell("max-track-streams", options_->max_track_streams, defaults_.max_track_streams, track_streams_);
    Tell("max-localize-streams", options_->max_localize_streams, defaults_.max_localize_streams, localize_streams_);
    Tell("max-localize-pixels", options_->max_localize_pixels, defaults_.max_localize_pixels, localize_pixels_);
    Tell("max-map-bytes", options_->max_map_bytes, defaults_.max_map_bytes, map_bytes_);
    Tell("max-detect-calls", options_->max_detect_calls, defaults_.max_detect_calls, calls_);
    Tell("max-pending-bytes", options_->max_pending_bytes, defaults_.max_pending_bytes, pending_);
    return fit_;
  }

 private:
  bool IsFree(absl::string_view flag, int64_t value, int64_t builtin) const {
    return value == builtin && std::find(options_->given.begin(), options_->given.end(), flag) == options_->given.end();
  }
  void Tell(absl::string_view flag, int64_t value, int64_t builtin, bool free) {
    if (free && value < builtin) fit_.lowered.push_back(absl::StrCat(flag, "=", value));
  }
  MemoryBound Bound() const { return ComputeMemoryBound(*options_, fit_.lanes, backend_); }
  bool Fits() const { return Bound().total() <= fit_.budget; }
  bool LanesFit() const { return Bound().lanes <= fit_.budget / 3 * 2; }

  // Each of these halves something that may be lowered, and is above its floor; or returns false.
  template <typename T>
  static bool Halve(bool free, int64_t floor, T* value) {
    if (!free || *value <= floor) return false;
    *value = static_cast<T>(std::max<int64_t>(*value / 2, floor));
    return true;
  }
  bool HalvePixels(int64_t floor) {
    if (!Halve(pixels_, floor, &options_->lanes.max_image_pixels)) return false;
    const int64_t enough = MessageFor(options_->lanes.max_image_pixels, 4);
    if (message_ && options_->max_message_bytes > enough) options_->max_message_bytes = static_cast<int>(enough);
    return true;
  }
  bool HalveClients(int floor) {
    bool fewer_sessions = Halve(sessions_, floor, &options_->max_sessions);
    fewer_sessions = Halve(track_streams_, std::max(1, floor / 8), &options_->max_track_streams) || fewer_sessions;
    return Halve(calls_, floor, &options_->max_detect_calls) || fewer_sessions;
  }

  void FitLanes() {
    while (!LanesFit() && HalvePixels(k4kPixels)) continue;
    const int there = fit_.lanes;
    while (!LanesFit() && options_->lanes.lanes == 0 && fit_.lanes > fewest_lanes_) --fit_.lanes;
    if (fit_.lanes < there) fit_.lowered.push_back(absl::StrCat("lanes=", fit_.lanes));
    while (!LanesFit() && HalvePixels(k1080pPixels)) continue;
  }

  void LowerClientsTo(int clients) {
    const int64_t pending = std::max<int64_t>(kFewPendingBytes, options_->max_message_bytes);
    for (bool changed = true; changed && !Fits();) {
      changed = HalveClients(clients);
      changed = Halve(pending_, pending, &options_->max_pending_bytes) || changed;
    }
  }

  // Streams that locate cameras take much, and most servers have none.
  void FitLocalization() {
    while (!Fits() && Halve(localize_streams_, 1, &options_->max_localize_streams)) continue;
    while (!Fits() && Halve(map_bytes_, kLeastMapBytes, &options_->max_map_bytes)) continue;
    while (!Fits() && Halve(localize_pixels_, kLeastLocalizePixels, &options_->max_localize_pixels)) continue;
  }

  void FitClients() {
    FitLocalization();
    LowerClientsTo(kSomeClients);
    while (!Fits() && HalvePixels(k4kPixels)) continue;
    LowerClientsTo(kFewClients);
    if (!Fits()) Halve(localize_streams_, 0, &options_->max_localize_streams);
    const int64_t message = MessageFor(options_->lanes.max_image_pixels, 1);
    while (!Fits() && Halve(message_, message, &options_->max_message_bytes)) continue;
    while (!Fits() && HalveClients(kFewestClients)) continue;
    while (!Fits() && HalvePixels(k1080pPixels)) {
      Halve(message_, MessageFor(options_->lanes.max_image_pixels, 1), &options_->max_message_bytes);
    }
  }

  const ServerOptions defaults_;
  ServerOptions* const options_;
  const int fewest_lanes_;
  const Backend backend_;
  // May be lowered.
  const bool pixels_, message_, sessions_, track_streams_, localize_streams_, localize_pixels_, map_bytes_, calls_,
      pending_;
  MemoryFit fit_;
};

}  // namespace

MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes, Backend backend) {
  const int64_t sessions = options.max_sessions;
  MemoryBound bound;
  bound.pending = options.max_pending_bytes;
  const int64_t message = options.max_message_bytes;
  bound.receipt = sessions * (kReceiptBytesPerByte * message + kReceiveWindowBytes);
  bound.detect = options.max_detect_calls * (kReceiptBytesPerByte * message + kReceiveWindowBytes);
  bound.metadata = (sessions + options.max_detect_calls) * 2 * kMaxMetadataBytes;
  bound.small = options.max_small_calls * 2 * kSmallCallBytes + options.max_watchers * kWatcherBytes;
  bound.quota = bound.pending + sessions * (2 * message + kReceiveWindowBytes) +
                options.max_detect_calls * (message + kReceiveWindowBytes) + bound.metadata + bound.small +
                kConnectionBytes;
  bound.detect_replies = int64_t{options.max_detect_calls} * options.max_features * kMatchReplyBytesPerFeature;
  bound.replies = sessions * options.max_in_flight * options.max_features * kMatchReplyBytesPerFeature;
  bound.sets = sessions * options.max_features * kKeptBytesPerFeature;
  bound.tracks = int64_t{options.max_track_streams} *
                 (options.max_track_pixels * kTrackBytesPerPixel + options.max_tracks * kTrackBytes +
                  int64_t{options.max_in_flight} * options.max_tracks * kTrackReplyBytes);
  bound.maps = int64_t{options.max_localize_streams} *
               (options.max_map_bytes + options.max_localize_pixels * kLocalizeBytesPerPixel +
                options.max_features * kLaneBytesPerFeature);
  bound.masks = sessions * (options.max_message_bytes + options.lanes.max_image_pixels);
  const int64_t frames = options.max_detect_calls + sessions * (options.max_in_flight + 1);
  bound.frames = frames * (2 * kFrameBytes + kSliceListBytes) + options.max_detect_calls * kOptionsBytes +
                 sessions * static_cast<int64_t>(Session::kDroppedReplies) * kDroppedFrameBytes;
  const bool gpu_jpeg = backend == Backend::kCuda && options.lanes.jpeg != JpegDecoding::kCpu;
  const int64_t of_pixel = kLaneBytesPerPixel + (options.lanes.threads_per_lane > 1 ? kPairBytesPerPixel : 0) +
                           (gpu_jpeg ? kCudaJpegBytesPerPixel : 0);
  const int64_t of_feature =
      kLaneBytesPerFeature + kTrackBytesPerFeature + (backend == Backend::kCuda ? kCudaPairBytesPerFeature : 0);
  bound.lanes = lanes * (options.lanes.max_image_pixels * of_pixel + options.max_features * of_feature +
                         (gpu_jpeg ? kCudaJpegBytes : 0) + (backend == Backend::kCuda ? kCudaPlansBytes : 0));
  return bound;
}

MemoryFit FitToMemory(const UsableMemory& usable, int lanes, int fewest_lanes, ServerOptions* options,
                      Backend backend) {
  return Fitting(usable, lanes, fewest_lanes, options, backend).Fit();
}

}  // namespace glint
