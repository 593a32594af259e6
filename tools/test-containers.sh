#!/usr/bin/env bash
# Runs what is delivered for containers by podman: the image alone, the Compose file with Prometheus, the Deployment of
# Kubernetes, and three containers behind HAProxy, one of which is killed and one drained.
#
#   tools/test-containers.sh [BUILD-FOLDER] [alone|compose|kube|fleet]...     default: build/dev, all four
#
# The image has the programs of BUILD-FOLDER and the settings of docker/Dockerfile; tools/test-image.sh builds the
# Dockerfile itself. Needs root and what `scripts/setup.sh containers` installs. CTest runs two of the parts.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
esac
build=${1:-build/dev}
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/deploy/containers_test.py "$build/server/glint-server" \
  "$build/client/glint" "$build/tests/deploy/fleet_client" "${@:2}"
