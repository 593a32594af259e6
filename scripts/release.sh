#!/usr/bin/env bash
# Makes all files of a release from the commit that is checked out: sources, Debian packages, the Python wheel, the bill
# of materials, checksums.
#
#   scripts/release.sh [--output DIR] [--snapshot] [--sources-only] [--arm64] [--sign KEY] [-- CMAKE-OPTION...]
#
#   --output        default: build/release-files; must be empty
#   --snapshot      the commit needs no tag vX.Y.Z; names of files get its number and hash
#   --sources-only  without what has to be compiled: no package glint or glint-ros2, no bill of materials
#   --arm64         package glint for arm64 as well, by scripts/cross-arm64.sh, with CUDA if there is nvcc
#   --sign          a key of gpg that signs the checksums
#
# Everything is built from an export of the commit. Times in the files are the commit's. JOBS: compilers at the same time.
# TMPDIR has the room that they need, 2 GB. Needs what `scripts/setup.sh release` installs.
set -euo pipefail

output='' check=--release programs=1 arm64=0 key=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=$(realpath -m -- "${2:?}") && shift 2 ;;
    --snapshot) check='' && shift ;;
    --sources-only) programs=0 && shift ;;
    --arm64) arm64=1 && shift ;;
    --sign) key=${2:?} && shift 2 ;;
    --) shift && break ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "release.sh: $1: unknown; see --help" >&2 && exit 2 ;;
  esac
done
cd "$(dirname "$0")/.."
fail() { echo "release.sh: $*" >&2 && exit 1; }
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

version=$(scripts/version.sh ${check:+"$check"})
[[ -z $(git status --porcelain) ]] || fail 'the tree has changes that are not committed'
output=${output:-$PWD/build/release-files}
mkdir -p "$output"
[[ -z $(ls -A "$output") ]] || fail "$output: not empty"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

name=glint-$version
git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$output/$name.tar.gz"
say "sources of $version"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$output/$name.tar.gz"
tree=$work/$name
# Below the tree, as developers' builds are: their compiler cache knows the objects, whatever the version is.
build=$tree/build/release

"$tree/scripts/package-python.sh" --output "$output" >/dev/null
say 'Python packages'

options=("$@")
compile() {
  cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGLINT_PACKAGE=ON -DGLINT_BENCH=OFF \
    -DBUILD_TESTING=OFF -DGLINT_CUDA_ARCHS=ALL -DGLINT_PACKAGE_VERSION="$version" "${options[@]}" || return
  cmake --build "$build" ${JOBS:+--parallel "$JOBS"} --target glint-server glint glint_manual_pages || return
  (cd "$build" && cpack)
}
if [[ $programs -eq 1 ]]; then
  compile >"$work/log" 2>&1 || { tail -50 "$work/log" >&2 && fail 'package glint cannot be made'; }
  mv "$build"/*.deb "$output"
  programs_made=(glint-server glint)
  if [[ -e $build/ros2/glint-ros2 ]]; then programs_made+=(glint-ros2); fi
  say "packages of ${programs_made[*]}"
  "$tree/scripts/sbom.py" "$build" "${programs_made[@]}" >"$output/$name.spdx.json"
  say 'bill of materials'
fi
if [[ $arm64 -eq 1 ]]; then
  cuda=()
  command -v nvcc /usr/local/cuda/bin/nvcc >/dev/null || cuda=(--no-cuda)
  "$tree/scripts/cross-arm64.sh" --output "$output" --build "$tree/build/arm64" --sysroot "$PWD/build/arm64-sysroot" "${cuda[@]}" -- \
    -DGLINT_PACKAGE_VERSION="$version"
  say 'package glint for arm64'
fi

(cd "$output" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
[[ -z $key ]] || gpg --batch --local-user "$key" --armor --detach-sign "$output/SHA256SUMS"
say "in $output:"
ls "$output"
