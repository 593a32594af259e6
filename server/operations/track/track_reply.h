// The replies of glint.v1.FeatureTracking but for status and timings, serialized straight into memory of the exact
// size. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "absl/types/span.h"
#include "server/operations/track/tracks.h"

namespace glint {

// A TrackStreamResponse. `cameras` are in order; of an edit those without tracks are left out.
grpc::Slice SerializeTrackReply(uint64_t frame_id, absl::Span<const CameraTracks> cameras, bool is_edit);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_
