// Extracts the credentials of a call.
#ifndef GLINT_SERVER_RPC_CREDENTIALS_H_
#define GLINT_SERVER_RPC_CREDENTIALS_H_

#include <grpcpp/server_context.h>

#include "server/access/access_rules.h"

namespace glint {

// Of a call that has arrived and has not been deleted. The users of unix sockets are known where the server accepts
// their connections itself (UnixListener).
Credentials CredentialsOf(const grpc::ServerContext& context);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CREDENTIALS_H_
