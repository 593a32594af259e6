// How a server of Glint's uses gRPC, apart from what it serves: the service and the bare echo server that `glint bench`
// compares it with have this in common.
#ifndef GLINT_SERVER_NET_TRANSPORT_H_
#define GLINT_SERVER_NET_TRANSPORT_H_

#include <grpcpp/server_builder.h>

#include "server/net/connection_options.h"

namespace glint {

// Each thread that waits for calls is woken by their sockets itself (poll). By default one thread of the process waits
// for all sockets (epoll1), passes that on to another with each event, and wakes the one whose call it is: two threads
// woken for each message. GRPC_POLL_STRATEGY, if set, stays. Before gRPC is used and other threads run.
void ChoosePolling();

// Ports are not shared with another process, what `connections` says, and the limit for messages, in and out.
void ConfigureTransport(int max_message_bytes, grpc::ServerBuilder* builder, const ConnectionOptions& connections = {});

// How many completion queues to have, with a thread each.
unsigned CompletionThreads();

}  // namespace glint

#endif  // GLINT_SERVER_NET_TRANSPORT_H_
