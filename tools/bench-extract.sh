#!/usr/bin/env bash
# Images per second of python -m glint.extract on a Dask cluster of this machine: one worker, then three, each with a
# glint-server and processors of its own.
#
#   tools/bench-extract.sh [--build DIR] [--images N] [--cores N] [--workers N]
#
#   --build    with glint-server, glint-scene and the Python package that python_test leaves there; default: build/release
#   --images   default: 1500, of 1280x720, as JPEG
#   --cores    of a worker with its server; default: as many as leave the rest of the machine to scheduler and files;
#              0: workers share all processors, which measures nothing and tries the script
#   --workers  to be compared with one; default: 3
#
# The files that one worker and three write must have the same bytes. Wants 16 processors: three workers with 5 each.
# Needs python3-distributed, python3-h5py, python3-opencv and taskset.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release images=1500 cores='' workers=3
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --images) images=${2:?} && shift 2 ;;
    --cores) cores=${2:?} && shift 2 ;;
    --workers) workers=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "bench-extract.sh: $1: unknown; see --help" >&2 && exit 2 ;;
  esac
done
fail() { echo "bench-extract.sh: $*" >&2 && exit 1; }
if [[ -z $cores ]]; then
  cores=$((($(nproc) - 1) / workers))
  [[ $cores -gt 0 ]] || fail "$(nproc) processors are too few for $workers workers; see --cores"
fi
PYTHONPATH=$(realpath "$build/tests/python/package/lib") || fail 'no Python package: run python_test in the build first'
export PYTHONPATH

work=$(mktemp -d)
finish() {
  # shellcheck disable=SC2046  # words
  kill -TERM $(jobs -p) 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

mkdir "$work/frames" "$work/photos"
"$build/tests/scene/glint-scene" --out "$work/frames" --frames 16 --width 1280 --height 720 --density dense >/dev/null
python3 - "$work" "$images" <<'PYTHON'
import pathlib, sys
import cv2
folder, images = pathlib.Path(sys.argv[1]), int(sys.argv[2])
frames = [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in sorted((folder / "frames").iterdir())]
for i in range(images):
    cv2.imwrite(str(folder / "photos" / f"{i:06}.jpg"), frames[i % len(frames)])
PYTHON

# What a worker runs on.
pinned() {
  local worker=$1
  shift
  if [[ $cores -eq 0 ]]; then exec "$@"; fi
  exec taskset --cpu-list "$((worker * cores))-$((worker * cores + cores - 1))" "$@"
}

# measure WORKERS: prints images per second.
measure() {
  local count=$1 worker began ended processes=()
  local file=$work/scheduler$count.json
  python3 -m distributed.cli.dask_scheduler --port 0 --no-dashboard --scheduler-file "$file" 2>"$work/log" &
  processes+=($!)
  for ((worker = 0; worker < count; ++worker)); do
    pinned "$worker" "$build/server/glint-server" --backend cpu --metrics-listen= \
      --listen "unix:$work/server$count.$worker" 2>"$work/server.log" &
    processes+=($!)
    GLINT_SERVER=unix:$work/server$count.$worker pinned "$worker" python3 -m distributed.cli.dask_worker \
      --scheduler-file "$file" --nthreads 1 --no-nanny --no-dashboard --local-directory "$work" 2>"$work/log" &
    processes+=($!)
  done
  python3 - "$file" "$count" <<'PYTHON'
import sys
import distributed
with distributed.Client(scheduler_file=sys.argv[1], timeout=60) as client:
    client.wait_for_workers(int(sys.argv[2]), timeout=60)
PYTHON
  for ((worker = 0; worker < count; ++worker)); do
    "$build/client/glint" health --server "unix:$work/server$count.$worker" --wait 60 >/dev/null
  done
  local address
  address=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$file")
  began=$(date +%s.%N)
  python3 -m glint.extract "$work/photos" --output "$work/$count.h5" --scheduler "$address" --chunk 16 2>"$work/said" ||
    { cat "$work/said" >&2 && fail "extract with $count workers"; }
  ended=$(date +%s.%N)
  kill -TERM "${processes[@]}"
  wait "${processes[@]}" 2>/dev/null || true
  awk -v images="$images" -v began="$began" -v ended="$ended" 'BEGIN { printf "%.1f\n", images / (ended - began) }'
}

one=$(measure 1)
many=$(measure "$workers")
cmp "$work/1.h5" "$work/$workers.h5" || fail 'the files differ'
awk -v one="$one" -v many="$many" -v workers="$workers" -v cores="$cores" -v images="$images" 'BEGIN {
  printf "%d images, %d processors a worker: 1 worker %.1f images/s, %d workers %.1f images/s, %.2fx\n",
         images, cores, one, workers, many, many / one }'
