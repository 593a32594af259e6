#!/usr/bin/env bash
# Makes the Debian package for arm64 on an x86-64 machine, with the CUDA kernels of Jetson boards, and runs what is in it
# under QEMU's user-mode emulation. For Debian 12 (whose package installs on Debian 13 and Ubuntu 24.04, too) or Ubuntu
# 24.04; as root or with sudo if the cross compiler, QEMU or patchelf has to be installed.
#
#   scripts/cross-arm64.sh [--output DIR] [--sysroot DIR] [--build DIR] [--native GLINT] [--no-cuda] [-- CMAKE-OPTION...]
#
#   --output   where glint_VERSION_arm64.deb goes; default: build/arm64
#   --sysroot  the distribution's libraries for arm64, downloaded if they are not there; default: build/arm64-sysroot
#   --build    default: build/arm64; an existing folder is continued
#   --native   a glint of this machine: the emulated one must find the same keypoints, to the byte
#   --no-cuda  the CPU backend alone. Otherwise nvcc of CUDA 13.0 is needed; its runtime for arm64 is downloaded (PyPI)
#
# JOBS in the environment: compilers at the same time. On Ubuntu, GLINT_ARM64_MIRROR names the mirror that has arm64.
# tools/test-aarch64.sh runs the tests of the backend, tools/test-deb.sh installs the package in an empty root.
set -euo pipefail

output='' sysroot='' build='' native='' cuda=1
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=$(realpath -m -- "${2:?}") && shift 2 ;;
    --sysroot) sysroot=$(realpath -m -- "${2:?}") && shift 2 ;;
    --build) build=$(realpath -m -- "${2:?}") && shift 2 ;;
    --native) native=$(realpath -- "${2:?}") && shift 2 ;;
    --no-cuda) cuda=0 && shift ;;
    --) shift && break ;;
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "cross-arm64.sh: $1: unknown; see --help" >&2 && exit 2 ;;
  esac
done
cd "$(dirname "$0")/.."
build=${build:-$PWD/build/arm64}
sysroot=${sysroot:-$PWD/build/arm64-sysroot}
output=${output:-$build}
say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "cross-arm64.sh: $*" >&2 && exit 1; }

missing=()
for tool in aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user patchelf:patchelf; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
if [[ ${#missing[@]} -gt 0 ]]; then
  as_root=()
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  "${as_root[@]}" apt-get install --yes --no-install-recommends "${missing[@]}"
fi
scripts/aarch64/sysroot.sh "$sysroot" >/dev/null
say 'libraries for arm64'
# Orin (87) and Thor (110), and PTX, from which the driver of any later GPU makes code.
backend=(-DGLINT_CUDA=OFF)
if [[ $cuda -eq 1 ]]; then
  scripts/aarch64/cuda.sh "$build-cuda"
  backend=(-DGLINT_CUDA=ON -DGLINT_CROSS_CUDA="$build-cuda" "-DGLINT_CUDA_ARCHS=87;110-real")
  say "CUDA's runtime for arm64"
fi

cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/scripts/aarch64/toolchain.cmake" \
  -DGLINT_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release -DGLINT_PACKAGE=ON -DGLINT_BENCH=OFF -DBUILD_TESTING=OFF \
  "${backend[@]}" "$@" >/dev/null
cmake --build "$build" ${JOBS:+--parallel "$JOBS"} --target glint-server glint glint_manual_pages >/dev/null
say 'compiled'
rm -rf "$build/packed" "$build/root"
cpack --config "$build/CPackConfig.cmake" -B "$build/packed" >/dev/null
deb=$(echo "$build"/packed/*.deb)
[[ $(dpkg-deb -f "$deb" Architecture) == arm64 ]] || fail "$deb: not for arm64"
dpkg-deb --extract "$deb" "$build/root"
mkdir -p "$output"
cp "$deb" "$output"
say "$(basename "$deb"), $(stat -c %s "$deb") bytes; $(dpkg-deb -f "$deb" Depends)"

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
[[ $cuda -eq 0 ]] || grep -o 'note=".*CUDA.*"' "$folder/log" || fail 'it does not say why it uses no GPU'
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
