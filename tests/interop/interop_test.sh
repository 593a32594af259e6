#!/usr/bin/env bash
# interop_test.sh FOLDER GLINT-SERVER GLINT
# Compiles the Go client into FOLDER, from the distribution's packages alone, and runs it against a server of its own.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) glint_server=$(realpath "$2") glint=$(realpath "$3")

skip() {
  echo "GLINT_SKIP_ALL: $* (apt-get install golang-go golang-google-grpc-dev golang-google-protobuf-dev)"
  exit 0
}
packages=/usr/share/gocode
command -v go >/dev/null || skip 'Go is not here'
[[ -e $packages/src/google.golang.org/grpc/clientconn.go ]] || skip 'gRPC for Go is not here'
[[ -e $packages/src/google.golang.org/protobuf/types/dynamicpb/dynamic.go ]] || skip 'protobuf for Go is not here'

# Nothing of the user's own setting, and no network.
(cd "$source" && env GO111MODULE=off GOENV=off GOFLAGS='' GOTOOLCHAIN=local GOPATH="$packages" \
  GOCACHE="$folder/go-cache" go build -buildvcs=false -o "$folder/interop" .)

work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
address=unix:$work/socket
"$glint_server" --listen "$address" --metrics-listen= --backend cpu --lanes 1 --max-features 65536 &
server=$!
"$glint" health --server "$address" --wait 60 --timeout 1
TMPDIR=$work "$folder/interop" "$address" "$glint"
kill -TERM "$server"
wait "$server"
server=
