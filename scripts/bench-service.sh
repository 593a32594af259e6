#!/usr/bin/env bash
# Measures the overhead of the service beyond gRPC and the detector; prints the tables of docs/performance/service.md.
#
#   scripts/bench-service.sh [--build DIR] [--seconds S] [--rounds N]
#                            [latency] [paced] [overhead] [silence] [fairness]
#
#   --build    with glint-server, glint, glint-silence, glint-match-flood and glint-scene; default: build/release
#   --seconds  measured for each figure and side; default 10
#   --rounds   per figure, interleaved with what it is compared with; default 10
#   latency    one frame in flight by TCP, unix socket and shared memory, beside echo and detector
#   paced      the same at 30 frames a second: server and echo have slept equally long when a frame comes
#   overhead   latency without the detector, through shared memory, by size, 20 frames a second
#   silence    the first frame after 1 to 2 s of silence: 8 servers, 504 frames, two minutes
#   fairness   three cameras, without and with a stream that floods the server with 4K; a camera of one client, without
#              and with four streams of another that match kept sets
#
# Without a name, all of them. CPU lanes. Nothing else should run on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release seconds=10 rounds=10 tables=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --seconds) seconds=${2:?} && shift 2 ;;
    --rounds) rounds=${2:?} && shift 2 ;;
    latency | paced | overhead | silence | fairness) tables+=("$1") && shift ;;
    -h | --help) sed -n '2,18s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "bench-service.sh: $1: unknown" >&2 && exit 2 ;;
  esac
done
[[ ${#tables[@]} -gt 0 ]] || tables=(latency paced overhead silence fairness)
glint=$build/client/glint
tcp=127.0.0.1:50917
work=$(mktemp -d)
children=()
finish() {
  stop
  rm -rf "$work"
}
# Kills all processes in `children`.
stop() {
  local child
  for child in ${children[@]+"${children[@]}"}; do
    kill "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  done
  children=()
}
trap finish EXIT

# start SOCKET FLAG...: a server that is ready.
start() {
  local socket=$1 && shift
  "$build/server/glint-server" --listen="unix:$socket" --metrics-listen= --backend=cpu \
    --max-image-pixels=8294400 --max-sessions=64 --max-pending-bytes=536870912 "$@" 2>>"$work/log" &
  children+=($!)
  "$glint" health --server "unix:$socket" --wait 60 >/dev/null || { cat "$work/log" >&2 && exit 1; }
}
# picture WIDTHxHEIGHT: renders a scene of that size.
picture() {
  local folder=$work/$1
  [[ -d $folder ]] ||
    "$build/tests/scene/glint-scene" --out "$folder" --frames 1 --width "${1%x*}" --height "${1#*x}" --density dense >&2
  echo "$folder/000000.png"
}
# bench NAME FLAG...: runs glint bench and keeps its report as NAME.
bench() {
  local name=$1 && shift
  "$glint" bench --json --duration "$seconds" --warm-up 0.3 --output "$work/$name" "$@"
}
# row NAME FIELD...: fields of a report's JSON: times in microseconds, other numbers as they are, | between them.
row() {
  python3 - "$work/$1" "${@:2}" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
cells = []
for field in sys.argv[2:]:
    value = report
    for key in field.split("."):
        value = value[key]
    if field == "ratio.round_p50":
        cells.append("%.2f-%.2f" % (min(value), max(value)))
    elif value is None:
        cells.append("-")
    else:
        cells.append("%.0f" % (value / 1e3) if field.endswith("_ns") else "%.2f" % value)
print(" | ".join(cells))
for warning in report["warnings"]:
    print("bench-service.sh:", warning, file=sys.stderr)
PYTHON
}

# beside_floor NAME FLAG...: all sizes and transports.
beside_floor() {
  local name=$1 size transport run server flags
  shift
  echo '| size | by | p50 | p99 | echo p50 | echo p99 | detector p50 | detector p99 | p50 / sum | of the rounds | p99 / sum |'
  echo '|---|---|---|---|---|---|---|---|---|---|---|'
  start "$work/socket" --listen="$tcp" --lanes=1 --shared-memory
  for size in 640x480 1920x1080; do
    for transport in TCP 'unix socket' 'shared memory'; do
      run=$name-$size-${transport// /-}
      server=unix:$work/socket flags=("$@")
      [[ $transport != TCP ]] || server=$tcp
      [[ $transport != 'shared memory' ]] || flags+=(--shared-memory)
      bench "$run" --server "$server" --echo --rounds "$rounds" ${flags[@]+"${flags[@]}"} "$(picture "$size")"
      printf '| %s | %s | %s |\n' "$size" "$transport" "$(row "$run" server.latency.p50_ns server.latency.p99_ns \
        echo.latency.p50_ns echo.latency.p99_ns server.server_lane.p50_ns server.server_lane.p99_ns \
        ratio.p50 ratio.round_p50 ratio.p99)"
    done
  done
  stop
}
latency() { beside_floor latency; }
paced() { beside_floor paced --rate 30; }

overhead() {
  local size
  echo '| size | latency p50 | detector p50 | rest p50 | of it outside the server | echo p50 |'
  echo '|---|---|---|---|---|---|'
  start "$work/socket" --lanes=1 --shared-memory
  for size in 640x480 1280x720 1920x1080 3840x2160; do
    bench "overhead-$size" --server "unix:$work/socket" --shared-memory --rate 20 --echo --rounds "$rounds" \
      "$(picture "$size")"
    printf '| %s | %s |\n' "$size" "$(row "overhead-$size" server.latency.p50_ns server.server_lane.p50_ns \
      server.overhead.p50_ns server.outside_server.p50_ns echo.latency.p50_ns)"
  done
  stop
}

silence() {
  local pair clients=()
  for pair in 1 2 3 4 5 6 7 8; do start "$work/silence$pair" --lanes=1; done
  # Started one after the other, so that their busy rounds, which come first, do not overlap.
  for pair in 1 2 3 4 5 6 7 8; do
    "$build/tests/server/glint-silence" "unix:$work/silence$pair" 63 >"$work/silence$pair.txt" &
    clients+=($!)
    sleep 0.5
  done
  wait "${clients[@]}"
  stop
  echo '| | p50, of the 8 pairs | p99 | max of all 504 |'
  echo '|---|---|---|---|'
  awk '/^busy|^after/ { round = $1 ~ /^busy/ ? "busy" : "after silence" }
    /p50/ {
      name = round ($1 == "of" ? ", outside the server" : ", round trip")
      if (!(name in most)) { order[++names] = name; low50[name] = low99[name] = 1e9 }
      for (i = 1; i < NF; ++i) {
        if ($i == "p50") p50 = $(i + 1)
        if ($i == "p99") p99 = $(i + 1)
        if ($i == "max") most[name] = $(i + 1) > most[name] ? $(i + 1) : most[name]
      }
      low50[name] = p50 < low50[name] ? p50 : low50[name]; high50[name] = p50 > high50[name] ? p50 : high50[name]
      low99[name] = p99 < low99[name] ? p99 : low99[name]; high99[name] = p99 > high99[name] ? p99 : high99[name]
    }
    END {
      for (i = 1; i <= names; ++i) {
        n = order[i]
        printf "| %s | %.2f-%.2f ms | %.2f-%.2f ms | %.2f ms |\n", n, low50[n], high50[n], low99[n], high99[n], most[n]
      }
    }' "$work"/silence?.txt
}

fairness() {
  local name
  start "$work/socket"
  picture 3840x2160 >/dev/null
  echo '| 3 streams of 640x480, 10 frames/s each | p50 | p99 | max |'
  echo '|---|---|---|---|'
  for name in alone flooded; do
    if [[ $name == flooded ]]; then
      "$glint" bench --server "unix:$work/socket" --in-flight 4 --duration 10000 "$(picture 3840x2160)" >/dev/null 2>&1 &
      children+=($!)
      sleep 2
    fi
    bench "$name" --server "unix:$work/socket" --streams 3 --rate 30 "$(picture 640x480)"
    printf '| %s | %s |\n' "$name" "$(row "$name" server.latency.p50_ns server.latency.p99_ns server.latency.max_ns)"
  done
  stop
  # By two addresses, which are two clients.
  start "$work/socket" --listen="$tcp" --lanes=2
  echo
  echo '| a stream of 640x480, 20 frames/s | p50 | p99 | max | the other client |'
  echo '|---|---|---|---|---|'
  : >"$work/flood"
  for name in alone matched; do
    if [[ $name == matched ]]; then
      "$build/tests/server/glint-match-flood" "unix:$work/socket" 4 16384 "$((seconds + 4))" >"$work/flood" &
      children+=($!)
      sleep 2
    fi
    bench "$name" --server "$tcp" --rate 20 --detector orbslam "$(picture 640x480)"
    [[ $name == alone ]] || wait "${children[-1]}"
    printf '| %s | %s | %s |\n' "$name" \
      "$(row "$name" server.latency.p50_ns server.latency.p99_ns server.latency.max_ns)" "$(cat "$work/flood")"
  done
  stop
}

printf '%s, %s processors, commit %s, %s s a figure; microseconds\n' \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
  "$(git describe --always --dirty --abbrev=7)" "$seconds"
for table in "${tables[@]}"; do
  printf '\n## %s\n\n' "$table"
  "$table"
done
