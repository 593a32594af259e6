#!/usr/bin/env bash
# release_test.sh SOURCE-FOLDER
# scripts/version.sh and scripts/release.sh --sources-only in a small repository with the sources of the Python package.
set -euo pipefail
source=$1

for tool in git protoc dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "GLINT_SKIP_ALL: $tool is not installed" && exit 0; }
done
for python in python3 /usr/bin/python3; do
  "$python" -c 'import setuptools, wheel' 2>/dev/null && break
done
"$python" -c 'import setuptools, wheel' 2>/dev/null ||
  { echo 'GLINT_SKIP_ALL: no python3 with setuptools and wheel' && exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "release_test.sh: $*" >&2 && exit 1; }
refused() {  # TEXT COMMAND...
  ! "${@:2}" >"$work/said" 2>&1 || fail "is not refused: ${*:2}"
  grep -qF -- "$1" "$work/said" || { cat "$work/said" && fail "it does not say: $1"; }
}

tree=$work/tree
mkdir -p "$tree/scripts"
cp "$source"/scripts/{version,release,package-python}.sh "$tree/scripts"
cp -r "$source"/{python,proto,LICENSE} "$tree"
echo 'build/' >"$tree/.gitignore"
echo 'project(glint VERSION 1.2.3 LANGUAGES CXX)' >"$tree/CMakeLists.txt"
printf '# Changelog\n\n## Unreleased\n' >"$tree/CHANGELOG.md"
cd "$tree"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init --quiet
commit() { git add -A && git -c user.name=test -c user.email=test@test.invalid commit --quiet -m "$1"; }

refused 'CMakeLists.txt says 1.2.3, python' scripts/version.sh
sed -i 's/^__version__ = .*/__version__ = "1.2.3"/' python/glint/__init__.py
commit one
hash=$(git rev-parse --short=9 HEAD)
[[ $(scripts/version.sh) == "1.2.3~1.g$hash" ]] || fail "not the version of a commit without a tag: $(scripts/version.sh)"
refused 'no tag v1.2.3' scripts/version.sh --release
refused 'no tag v1.2.3' scripts/release.sh --sources-only
git tag v1.2.4
refused 'the tag is v1.2.4, but CMakeLists.txt says 1.2.3' scripts/version.sh
git tag --delete v1.2.4 >/dev/null
git tag v1.2.3
refused 'has no section "## 1.2.3"' scripts/version.sh
git tag --delete v1.2.3 >/dev/null
sed -i 's/Unreleased/1.2.3/' CHANGELOG.md
commit two
git tag v1.2.3
[[ $(scripts/version.sh --release) == 1.2.3 ]] || fail 'not the version of the tag'

touch stray
refused 'not committed' scripts/release.sh --sources-only
rm stray
refused '--sing: unknown' scripts/release.sh --sing
for output in one two; do
  scripts/release.sh --sources-only --output "$work/$output" >"$work/said" 2>&1 ||
    { cat "$work/said" && fail 'no release is made'; }
  [[ $(cd "$work/$output" && echo *) == "SHA256SUMS glint-1.2.3-py3-none-any.whl glint-1.2.3.tar.gz \
python3-glint_1.2.3_all.deb" ]] || fail "other files: $(ls "$work/$output")"
  (cd "$work/$output" && sha256sum --quiet --check SHA256SUMS) || fail 'the checksums are wrong'
done
cmp "$work/one/glint-1.2.3.tar.gz" "$work/two/glint-1.2.3.tar.gz" || fail 'the sources differ from run to run'
tar -tf "$work/one/glint-1.2.3.tar.gz" >"$work/list"
grep -qx 'glint-1.2.3/python/glint/__init__.py' "$work/list" || fail 'sources are missing'
refused 'not empty' scripts/release.sh --sources-only --output "$work/one"

git -c user.name=test -c user.email=test@test.invalid commit --quiet --allow-empty -m three
[[ $(scripts/version.sh) == "1.2.3~1.g$(git rev-parse --short=9 HEAD)" ]] || fail 'the version after a tag is wrong'
echo 'versions and files of a release'
