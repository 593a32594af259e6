#!/usr/bin/env bash
# Builds Glint, starts a server, streams a rendered scene or the given files, and shows keypoints and the time of each
# stage. Needs only apt and root or sudo on Debian 12 or Ubuntu 24.04.
#
#   scripts/demo.sh [FILE...]     images, folders of images, videos; annotated copies go to out/
#
# DEMO_FRAMES is the number of frames of the rendered scene (default 120).
set -euo pipefail
if [[ ${1-} == -h || ${1-} == --help ]]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi
files=()
for file in "$@"; do files+=("$(realpath -- "$file")"); done
cd "$(dirname "$0")/.."

build=$PWD/build/demo out=$PWD/out
log=$build/log.txt
work=$(mktemp -d)
server=
finish() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }

# Runs a command with its output in the log, which is shown if it fails.
quietly() {
  "$@" >"$log" 2>&1 </dev/null || {
    tail -n 40 "$log" >&2
    echo "demo.sh: failed: $*" >&2
    exit 1
  }
}

# CMake's flags for the GPU of this machine alone.
cuda_flags() {
  local architecture
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
  if [[ $architecture =~ ^[0-9]+$ ]]; then
    echo "-DGLINT_CUDA=AUTO -DGLINT_CUDA_ARCHS=$architecture-real"
  elif [[ -e /etc/nv_tegra_release ]]; then
    echo -DGLINT_CUDA=AUTO -DGLINT_CUDA_ARCHS=87-real
  else
    echo -DGLINT_CUDA=OFF
  fi
}

say 'Building (the first time takes some minutes)'
scripts/setup.sh build test
mkdir -p "$build" "$out"
read -ra cuda < <(cuda_flags)
# For this machine's processor alone, which compiles a fifth of the SIMD backend.
quietly cmake --preset release -B "$build" -DGLINT_BENCH=OFF -DGLINT_NATIVE=ON -DCMAKE_CXX_FLAGS_RELEASE='-O2 -DNDEBUG' \
  "${cuda[@]}"
quietly cmake --build "$build" --target glint glint-server glint-scene --parallel "$(nproc)"
glint=$build/client/glint

say 'Starting glint-server'
address=unix:$work/socket
"$build/server/glint-server" --listen "$address" --metrics-listen 127.0.0.1:0 >"$work/server" 2>&1 </dev/null &
server=$!
"$glint" health --server "$address" --wait 120 --timeout 1 >/dev/null || {
  cat "$work/server" >&2
  exit 1
}
"$glint" info --server "$address" | head -n 5
metrics=$(sed -n 's/.* metrics=\([^ ]*\).*/\1/p' "$work/server" | head -n 1)
lanes=$("$glint" info --server "$address" | awk '$1 == "lanes" { print $2 }')

# Streams a source twice: for the figures at full speed, then with drawing, which is slower.
stream() {
  "$glint" stream --server "$address" --in-flight "$((lanes + 1))" --features 1000 "$1"
  "$glint" stream --server "$address" --features 1000 --no-summary --draw "$2" "$1"
  echo "annotated: $2"
}

if [[ ${#files[@]} -eq 0 ]]; then
  frames=${DEMO_FRAMES:-120}
  scene=$build/scene-$frames
  if [[ ! -e $scene/done ]]; then
    say "Rendering $frames frames of a walk through a room, 1280 x 720"
    quietly "$build/tests/scene/glint-scene" --out "$scene" --frames "$frames" --width 1280 --height 720 --format pnm
    touch "$scene/done"
  fi
  say 'Sending the scene: frames/s, and where the time of a frame went, in milliseconds'
  stream "$scene" "$out/scene.avi"
  last=$(printf '%s/%06d.pgm' "$scene" $((frames - 1)))
  "$glint" detect --server "$address" --features 1000 --format none --draw "$out/scene.png" "$last"
  echo "annotated: $out/scene.png (the last frame)"
else
  images=()
  for file in "${files[@]}"; do
    case ${file,,} in
      *.jpg | *.jpeg | *.png | *.pgm | *.ppm | *.bmp | *.tif | *.tiff | *.webp) images+=("$file") ;;
      *)
        say "Sending $file"
        stream "$file" "$out/$(basename "${file%.*}").avi"
        ;;
    esac
  done
  if [[ ${#images[@]} -gt 0 ]]; then
    say 'Sending the images, one call each'
    "$glint" detect --server "$address" --features 1000 --draw "$out/" "${images[@]}"
    echo "annotated: $out/"
  fi
fi

say "What Prometheus would see at http://$metrics/metrics"
exec 3<>"/dev/tcp/${metrics%:*}/${metrics##*:}"
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
tr -d '\r' <&3 | grep -E \
  '^(glint_(frames_total|frame_bytes_total|lanes|queue_capacity_frames|sessions|truncated)|glint_(frame|stage)_duration_seconds_(sum|count)|glint_keypoints_per_frame_(sum|count)|grpc_server_handled_total|process_(cpu_seconds_total|resident_memory_bytes))' |
  grep -v ' 0$'
exec 3>&-

say 'Stopping the server (SIGTERM)'
kill -TERM "$server"
rc=0
wait "$server" || rc=$?
server=
echo "exit status $rc"
[[ $rc -eq 0 ]]
