#!/usr/bin/env bash
# The version of this source tree, on standard output. Status 1 and a reason if its files disagree with each other or
# with the tag.
#
#   scripts/version.sh             at a commit with a tag vX.Y.Z: X.Y.Z; else X.Y.Z~N.gHASH, N commits after the last tag
#   scripts/version.sh --release   the first alone
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "version.sh: $*" >&2 && exit 1; }

release=0
case ${1-} in
  '') ;;
  --release) release=1 ;;
  -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 0 ;;
  *) echo "version.sh: $1: unknown; see --help" >&2 && exit 2 ;;
esac

written=$(sed -n 's/^project(glint VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
python=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/glint/__init__.py)
[[ -n $written && $written == "$python" ]] ||
  fail "CMakeLists.txt says ${written:-nothing}, python/glint/__init__.py ${python:-nothing}"

if tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null); then
  [[ $tag == "v$written" ]] || fail "the tag is $tag, but CMakeLists.txt says $written"
  grep -q "^## $written\b" CHANGELOG.md || fail "CHANGELOG.md has no section \"## $written\""
  echo "$written"
elif [[ $release -eq 1 ]]; then
  fail "no tag v$written at this commit"
else
  last=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || last=
  echo "$written~$(git rev-list --count ${last:+"$last.."}HEAD).g$(git rev-parse --short=9 HEAD)"
fi
