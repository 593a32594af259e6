#!/usr/bin/env bash
# Installs missing packages through apt. Debian 12 and Ubuntu 24.04; as root or with sudo.
#
#   scripts/setup.sh [GROUP...]             default: build test
#   scripts/setup.sh --group-of NAME        prints the group that brings a package or command, if one does
#
#   build  compilers and libraries of the server, the client and the benchmarks
#   test   additional packages for the tests
#   ros2   Fast DDS, for glint-ros2; without it everything else is built
#   video  FFmpeg, with which glint decodes videos (or GStreamer; the group ci has it)
#   ci     linters, Go and its gRPC for the client in another language, Prometheus and an AArch64 cross compiler and
#          emulator; tests that need one of these skip without it. Note that Debian's packages prometheus, haproxy and
#          nginx start a service.
#   containers  podman with what it needs, for the tests of containers
#   python   what scripts/package-python.sh makes the Python packages with
#   release  build, python and ros2, the AArch64 cross compiler and emulator, and what packages are made with
#   view   Chromium, for the tests of the live view's page and for tools/make-screenshots.sh
#   sanitize  Clang and its runtime, for the presets asan and tsan and for tools/fuzz.sh
#
# Prints nothing and returns at once if all packages are installed.
set -euo pipefail

# "package", or "package:command" if any other source of that command is accepted.
group_packages() {
  case $1 in
    build)
      echo build-essential:g++ cmake:cmake ninja-build:ninja git:git ccache:ccache pkg-config:pkg-config \
        libabsl-dev libgrpc++-dev libgrpc-dev libprotobuf-dev protobuf-compiler:protoc \
        protobuf-compiler-grpc:grpc_cpp_plugin prometheus-cpp-dev libeigen3-dev libhwy-dev libopencv-dev libjpeg-dev \
        libspng-dev libyaml-cpp-dev libpugixml-dev liblz4-dev libzstd-dev libbz2-dev libsqlite3-dev libbenchmark-dev
      ;;
    test)
      echo libgtest-dev libgmock-dev libceres-dev zlib1g-dev mold:mold python3:python3 procps:ps \
        python3-grpcio python3-protobuf python3-numpy python3-setuptools python3-wheel ffmpeg:ffmpeg
      ;;
    ros2)
      echo libfastrtps-dev
      ;;
    video)
      echo ffmpeg:ffmpeg
      ;;
    ci)
      group_packages ros2
      echo clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck python3-venv \
        golang-go:go golang-google-grpc-dev golang-google-protobuf-dev \
        prometheus:prometheus prometheus:promtool curl:curl valgrind:valgrind haproxy:haproxy nginx:nginx iproute2:ip \
        systemd:systemd-analyze openssl:openssl python3-yaml python3-opencv python3-h5py python3-distributed \
        g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64 patchelf:patchelf \
        gstreamer1.0-tools:gst-launch-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad \
        gstreamer1.0-libav cyclonedds-dev cyclonedds-tools:idlc
      ;;
    containers)
      echo podman:podman runc:runc conmon:conmon catatonit netavark aardvark-dns iptables:iptables \
        podman-compose:podman-compose prometheus:prometheus haproxy:haproxy iproute2:ip python3-yaml
      ;;
    python)
      echo protobuf-compiler:protoc python3:python3 python3-setuptools python3-wheel
      ;;
    release)
      group_packages build && group_packages python && group_packages ros2
      echo g++-aarch64-linux-gnu:aarch64-linux-gnu-g++ qemu-user:qemu-aarch64 patchelf:patchelf python3-pip
      ;;
    view)
      echo chromium:chromium
      ;;
    sanitize)
      echo clang:clang++ libclang-rt-dev
      ;;
    *)
      echo "setup.sh: $1: not one of build, test, ros2, video, ci, containers, python, release, view, sanitize" >&2
      return 1
      ;;
  esac
}

installed() {
  local package=${1%%:*} command=${1#*:}
  if [[ $1 == *:* ]] && command -v "$command" >/dev/null; then return 0; fi
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]]
}

if [[ ${1-} == --group-of ]]; then
  for group in build test ros2 video ci containers view sanitize; do
    packages=$(group_packages "$group")
    for item in $packages; do
      [[ ${2:?} != "${item%%:*}" && $2 != "${item#*:}" ]] || { echo "$group" && exit; }
    done
  done
  exit
fi

[[ $# -gt 0 ]] || set -- build test
wanted=()
for group in "$@"; do
  packages=$(group_packages "$group")
  mapfile -t list < <(tr ' ' '\n' <<<"$packages")
  wanted+=("${list[@]}")
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt here; these packages (Debian's names) must be there already: ${wanted[*]%%:*}" >&2
  exit 0
fi

missing=()
for item in "${wanted[@]}"; do
  installed "$item" || missing+=("${item%%:*}")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: neither root nor sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
  [[ -t 0 ]] || as_root+=(-n)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null
}

echo "setup.sh: installing ${missing[*]}"
apt update || { sleep 5 && apt update; }
apt install -y --no-install-recommends "${missing[@]}"
