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
};

}  // namespace glint

#endif  // GLINT_SERVER_NET_CONNECTION_OPTIONS_H_
