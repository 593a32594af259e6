// The replies of Match and MatchStream but for status and timings, serialized straight into memory of the exact
// size. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "server/operations/match/match_work.h"

namespace glint {

// A MatchStreamResponse of a task that was done; with `frame_id` 0 a MatchResponse, too.
grpc::Slice SerializeMatchReply(uint64_t frame_id, const MatchTask& task);
// A MatchStreamResponse to an edit, after which the set has so many descriptors.
grpc::Slice SerializeSetReply(uint64_t frame_id, int descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
