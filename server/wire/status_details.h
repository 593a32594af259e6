// Machine-readable error details: ErrorInfo and RetryInfo of google.rpc
// (https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto), in the trailer
// "grpc-status-details-bin". Thread-safe.
#ifndef GLINT_SERVER_WIRE_STATUS_DETAILS_H_
#define GLINT_SERVER_WIRE_STATUS_DETAILS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "features/error.h"
#include "glint/v1/envelope.pb.h"

namespace glint {

// Adds RetryInfo to `status`, which is not OK.
absl::Status WithRetryAfter(absl::Status status, int64_t retry_after_ns);

void ToProto(const ErrorInfo& info, v1::ErrorInfo* proto);

// The serialized google.rpc.Status of a status with ErrorInfo or RetryInfo; empty if it has neither.
std::string SerializeStatusDetails(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_STATUS_DETAILS_H_
