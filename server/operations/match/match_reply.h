// Serializer of the replies of Match and MatchStream, without status and timings, into memory of the exact size.
// Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <vector>

#include "features/warning.h"
#include "server/operations/match/match_work.h"

namespace glint {

// A MatchStreamResponse with the results of `task` and the warnings; with `frame_id` 0 it is also a MatchResponse.
grpc::Slice SerializeMatchReply(uint64_t frame_id, const MatchTask& task, const std::vector<Warning>& warnings);
// A MatchStreamResponse to an edit; `descriptors` is the set's new size.
grpc::Slice SerializeSetReply(uint64_t frame_id, int descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_REPLY_H_
