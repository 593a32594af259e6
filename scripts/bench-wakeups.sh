#!/usr/bin/env bash
# Where does the time of one camera at 30 frames/s go? Measures it with each setting of docs/operations/latency.md.
#
#   bench-wakeups.sh [--seconds N] [--size WxH] [--rate R] GLINT-SERVER GLINT [SERVER-FLAG]...
#
# One line for each setting: percentiles of the latency, of the echo's at the same pace, and of the stage `queue`, in
# microseconds; for each frame, the switches of the server's threads and the time that they were runnable and did not
# run (/proc/PID/task/*/schedstat). Settings that the machine does not allow are named with the reason.
set -euo pipefail

seconds=5 size=640x480 rate=30
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds) seconds=${2:?} && shift 2 ;;
    --size) size=${2:?} && shift 2 ;;
    --rate) rate=${2:?} && shift 2 ;;
    *) break ;;
  esac
done
server=${1:?GLINT-SERVER} glint=${2:?GLINT}
shift 2
flags=("$@")
work=$(mktemp -d)
jobs=()
stop() {
  [[ ${#jobs[@]} -eq 0 ]] || kill "${jobs[@]}" 2>/dev/null || true
  wait
  jobs=()
}
trap 'stop; rm -rf "$work"' EXIT

# Sums of the threads of process $1: nanoseconds runnable but not running, and time slices.
schedstat() { cat "/proc/$1/task/"*/schedstat | awk '{ delay += $2; slices += $3 } END { printf "%.0f %.0f\n", delay, slices }'; }

# measure NAME SERVER-FLAG...
measure() {
  local name=$1 pid before after
  shift
  "$server" --listen="unix:$work/socket" --metrics-listen= --shared-memory "${flags[@]}" "$@" 2>"$work/log" &
  pid=$!
  jobs+=("$pid")
  if ! "$glint" health --server "unix:$work/socket" --wait 30 >"$work/health" 2>&1; then
    printf '%-28s not measured: %s\n' "$name" "$(tail -1 "$work/log")"
    stop
    return
  fi
  before=$(schedstat "$pid")
  "$glint" bench --server "unix:$work/socket" --shared-memory --features 1000 --size "$size" --rate "$rate" \
    --warm-up 0.5 --duration "$seconds" --rounds 2 --echo >"$work/report" || true
  after=$(schedstat "$pid")
  awk -v name="$name" -v before="$before" -v after="$after" '
    /^echo/ { echo = 1 }
    $1 == "latency" && !echo { p50 = $2; p99 = $4 }
    $1 == "latency" && echo { e50 = $2; e99 = $4 }
    $1 == "queue" { q50 = $2; q99 = $4 }
    $1 == "outside" { o50 = $4 }
    /^server, .* frames answered/ { for (i = 1; i < NF; ++i) if ($(i + 1) == "frames") frames = $i }
    END {
      split(before, b); split(after, a)
      if (frames == 0) { printf "%-28s not measured: no frame was answered\n", name; exit }
      printf "%-28s %9s %9s %9s %9s %9s %9s %9s %9.1f %9.1f\n", name, p50, p99, e50, e99, o50, q50, q99,
             (a[2] - b[2]) / frames, (a[1] - b[1]) / frames / 1000
    }' "$work/report"
  stop
}

cpus=$(nproc)
printf '%s, %s frames/s, %d processors, %s, idle driver: %s\n' "$size" "$rate" "$cpus" "$(uname -r)" \
  "$(cat /sys/devices/system/cpu/cpuidle/current_driver 2>/dev/null || echo unknown)"
printf '%-28s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n' setting p50 p99 'echo p50' 'echo p99' 'outside' 'queue p50' \
  'queue p99' slices 'delay us'
measure default
measure "default again"
if [[ $cpus -ge 4 ]]; then
  measure "lanes 0-1, completion 2-3" --lane-cpus=0-1 --completion-cpus=2-3
else
  measure "lanes 0, completion 1" --lane-cpus=0 --completion-cpus=$((cpus - 1))
fi
measure "--cpu-dma-latency=0" --cpu-dma-latency=0
measure "--gpu-wait=spin" --gpu-wait=spin
measure "--lanes=1" --lanes=1
# Loops that yield to everything else keep every processor out of its sleep states.
if chrt --idle 0 true 2>/dev/null; then
  for ((i = 0; i < cpus; ++i)); do
    chrt --idle 0 bash -c 'while :; do :; done' &
    jobs+=($!)
  done
  measure "processors kept awake"
else
  printf '%-28s not measured: chrt --idle is not allowed\n' "processors kept awake"
fi
