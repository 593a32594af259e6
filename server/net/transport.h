// gRPC settings that the service shares with the bare echo server that `glint bench` compares it with.
#ifndef GLINT_SERVER_NET_TRANSPORT_H_
#define GLINT_SERVER_NET_TRANSPORT_H_

#include <grpcpp/server_builder.h>

#include "server/net/connection_options.h"

namespace glint {

// Selects gRPC's polling engine. For up to kMostPolled connections `poll`: each completion thread is woken by its own
// sockets, and looks at all of them whenever it waits. For more gRPC's default, epoll1, where what is idle costs
// nothing: one thread of the process waits for all sockets, hands the poller role to another with each event, and wakes
// the thread whose call it is: two wake-ups per message. GRPC_POLL_STRATEGY, if set, takes precedence. Call before gRPC
// is used and other threads run.
inline constexpr int kMostPolled = 1024;
void ChoosePolling(int max_connections);

// Sets exclusive ports, `connections`, and the size limit of messages, in and out.
void ConfigureTransport(int max_message_bytes, grpc::ServerBuilder* builder, const ConnectionOptions& connections = {});

// Number of completion queues, each with one thread.
unsigned CompletionThreads();

}  // namespace glint

#endif  // GLINT_SERVER_NET_TRANSPORT_H_
