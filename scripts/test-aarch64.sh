#!/usr/bin/env bash
# Compiles the CPU backend for AArch64 and runs its tests, and the reference's, under QEMU's user-mode emulation. For
# x86-64 machines with Debian 12 or Ubuntu 24.04; as root or with sudo if the cross compiler or QEMU has to be installed.
#
#   scripts/test-aarch64.sh [CTEST-ARGUMENT...]
#
# The libraries for AArch64 are the distribution's, unpacked below build/aarch64. The machine's packages and list of
# architectures are not changed. On Ubuntu, GLINT_ARM64_MIRROR names the mirror that has them.
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

# shellcheck source=/dev/null
distribution=$(. /etc/os-release && echo "$ID $VERSION_CODENAME")
case $distribution in
  "debian bookworm") runtime="libabsl20220623 libhwy1" ;;
  "ubuntu noble") runtime="libabsl20220623t64 libhwy1t64" ;;
  *)
    echo "test-aarch64.sh: $distribution: not one of debian bookworm, ubuntu noble" >&2
    exit 1
    ;;
esac

if [[ ! -e $sysroot/complete ]]; then
  rm -rf "$sysroot" && mkdir -p "$sysroot/lists/partial" "$sysroot/packages"
  apt=(apt-get --quiet -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$sysroot/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=)
  if [[ $distribution == ubuntu* ]]; then
    # Ubuntu has separate mirrors for architectures other than x86, which x86 machines do not list.
    mirror=${GLINT_ARM64_MIRROR:?test-aarch64.sh: set GLINT_ARM64_MIRROR to the URL of an Ubuntu ports mirror}
    keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    for suite in noble noble-updates noble-security; do
      echo "deb [signed-by=$keys] $mirror $suite main universe"
    done >"$sysroot/sources.list"
    apt+=(-o Dir::Etc::sourcelist="$sysroot/sources.list" -o Dir::Etc::sourceparts=-)
  fi
  "${apt[@]}" update
  # shellcheck disable=SC2086  # a list of words
  (cd "$sysroot/packages" && "${apt[@]}" download libabsl-dev libhwy-dev libgtest-dev libgmock-dev $runtime)
  for package in "$sysroot"/packages/*.deb; do dpkg-deb --extract "$package" "$sysroot"; done
  touch "$sysroot/complete"
fi

cmake -S scripts/aarch64 -B "$build" -G Ninja \
  -D CMAKE_BUILD_TYPE=RelWithDebInfo -D CMAKE_SYSTEM_NAME=Linux -D CMAKE_SYSTEM_PROCESSOR=aarch64 \
  -D CMAKE_CXX_COMPILER=$triplet-g++ -D CMAKE_LIBRARY_ARCHITECTURE=$triplet \
  -D CMAKE_FIND_ROOT_PATH="$sysroot/usr" -D CMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY \
  -D CMAKE_EXE_LINKER_FLAGS="-Wl,-rpath-link,$sysroot/usr/lib/$triplet" \
  -D CMAKE_CROSSCOMPILING_EMULATOR="qemu-aarch64;-L;/usr/$triplet;-E;LD_LIBRARY_PATH=$sysroot/usr/lib/$triplet"
cmake --build "$build" --parallel "$jobs"
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" "$@"
