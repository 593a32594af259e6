#!/usr/bin/env bash
# Compiles the CPU backend for AArch64 and runs its tests, and the reference's, under QEMU's user-mode emulation. For
# x86-64 machines with Debian 12 or Ubuntu 24.04; as root or with sudo if the cross compiler or QEMU has to be installed.
#
#   tools/test-aarch64.sh [CTEST-ARGUMENT...]
#
# The libraries for AArch64 are the distribution's, unpacked below build/aarch64. The machine's packages and list of
# architectures are not changed. On Ubuntu, GLINT_ARM64_MIRROR names the mirror that has them. scripts/cross-arm64.sh builds
# the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$PWD/build/aarch64
sysroot=$build/sysroot
triplet=aarch64-linux-gnu
jobs=$(nproc)

if ! command -v $triplet-g++ >/dev/null || ! command -v qemu-aarch64 >/dev/null; then
  as_root=
  [[ $(id -u) -eq 0 ]] || as_root=sudo
  $as_root apt-get install --yes --no-install-recommends g++-$triplet qemu-user
fi

scripts/aarch64/sysroot.sh "$sysroot" libabsl-dev libhwy-dev libgtest-dev libgmock-dev libc6-dev libstdc++6

cmake -S scripts/aarch64 -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=RelWithDebInfo \
  -D CMAKE_TOOLCHAIN_FILE="$PWD/scripts/aarch64/toolchain.cmake" -D GLINT_SYSROOT="$sysroot"
cmake --build "$build" --parallel "$jobs"
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" "$@"
