#include "server/memory_bound.h"

#include "server/session/session.h"

namespace glint {

MemoryBound ComputeMemoryBound(const ServerOptions& options, int lanes) {
  const int64_t sessions = options.max_sessions;
  MemoryBound bound;
  bound.pending = options.max_pending_bytes;
  const int64_t received = kReceiptBytesPerByte * options.max_message_bytes;
  bound.receipt = sessions * received;
  bound.detect = options.max_detect_calls * (received + int64_t{options.max_features} * kReplyBytesPerFeature);
  bound.replies = sessions * options.max_in_flight * options.max_features * kReplyBytesPerFeature;
  bound.masks = sessions * (options.max_message_bytes + options.lanes.max_image_pixels);
  const int64_t frames = options.max_detect_calls + sessions * (options.max_in_flight + 1);
  bound.frames = frames * (2 * kFrameBytes + kSliceListBytes) + options.max_detect_calls * kOptionsBytes +
                 sessions * static_cast<int64_t>(Session::kDroppedReplies) * kDroppedFrameBytes;
  bound.lanes =
      lanes * (options.lanes.max_image_pixels * kLaneBytesPerPixel + options.max_features * kLaneBytesPerFeature);
  return bound;
}

}  // namespace glint
