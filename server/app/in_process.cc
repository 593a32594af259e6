#include "server/app/in_process.h"

#include <algorithm>
#include <cstdint>

#include "features/limits.h"
#include "features/track_limits.h"
#include "server/base/usable_memory.h"
#include "server/memory/memory_bound.h"

namespace glint {
namespace {

constexpr int64_t kMostMapBytes = int64_t{8} << 30;

}  // namespace

ServerOptions InProcessOptions(int64_t usable_bytes) {
  const int64_t usable = usable_bytes > 0 ? usable_bytes : FindUsableMemory().bytes;
  ServerOptions options;
  options.in_process = true;
  options.listen.clear();
  options.metrics_listen.clear();

  options.lanes.max_image_pixels = std::clamp(usable / kLaneBytesPerPixel, int64_t{1}, kMaxImagePixels);
  options.max_localize_pixels = std::max(options.lanes.max_image_pixels, int64_t{2});
  options.max_track_pixels =
      std::clamp(usable / 2 / kTrackBytesPerPixel, kMinTrackPixels, kMaxTrackCameras * kMaxImagePixels);
  options.max_map_bytes = std::clamp(usable / 2, kMinMapBytes, kMostMapBytes);
  options.max_rectification_bytes = std::min(usable / 4, kMaxRectificationBytes);

  // The user's memory holds the files and pixels of messages already; the frames of a stream are few.
  options.max_message_bytes = INT32_MAX;
  options.max_pending_bytes = INT32_MAX;
  options.max_features = kMaxFeatures;
  options.max_match_pairs = kMaxMatchPairsCeiling;
  options.max_tracks = kMaxTrackPoints;
  options.max_map_keyframes = kMaxMapKeyframesCeiling;
  options.max_map_points = kMaxMapPointsCeiling;

  // The user may stop the process, or wait for a slow camera, for as long as they like.
  const absl::Duration for_long = absl::Hours(24);
  options.detect_receive_timeout = options.detect_reply_timeout = options.small_call_timeout = for_long;
  options.stream_first_message_timeout = options.stream_idle_timeout = for_long;
  options.lane_timeout = for_long;
  options.lane_grace = absl::InfiniteDuration();
  return options;
}

}  // namespace glint
