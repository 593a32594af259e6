// Extracts the credentials of a call.
#ifndef GLINT_SERVER_RPC_CREDENTIALS_H_
#define GLINT_SERVER_RPC_CREDENTIALS_H_

#include <grpcpp/server_context.h>

#include "server/access/access_rules.h"

namespace glint {

// Credentials of a call that has arrived and has not been deleted. Users of unix sockets are known only where the
// server accepts the connections itself (UnixListener).
Credentials CredentialsOf(const grpc::ServerContext& context);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CREDENTIALS_H_
