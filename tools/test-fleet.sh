#!/usr/bin/env bash
# Three servers under load, behind HAProxy and then balanced by gRPC's clients: one is killed, one drained, all restarted
# in turn. No frame may be lost, and the load must be even within 20 %. Prints latencies of each event.
#
#   tools/test-fleet.sh [BUILD-FOLDER] [haproxy|grpc]     default: build/dev, both
#
# Needs root, iproute2 and haproxy. Takes about 90 seconds. CTest runs the same as fleet_test.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/dev}
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/deploy/fleet_test.py "$build/server/glint-server" "$build/client/glint" \
  "$build/tests/deploy/fleet_client" "${@:2}"
