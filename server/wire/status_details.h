// Retry hints in a status: google.rpc.RetryInfo
// (https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto), sent in the trailer
// "grpc-status-details-bin".
#ifndef GLINT_SERVER_WIRE_RETRY_H_
#define GLINT_SERVER_WIRE_RETRY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace glint {

// `status`, which is not OK, with that hint.
absl::Status WithRetryAfter(absl::Status status, int64_t retry_after_ns);

// The serialized google.rpc.Status of a status with such a hint; empty if it has none.
std::string RetryDetails(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_RETRY_H_
