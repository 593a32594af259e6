#!/usr/bin/env bash
# Packs a tarball for any Linux of this machine's architecture with glibc 2.36 or newer. With an NVIDIA driver it also
# uses the GPU. Inside: bin/ (glint-server, glint, glint-microbench, glint-scene), tests/, the shared libraries that they
# need, run-tests.sh.
#
#   scripts/bundle.sh [--build DIR] [--no-build] [--cuda-archs LIST] [--output FILE]
#
#   --build       build tree; default: build/bundle, configured here: release, glint without pictures (info, health, bench)
#   --no-build    pack DIR as it is
#   --cuda-archs  as GLINT_CUDA_ARCHS; default: ALL
#   --output      default: build/glint-VERSION-ARCHITECTURE.tar.xz
#
# Needs patchelf and xz. Programs that use OpenCV's file or video codecs are left out and listed: the codecs' libraries
# are three times the size of everything else.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly max_bytes=$((60 * 1000 * 1000))
# Never packed: parts of the system (glibc) or of the driver.
readonly system='^(ld-linux.*|lib(c|m|mvec|pthread|dl|rt|resolv|util|anl|cuda|nvidia.*))\.so'
# What tests look for by their names in the stack of a thread that hangs.
readonly kept_symbols='*WaitInAPlaceWithAName*'
readonly too_big='libopencv_(imgcodecs|videoio|highgui)\.so'

build=build/bundle
archs=ALL
output=
configure=1
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --no-build) configure=0 && shift ;;
    --cuda-archs) archs=${2:?} && shift 2 ;;
    --output) output=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "bundle.sh: $1: unknown" >&2 && exit 2 ;;
  esac
done
for tool in patchelf xz; do
  command -v $tool >/dev/null && continue
  echo "bundle.sh: $tool is missing (apt-get install patchelf xz-utils)" >&2
  exit 1
done

if [[ $configure -eq 1 ]]; then
  cmake --preset release -B "$build" -DGLINT_CUDA_ARCHS="$archs" -DGLINT_PICTURES=OFF -DGLINT_ROS2=OFF -DGLINT_CUDA_SHARED=ON
  cmake --build "$build" --parallel "$(nproc)"
fi

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=glint-$version-$(uname -m)
output=${output:-build/$name.tar.xz}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
mkdir -p "$root/bin" "$root/tests" "$root/lib"

# The shared objects that a program loads, "name path" each, without those of the system.
libraries() {
  ldd "$1" | awk -v skip="$system" '$2 == "=>" && $1 !~ skip { print $1, $3 == "not" ? "not found" : $3 }'
}

# pack PROGRAM FOLDER: false if the program cannot be bundled.
pack() {
  local program needed codecs name path
  program=$(basename "$1")
  needed=$(libraries "$1")
  if grep -q "not found" <<<"$needed"; then
    echo "bundle.sh: $program lacks $(awk '/not found/ { print $1 }' <<<"$needed" | paste -sd ' ')" >&2
    exit 1
  fi
  codecs=$(grep -Eo "$too_big" <<<"$needed" | sort -u | paste -sd ' ')
  if [[ -n $codecs ]]; then
    echo "left out, because of $codecs: $program"
    return 1
  fi
  install -m 755 "$1" "$2/"
  strip --wildcard --keep-symbol="$kept_symbols" "$2/$program"
  patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "$2/$program"
  while read -r name path; do
    [[ -z $name || -e $root/lib/$name ]] || install -m 644 "$path" "$root/lib/$name"
  done <<<"$needed"
}

for program in server/glint-server client/glint bench/glint-microbench tests/scene/glint-scene; do
  if [[ -x $build/$program ]]; then
    pack "$build/$program" "$root/bin" || true
  else
    echo "left out, because it is not built: $program"
  fi
done

# The tests that CTest lists, without those that are scripts: these need a checkout.
while read -r program; do
  if [[ -z $program ]]; then  # so CTest lists a program that does not exist
    echo "left out, because they are not built: some tests"
  elif [[ $(head -c 4 "$program" | tail -c 3) != ELF ]]; then
    echo "left out, because it is no program: ${program#"$PWD/"}"
  elif [[ $program == */fault_process_test ]]; then
    echo "left out, because it runs servers with faults built in, which are not packed: fault_process_test"
  elif pack "$program" "$root/tests"; then
    case $program in
      */tests/cuda/*) basename "$program" >>"$root/gpu-tests" ;;
    esac
  fi
done < <(ctest --test-dir "$build" -N -V | sed -n 's/^[0-9]*: Test command: \([^ ]*\).*/\1/p' | tr -d '"' | sort -u)
touch "$root/gpu-tests"

for library in "$root"/lib/*; do
  # shellcheck disable=SC2016 # $ORIGIN is the loader's
  patchelf --force-rpath --set-rpath '$ORIGIN' "$library"
done

install -m 755 scripts/bundle/run-tests.sh scripts/bench.sh "$root/"
install -m 644 LICENSE "$root/"
# shellcheck disable=SC1091 # a file of the system
echo "$name, commit $(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown), built on" \
  "$(source /etc/os-release && echo "$PRETTY_NAME")" >"$root/VERSION"

mkdir -p "$(dirname "$output")"
tar --sort=name --owner=0 --group=0 --numeric-owner -C "$stage" -c "$name" | xz -6 >"$output"
bytes=$(stat -c %s "$output")
echo "$output: $((bytes / 1000)) kB; unpacked $(du -sm "$root" | cut -f 1) MB," \
  "$(find "$root/tests" -type f | wc -l) tests, $(find "$root/lib" -type f | wc -l) libraries"
if [[ $bytes -gt $max_bytes ]]; then
  echo "bundle.sh: $bytes bytes are over $max_bytes" >&2
  exit 1
fi
