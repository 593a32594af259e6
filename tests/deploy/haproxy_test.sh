#!/usr/bin/env bash
# HAProxy accepts the delivered configuration, without a warning.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. tests/deploy/skip.sh
PATH=$PATH:/usr/sbin need haproxy

output=$(LISTEN=127.0.0.1:50051 STATS=127.0.0.1:8404 SERVER1=127.0.0.1:50061 SERVER2=127.0.0.1:50062 \
  SERVER3=127.0.0.1:50063 METRICS_PORT=9464 PATH=$PATH:/usr/sbin haproxy -c -f deploy/haproxy/haproxy.cfg 2>&1)
echo "$output"
! grep -qi warning <<<"$output"
