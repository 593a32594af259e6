// Status and timings of replies, which all operations share. Thread-safe.
#ifndef GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_
#define GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "features/warning.h"
#include "glint/v1/envelope.pb.h"

namespace glint {

// Field numbers that all responses share; rpc/ writes these fields. Responses of unary calls have timings alone.
inline constexpr uint32_t kFrameIdField = 1, kStatusField = 2, kTimingsField = 3;

constexpr bool AreEnvelopeFields(uint32_t frame_id, uint32_t status, uint32_t timings) {
  return frame_id == kFrameIdField && status == kStatusField && timings == kTimingsField;
}
// True if the stream's response has them.
template <typename Response>
constexpr bool kHasEnvelope = AreEnvelopeFields(Response::kFrameIdFieldNumber, Response::kStatusFieldNumber,
                                                Response::kTimingsFieldNumber);

// A response with `timings`, and nothing else.
grpc::Slice SerializeTimings(const v1::Timings& timings);

// The serialized repeated field of glint.v1.Warning with that number; empty, without an allocation, if there are none.
std::string SerializeWarnings(int field, const std::vector<Warning>& warnings);

// Serializes `message` into memory of its own.
grpc::Slice ToSlice(const google::protobuf::MessageLite& message);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_ENVELOPE_REPLY_H_
