#include "server/memory_bound.h"

namespace glint {

MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes) {
  const int64_t sessions = options.max_sessions;
  MemoryBound bound;
  bound.pending = options.max_pending_bytes;
  bound.receipt = sessions * (2 * int64_t{options.max_message_bytes} + kReceiveWindowBytes);
  bound.detect = options.max_detect_calls * (int64_t{options.max_message_bytes} + kReceiveWindowBytes);
  bound.small = options.max_small_calls * 2 * kSmallCallBytes + options.max_watchers * kWatcherBytes;
  bound.received = bound.pending + bound.receipt + bound.detect + bound.small + kConnectionBytes;
  bound.detect_replies = int64_t{options.max_detect_calls} * options.max_features * kReplyBytesPerFeature;
  bound.replies = sessions * options.max_in_flight * options.max_features * kReplyBytesPerFeature;
  bound.masks = sessions * (options.max_message_bytes + options.lanes.max_image_pixels);
  bound.lanes =
      lanes * (options.lanes.max_image_pixels * kLaneBytesPerPixel + options.max_features * kLaneBytesPerFeature);
  return bound;
}

}  // namespace glint
