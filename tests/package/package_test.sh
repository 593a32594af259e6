#!/usr/bin/env bash
# package_test.sh CMAKE BUILD-FOLDER OUTSIDE-PROJECT QUICKSTART.cc
# Installs a build, builds a project that knows only the installed package and its component for OpenCV, and runs both
# of its programs against the installed server.
set -euo pipefail
cmake=$1 build=$2 outside=$3 quickstart=$4

work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
cp -r "$outside" "$work/outside"
cp "$quickstart" "$work/outside/quickstart.cc"
"$cmake" -S "$work/outside" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug
"$cmake" --build "$work/build"

socket=unix:$work/socket
"$work/prefix/bin/glint-server" --listen "$socket" --metrics-listen= --backend cpu --lanes 1 &
server=$!
"$work/prefix/bin/glint" health --server "$socket" --wait 60 --timeout 1

"$work/build/quickstart" "$socket" | tee "$work/output"
grep -qE '^checkerboard: [1-9][0-9]* keypoints' "$work/output"

# Where Glint was built with OpenCV, its component is installed and found.
if [[ -e $work/prefix/include/glint/client/opencv/orb_extractor.h ]]; then
  "$work/build/slam" "$socket" | tee "$work/output"
  grep -qE '^slam: [1-9][0-9]* keypoints in process' "$work/output"
fi

kill -TERM "$server"
wait "$server"
server=
echo "the outside project found, built and ran"
