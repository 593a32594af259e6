#!/usr/bin/env bash
# interop_test.sh FOLDER GLINT-SERVER GLINT
# Installs the packages of the Node.js client into FOLDER and runs it against a server of its own.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
folder=$1 glint_server=$2 glint=$3

skip() {
  echo "GLINT_SKIP_ALL: $*"
  exit 0
}
for tool in node npm; do
  command -v "$tool" >/dev/null || skip "$tool is not here (apt-get install nodejs npm)"
done
mkdir -p "$folder"
cp "$source"/{package.json,package-lock.json,.npmrc,reflection.js,interop_test.js} "$folder"
cd "$folder"
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --ignore-scripts --loglevel=error >npm.log 2>&1 || skip "npm cannot install the client: $(tail -n 1 npm.log)"
  cp package-lock.json node_modules/.installed
fi

work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
address=unix:$work/socket
"$glint_server" --listen "$address" --metrics-listen= --backend cpu --lanes 1 &
server=$!
"$glint" health --server "$address" --wait 60 --timeout 1
node interop_test.js "$address" "$glint"
kill -TERM "$server"
wait "$server"
server=
