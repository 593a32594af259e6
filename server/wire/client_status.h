// What a client is told of an error. Thread-safe.
#ifndef GLINT_SERVER_WIRE_CLIENT_STATUS_H_
#define GLINT_SERVER_WIRE_CLIENT_STATUS_H_

#include "absl/status/status.h"
#include "server/config/options.h"

namespace glint {

// `status` as it is, unless the server is in its client's process (options.in_process), whose user has no flags of a
// server: what the user can do there then stands in place of the flag that sets a limit, and the ErrorInfo has no flag.
// Where nothing can be done there, the text says that the flag is a glint-server's. Sides that no server takes get
// advice, too.
absl::Status ForClient(const absl::Status& status, const ServerOptions& options);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CLIENT_STATUS_H_
