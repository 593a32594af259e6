#include "server/memory/memory_bound.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/net/http2_guard.h"
#include "server/session/session.h"

namespace glint {
namespace {

constexpr size_t kNamedParts = 3;

std::string Mib(int64_t bytes) { return absl::StrCat(bytes >> 20, " MiB"); }

// Terms of the bound that depend on flags, the largest first.
std::vector<std::pair<int64_t, std::string>> PartsOf(const MemoryBound& b, const ServerOptions& o, int lanes) {
  const std::string sessions = absl::StrCat("--max-sessions=", o.max_sessions);
  const std::string calls = absl::StrCat("--max-detect-calls=", o.max_detect_calls);
  const std::string message = absl::StrCat(", --max-message-bytes=", o.max_message_bytes);
  const std::string features = absl::StrCat(", --max-features=", o.max_features);
  const std::string in_flight = absl::StrCat(", --max-in-flight=", o.max_in_flight);
  std::vector<std::pair<int64_t, std::string>> parts = {
      {b.lanes, absl::StrCat(lanes, " lanes (--lanes), --max-image-pixels=", o.lanes.max_image_pixels, features)},
      {b.receipt + b.masks, sessions + message},
      {b.detect, calls + message},
      {b.pending, absl::StrCat("--max-pending-bytes=", o.max_pending_bytes)},
      {b.replies + b.sets, sessions + in_flight + features},
      {b.detect_replies, calls + features},
      {b.frames, absl::StrCat(sessions, in_flight, ", ", calls)},
      {b.tracks, absl::StrCat("--max-track-streams=", o.max_track_streams, ", --max-track-pixels=", o.max_track_pixels,
                              ", --max-tracks=", o.max_tracks, in_flight)},
      {b.maps, absl::StrCat("--max-localize-streams=", o.max_localize_streams, ", --max-map-bytes=", o.max_map_bytes,
                            ", --max-localize-pixels=", o.max_localize_pixels)},
      {b.rectification, absl::StrCat("--max-rectification-bytes=", o.max_rectification_bytes)},
      {b.connections, absl::StrCat("--max-connections=", o.connections.max_connections)},
      {b.small, absl::StrCat("--max-small-calls=", o.max_small_calls, ", --max-watchers=", o.max_watchers)}};
  std::sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  return parts;
}

}  // namespace

// Integrated devices read pixels where they are, so nothing is page-locked for them.
BoundedLanes LanesToBound(const LaneSet& lanes) {
  return {static_cast<int>(lanes.lanes.size()), lanes.backend,
          lanes.backend == Backend::kCuda && lanes.pinning.pin == nullptr};
}

MemoryBound ComputeMemoryBound(const ServerOptions& options, const BoundedLanes& lanes) {
  const int64_t sessions = options.max_sessions;
  MemoryBound bound;
  bound.pending = options.max_pending_bytes;
  const int64_t message = options.max_message_bytes;
  bound.receipt = sessions * (kReceiptBytesPerByte * message + kReceiveWindowBytes);
  bound.detect = options.max_detect_calls * (kReceiptBytesPerByte * message + kReceiveWindowBytes);
  bound.metadata = (sessions + options.max_detect_calls) * 2 * kMaxMetadataBytes;
  bound.small = options.max_small_calls * 2 * kSmallCallBytes + options.max_watchers * kWatcherBytes;
  const ConnectionOptions& connections = options.connections;
  bound.connections = connections.max_connections * ((options.tls.enabled() ? kTlsConnectionBytes : kConnectionBytes) +
                                                     kOwnCalls * kUnansweredCallBytes) +
                      kSharedCalls * kUnansweredCallBytes;
  bound.quota = bound.pending + sessions * (2 * message + kReceiveWindowBytes) +
                options.max_detect_calls * (message + kReceiveWindowBytes) + bound.metadata + bound.small +
                bound.connections;
  const int64_t reply = options.max_features * ReplyBytesPerFeature(options.max_features);
  bound.detect_replies = options.max_detect_calls * reply;
  bound.replies = sessions * options.max_in_flight * reply;
  bound.sets = sessions * options.max_features * kKeptBytesPerFeature;
  // What `masks` has of pixels, of one image, is there for those of all cameras.
  const int64_t more_masks = std::max<int64_t>(0, options.max_track_pixels - options.lanes.max_image_pixels);
  bound.tracks = int64_t{options.max_track_streams} *
                 (options.max_track_pixels * kTrackBytesPerPixel + more_masks + options.max_tracks * kTrackBytes +
                  int64_t{options.max_in_flight} * options.max_tracks * kTrackReplyBytes);
  bound.maps = int64_t{options.max_localize_streams} *
               (options.max_map_bytes + options.max_localize_pixels * kLocalizeBytesPerPixel +
                options.max_features * kLaneBytesPerFeature + kInertialBytes);
  bound.rectification = options.max_rectification_bytes;
  bound.masks = sessions * (options.max_message_bytes + options.lanes.max_image_pixels);
  const int64_t frames = options.max_detect_calls + sessions * (options.max_in_flight + 1);
  bound.frames = frames * (2 * kFrameBytes + kSliceListBytes) + options.max_detect_calls * kOptionsBytes +
                 sessions * static_cast<int64_t>(Session::kDroppedReplies) * kDroppedFrameBytes;
  if (options.max_track_cameras > 2) {
    bound.frames += int64_t{options.max_track_streams} * (options.max_in_flight + 1) * kMoreListsBytes;
  }
  const bool cuda = lanes.backend == Backend::kCuda;
  const bool gpu_jpeg = cuda && options.lanes.jpeg != JpegDecoding::kCpu;
  const int64_t of_pixel = kLaneBytesPerPixel + (options.lanes.threads_per_lane > 1 ? kPairBytesPerPixel : 0) +
                           (gpu_jpeg ? kCudaJpegBytesPerPixel : 0) + (lanes.integrated ? kIntegratedBytesPerPixel : 0);
  const int64_t of_feature = kLaneBytesPerFeature + kTrackBytesPerFeature + (cuda ? kCudaPairBytesPerFeature : 0) +
                             (lanes.integrated ? kIntegratedBytesPerFeature : 0);
  bound.lanes =
      lanes.count * (options.lanes.max_image_pixels * of_pixel + options.max_features * of_feature +
                     (gpu_jpeg ? kCudaJpegBytes : 0) + (cuda ? kCudaPlansBytes : 0) +
                     (lanes.integrated ? kIntegratedBytes + IntegratedTableBytes(options.max_rectification_bytes) : 0));
  return bound;
}

std::string MemoryExcess(const ServerOptions& options, const BoundedLanes& lanes, const UsableMemory& usable) {
  const MemoryBound bound = ComputeMemoryBound(options, lanes);
  if (bound.total() <= usable.bytes) return "";
  std::string text = absl::StrCat(Mib(bound.total()), " are allowed by the limits, but ", usable.source, " is ",
                                  Mib(usable.bytes), "; most by ");
  const auto parts = PartsOf(bound, options, lanes.count);
  for (size_t i = 0; i < kNamedParts; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", parts[i].second, " (", Mib(parts[i].first), ")");
  }
  return text;
}

}  // namespace glint
