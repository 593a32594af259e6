#include "server/rpc/transport.h"

#include <grpc/grpc.h>
#include <stdlib.h>

#include <algorithm>
#include <thread>

namespace glint {
namespace {

// A thread parses about as fast as a lane detects small frames; few suffice.
constexpr unsigned kMinThreads = 2;
constexpr unsigned kMaxThreads = 8;
constexpr unsigned kProcessorsPerThread = 4;
// A client whose machine vanished is noticed after the sum of these.
constexpr int kKeepaliveMs = 30000;
constexpr int kKeepaliveTimeoutMs = 10000;
// Clients may ping as often as this, with or without calls.
constexpr int kMinPingIntervalMs = 5000;

}  // namespace

void ChoosePolling() { setenv("GRPC_POLL_STRATEGY", "poll", 0); }

void ConfigureTransport(int max_message_bytes, grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // else two servers share a port and no one notices
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder->SetMaxReceiveMessageSize(max_message_bytes);
  builder->SetMaxSendMessageSize(max_message_bytes);
}

unsigned CompletionThreads() {
  return std::clamp(std::thread::hardware_concurrency() / kProcessorsPerThread, kMinThreads, kMaxThreads);
}

}  // namespace glint
