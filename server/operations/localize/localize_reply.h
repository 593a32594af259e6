// The replies of glint.v1.Localization but for status and timings. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_REPLY_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "server/operations/localize/localize_work.h"

namespace glint {

// A LocalizeStreamResponse. It is small, and so is made by protobuf; what that takes is not counted as the frame
// path's.
grpc::Slice SerializeLocalizeReply(uint64_t frame_id, const LocalizeTask& task);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_REPLY_H_
