// How long connections live, and how a dead one is noticed.
#ifndef GLINT_SERVER_CONNECTION_OPTIONS_H_
#define GLINT_SERVER_CONNECTION_OPTIONS_H_

#include "absl/time/time.h"

namespace glint {

struct ConnectionOptions {
  // A ping after so long without a byte from the peer, which must be answered within `keepalive_timeout`: the sum of
  // both is how long a client whose machine vanished keeps what it has. 1s..24h each.
  absl::Duration keepalive_time = absl::Seconds(30);
  absl::Duration keepalive_timeout = absl::Seconds(10);
  // Connections without calls are closed after `idle_timeout`; each asks its client to make another one after `max_age`
  // (give or take a tenth), and cuts off what has not ended `age_grace` later. 1s..24h, or infinite: never.
  absl::Duration idle_timeout = absl::Minutes(5);
  absl::Duration max_age = absl::InfiniteDuration();
  absl::Duration age_grace = absl::InfiniteDuration();
};

}  // namespace glint

#endif  // GLINT_SERVER_CONNECTION_OPTIONS_H_
