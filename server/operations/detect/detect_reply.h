// The replies of detection but for status and timings, serialized straight into memory of the exact size: the bytes
// that the generated classes would write. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "features/types.h"

namespace glint {

// A glint.v1.DetectStreamResponse with frame_id and features; of frame 0 it is a glint.v1.DetectResponse, too.
grpc::Slice SerializeDetectReply(uint64_t frame_id, const Features& features);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_
