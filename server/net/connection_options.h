// Keepalive and lifetime of connections.
#ifndef GLINT_SERVER_NET_CONNECTION_OPTIONS_H_
#define GLINT_SERVER_NET_CONNECTION_OPTIONS_H_

#include "absl/time/time.h"

namespace glint {

struct ConnectionOptions {
  // A ping is sent after `keepalive_time` without a byte from the peer and must be answered within
  // `keepalive_timeout`. The sum is the longest time for which a vanished client keeps its resources. 1s..24h each.
  absl::Duration keepalive_time = absl::Seconds(30);
  absl::Duration keepalive_timeout = absl::Seconds(10);
  // Connections without calls are closed after `idle_timeout`. After `max_age` (plus or minus 10 %) clients are asked
  // to reconnect, and calls that have not ended `age_grace` later are cancelled. 1s..24h, or infinite.
  absl::Duration idle_timeout = absl::Minutes(5);
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration age_grace = absl::InfiniteDuration();
  // Connections at the same time, TLS handshakes that have begun among them, and of these those of one peer
  // (server/net/connections.h), 0: three quarters. 1..kMaxConnectionsCeiling, 0..kMaxConnectionsCeiling.
  int max_connections = 512;
  int max_connections_per_peer = 0;

  int connections_per_peer() const {
    return max_connections_per_peer > 0 ? max_connections_per_peer : max_connections - max_connections / 4;
  }
};

inline constexpr int kMaxConnectionsCeiling = 1 << 16;

}  // namespace glint

#endif  // GLINT_SERVER_NET_CONNECTION_OPTIONS_H_
