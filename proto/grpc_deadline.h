// Deadlines for gRPC that setting the time of day does not change. A time_point of the system's clock would: gRPC makes
// a duration of it by a clock that has been set, while absl::Now() may go on for two seconds from before it was.
#ifndef GLINT_PROTO_GRPC_DEADLINE_H_
#define GLINT_PROTO_GRPC_DEADLINE_H_

#include <grpc/support/time.h>

#include "absl/time/time.h"

namespace glint {

// `after` from now; 292 years at most.
inline gpr_timespec GrpcDeadline(absl::Duration after) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(absl::ToInt64Nanoseconds(after), GPR_TIMESPAN));
}

}  // namespace glint

#endif  // GLINT_PROTO_GRPC_DEADLINE_H_
