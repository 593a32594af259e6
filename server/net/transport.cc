#include "server/net/transport.h"

#include <grpc/grpc.h>
#include <stdlib.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "features/system_limits.h"

namespace glint {
namespace {

// Few threads suffice: one parses about as fast as a lane detects small frames.
constexpr int kMinThreads = 2;
constexpr int kMaxThreads = 8;
constexpr int kProcessorsPerThread = 4;
// Time after which a connection without HTTP/2 (and TLS) handshake is closed.
constexpr int kHandshakeTimeoutMs = 20000;
// Minimum interval of client pings, with or without calls.
constexpr int kMinPingIntervalMs = 5000;

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(
      std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT_MAX));  // which gRPC takes for infinite
}

}  // namespace

void ChoosePolling(int max_connections) {
  setenv("GRPC_POLL_STRATEGY", max_connections > kMostPolled ? "epoll1" : "poll", 0);
}

void ConfigureTransport(int max_message_bytes, grpc::ServerBuilder* builder, const ConnectionOptions& connections) {
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // else two servers share a port and no one notices
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(connections.idle_timeout));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, Milliseconds(connections.max_age));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, Milliseconds(connections.age_grace));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(connections.keepalive_time));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(connections.keepalive_timeout));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder->SetMaxReceiveMessageSize(max_message_bytes);
  builder->SetMaxSendMessageSize(max_message_bytes);
}

unsigned CompletionThreads() {
  return static_cast<unsigned>(
      std::clamp(FindUsableProcessors().count / kProcessorsPerThread, kMinThreads, kMaxThreads));
}

}  // namespace glint
