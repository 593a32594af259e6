// The replies of Match and MatchStream but for status and timings, serialized straight into memory of the exact
// size. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "server/operations/match/match_work.h"

namespace glint {

// A MatchResponse of a task that was done.
grpc::Slice SerializeMatchReply(const MatchTask& task);
// A MatchStreamResponse.
grpc::Slice SerializeMatchStreamReply(uint64_t frame_id, const MatchTask& task);
// A MatchStreamResponse to an edit.
grpc::Slice SerializeEditReply(uint64_t frame_id, int set_size);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
