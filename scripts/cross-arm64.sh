#!/usr/bin/env bash
# Makes the Debian package for arm64 on an x86-64 machine, and runs what is in it under QEMU's user-mode emulation. For
# Debian 12 or Ubuntu 24.04; as root or with sudo if the cross compiler or QEMU has to be installed.
#
#   scripts/cross-arm64.sh [--output DIR] [--sysroot DIR] [--build DIR] [--native GLINT] [-- CMAKE-OPTION...]
#
#   --output   where glint_VERSION_arm64.deb goes; default: build/arm64
#   --sysroot  the distribution's libraries for arm64, downloaded if they are not there; default: build/arm64-sysroot
#   --build    default: build/arm64; an existing folder is continued
#   --native   a glint of this machine: the emulated one must find the same keypoints, to the byte
#
# JOBS in the environment: compilers at the same time. The CPU backend alone, without CUDA. On Ubuntu, GLINT_ARM64_MIRROR
# names the mirror that has arm64. tools/test-aarch64.sh runs the tests of the backend.
set -euo pipefail

output='' sysroot='' build='' native=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=$(realpath -m -- "${2:?}") && shift 2 ;;
    --sysroot) sysroot=$(realpath -m -- "${2:?}") && shift 2 ;;
    --build) build=$(realpath -m -- "${2:?}") && shift 2 ;;
    --native) native=$(realpath -- "${2:?}") && shift 2 ;;
    --) shift && break ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "cross-arm64.sh: $1: unknown; see --help" >&2 && exit 2 ;;
  esac
done
cd "$(dirname "$0")/.."
build=${build:-$PWD/build/arm64}
sysroot=${sysroot:-$PWD/build/arm64-sysroot}
output=${output:-$build}
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "cross-arm64.sh: $*" >&2 && exit 1; }

if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
  as_root=()
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" apt-get install --yes --no-install-recommends g++-aarch64-linux-gnu qemu-user
fi
scripts/aarch64/sysroot.sh "$sysroot" >/dev/null
say 'libraries for arm64'

cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/scripts/aarch64/toolchain.cmake" \
  -DGLINT_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release -DGLINT_PACKAGE=ON -DGLINT_BENCH=OFF -DBUILD_TESTING=OFF \
  -DGLINT_CUDA=OFF "$@" >/dev/null
cmake --build "$build" ${JOBS:+--parallel "$JOBS"} --target glint-server glint glint_manual_pages >/dev/null
rm -rf "$build/packed" "$build/root"
DEB_HOST_ARCH=arm64 cpack --config "$build/CPackConfig.cmake" -B "$build/packed" >/dev/null
deb=$(echo "$build"/packed/*.deb)
[[ $(dpkg-deb -f "$deb" Architecture) == arm64 ]] || fail "$deb: not for arm64"
# A library whose package is not known would be missing here.
[[ $(dpkg-deb -f "$deb" Depends) == *libgrpc++* ]] || fail "$deb: Depends: $(dpkg-deb -f "$deb" Depends)"
dpkg-deb --extract "$deb" "$build/root"
mkdir -p "$output"
cp "$deb" "$output"
say "$(basename "$deb"), $(stat -c %s "$deb") bytes"

emulated() { qemu-aarch64 -L "$sysroot" "$@"; }
emulated "$build/root/usr/bin/glint-server" --version
folder=$(mktemp -d)
# Not by the function, whose process would be a shell.
qemu-aarch64 -L "$sysroot" "$build/root/usr/bin/glint-server" --listen "unix:$folder/socket" --metrics-listen= --lanes 1 \
  2>"$folder/log" &
server=$!
trap 'kill -KILL "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
glint=$build/root/usr/bin/glint
picture=docs/examples/wall.jpg
emulated "$glint" health --server "unix:$folder/socket" --wait 120 >/dev/null || { cat "$folder/log" && fail 'it does not serve'; }
emulated "$glint" detect --server "unix:$folder/socket" --format csv "$picture" >"$folder/arm64.csv" ||
  fail "glint detect: status $?"
[[ $(wc -l <"$folder/arm64.csv") -ge 100 ]] || fail 'no keypoints'
if [[ -n $native ]]; then
  "$native" detect --server inproc --format csv "$picture" >"$folder/native.csv"
  cmp "$folder/arm64.csv" "$folder/native.csv" || fail 'other keypoints than on this machine'
fi
python3 - "$folder" <<'PYTHON'
import sys
sys.path.insert(0, "tests/deploy")
sys.dont_write_bytecode = True
from stack import write_drive
write_drive(sys.argv[1], 6)
PYTHON
emulated "$glint" localize --server "unix:$folder/socket" --calibration "$folder/calib.txt" --format csv \
  "$folder/left*.png" "$folder/right*.png" >"$folder/path.csv" || fail "glint localize: status $?"
[[ $(grep -c ,TRACKING, "$folder/path.csv") -eq 6 ]] || { cat "$folder/path.csv" && fail 'the camera is not located'; }
kill -TERM "$server"
wait "$server" || fail "the server's exit status is $?"
say "a server and a client under QEMU: $(($(wc -l <"$folder/arm64.csv") - 1)) keypoints${native:+, those of this machine}"
say '6 stereo pairs located'
