// What the replies of all operations have: status and timings. Thread-safe.
#ifndef GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_
#define GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>

#include "glint/v1/feature_detection.pb.h"

namespace glint {

// True if the stream's response has frame_id, status and timings where DetectStream's has them: rpc/ writes those
// alone.
template <typename Response>
constexpr bool kHasEnvelope =
    static_cast<int>(Response::kFrameIdFieldNumber) ==
    v1::DetectStreamResponse::kFrameIdFieldNumber&& static_cast<int>(Response::kStatusFieldNumber) ==
    v1::DetectStreamResponse::kStatusFieldNumber&& static_cast<int>(
        Response::kTimingsFieldNumber) == v1::DetectStreamResponse::kTimingsFieldNumber;

// A message whose field `field` is `timings`, and nothing else.
grpc::Slice SerializeTimings(uint32_t field, const v1::Timings& timings);

// Serializes `message` into memory of its own.
grpc::Slice ToSlice(const google::protobuf::MessageLite& message);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_
