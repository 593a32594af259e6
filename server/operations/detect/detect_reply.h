// Serializer of detection replies, without status and timings, into memory of the exact size; the bytes equal those of
// the generated classes. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <vector>

#include "features/types.h"
#include "features/warning.h"
#include "server/wire/rays.h"

namespace glint {

// A glint.v1.DetectStreamResponse with frame_id, features and warnings; with `frame_id` 0 it is also a
// glint.v1.DetectResponse. `rays` of the features may be null.
grpc::Slice SerializeDetectReply(uint64_t frame_id, const Features& features, const std::vector<Warning>& warnings,
                                 const Rays* rays = nullptr);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_REPLY_H_
