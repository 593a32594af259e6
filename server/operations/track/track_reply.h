// Serializer of the replies of glint.v1.FeatureTracking, without status and timings, into memory of the exact size.
// Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "features/warning.h"
#include "server/operations/track/tracks.h"

namespace glint {

// A TrackStreamResponse. `cameras` are in order; the reply to an edit omits those without tracks.
grpc::Slice SerializeTrackReply(uint64_t frame_id, absl::Span<const CameraTracks> cameras, bool is_edit,
                                const std::vector<Warning>& warnings);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_REPLY_H_
