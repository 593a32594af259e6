// What gRPC logs, as lines of the server's log. gRPC itself would write them to standard error, in a format of its own,
// without a limit, and wait for the reader: a client can cause one with every call.
#ifndef GLINT_SERVER_BASE_GRPC_LOG_H_
#define GLINT_SERVER_BASE_GRPC_LOG_H_

#include "server/base/log.h"

namespace glint {

// From now on gRPC logs to `logger`, within its limit for one reason, "grpc". `logger` must live until the next call;
// null: to standard error again. For the whole process. GRPC_VERBOSITY says what is logged (default: errors).
void SendGrpcLogTo(Logger* logger);

}  // namespace glint

#endif  // GLINT_SERVER_BASE_GRPC_LOG_H_
