#!/usr/bin/env bash
# Checks the wire contract with buf: lint, and no breaking change since the last release tag (v*).
set -euo pipefail
cd "$(dirname "$0")"
root=$(git rev-parse --show-toplevel)

npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
buf=$PWD/node_modules/.bin/buf

"$buf" lint "$root/proto"
"$buf" build "$root/proto" -o /dev/null
if tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
  echo "breaking changes since $tag:"
  "$buf" breaking "$root/proto" --against "$root/.git#tag=$tag,subdir=proto"
  echo none
else
  echo "no release tag v* yet: nothing to compare with for breaking changes"
fi
