// How a server of Glint's uses gRPC, apart from what it serves: the service and the bare echo server that `glint bench`
// compares it with have this in common.
#ifndef GLINT_SERVER_RPC_TRANSPORT_H_
#define GLINT_SERVER_RPC_TRANSPORT_H_

#include <grpcpp/server_builder.h>

namespace glint {

// Ports are not shared with another process, keepalive in both directions, and the limit for messages, in and out.
void ConfigureTransport(int max_message_bytes, grpc::ServerBuilder* builder);

// How many completion queues to have, with a thread each.
unsigned CompletionThreads();

}  // namespace glint

#endif  // GLINT_SERVER_RPC_TRANSPORT_H_
