#!/usr/bin/env bash
# Builds the libFuzzer targets with Clang, under the address and undefined-behaviour sanitizers, and runs each.
#
#   tools/fuzz.sh [--corpus DIR] [--target NAME]... [--jobs N] [--seed N] [MINUTES]
#
#   --corpus  where inputs that reach new code are kept from run to run; default: build/fuzz/corpus
#   --target  bag, calibration, dataset, encoded, foxglove, handoff, http2, localize, map, options, pairs, raw, ros,
#             ros2_config, ros2_input, session, text, track, wire, y4m
#             (tests/fuzz/targets says what each is); default: all
#   --jobs    targets that run at the same time; default: one for each processor
#   --seed    of the random choices, above 0; default: another one each time
#   MINUTES   of all targets together, at least a tenth; default 10
#
# Needs clang and its runtime (scripts/setup.sh build test sanitize). The seeds are tests/fuzz/corpus. An input that fails is
# left in build/fuzz/findings, and the exit status is 1. The last lines give executions and coverage (edges) of each.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=()
corpus=build/fuzz/corpus
jobs=$(nproc)
seed=0
minutes=10
while [[ $# -gt 0 ]]; do
  case $1 in
    --corpus) corpus=${2:?} && shift 2 ;;
    --target) targets+=("${2:?}") && shift 2 ;;
    --jobs) jobs=${2:?} && shift 2 ;;
    --seed) seed=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "fuzz.sh: $1: unknown" >&2 && exit 2 ;;
    *) minutes=$1 && shift ;;
  esac
done
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]] || { echo "fuzz.sh: \"$minutes\" is not a number of minutes" >&2 && exit 2; }
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: --jobs: \"$jobs\" is not a number from 1" >&2 && exit 2; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "fuzz.sh: --seed: \"$seed\" is not a number" >&2 && exit 2; }
if [[ ${#targets[@]} -eq 0 ]]; then
  targets=(bag calibration dataset encoded foxglove handoff http2 localize map options pairs raw ros ros2_config ros2_input session text track
    wire y4m)
fi
for target in "${targets[@]}"; do
  [[ -f tests/fuzz/targets/${target}_fuzz.cc ]] || { echo "fuzz.sh: no target $target" >&2 && exit 2; }
done
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  clang++ -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then
  echo "fuzz.sh: no clang++ with libFuzzer here (scripts/setup.sh sanitize)" >&2
  exit 1
fi

cmake --preset asan >/dev/null
if ! grep -q '^fastrtps_DIR:.*=/' build/asan/CMakeCache.txt; then
  echo "fuzz.sh: without ros2_config and ros2_input: no Fast DDS here (scripts/setup.sh ros2)"
  for i in "${!targets[@]}"; do
    case ${targets[i]} in ros2_*) unset "targets[i]" ;; esac
  done
  [[ ${#targets[@]} -gt 0 ]] || exit 1
  targets=("${targets[@]}")
fi
cmake --build build/asan --parallel "$(nproc)" --target "${targets[@]/#/fuzz_}"
echo "fuzz.sh: built in $SECONDS s"

findings=build/fuzz/findings
mkdir -p "$findings"
seconds=$(awk -v m="$minutes" -v n="${#targets[@]}" 'BEGIN { s = int(m * 60 / n); print s < 1 ? 1 : s }')
fuzz() {
  local target=$1 rc=0 more=()
  # What threads of its own do touches thousands of features a run, which costs the entropic schedule more than the run;
  # and its threads allocate while no input runs, which makes libFuzzer look for leaks each time.
  case $target in localize | map | pairs | session | track) more=(-entropic=0 -detect_leaks=0) ;; esac
  mkdir -p "$corpus/$target"
  build/asan/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -seed="$seed" -timeout=25 -rss_limit_mb=3000 -print_final_stats=1 "${more[@]}" \
    -artifact_prefix="$findings/$target-" "$corpus/$target" "tests/fuzz/corpus/$target" >"build/fuzz/$target.log" 2>&1 ||
    rc=$?
  echo "$rc" >"build/fuzz/$target.rc"
}
running=0
for target in "${targets[@]}"; do
  if [[ $running -ge $jobs ]]; then
    wait -n
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
wait

failed=0
summary=()
for target in "${targets[@]}"; do
  log=build/fuzz/$target.log
  rc=$(<"build/fuzz/$target.rc")
  runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  if [[ $rc -ne 0 ]]; then
    failed=1
    tail -n 40 "$log"
  fi
  summary+=("$(printf '%-11s %10s executions %6s edges  %s' "$target" "${runs:-?}" "${edges:-?}" \
    "$([[ $rc -eq 0 ]] && echo ok || echo "FAILED, see $log and $findings")")")
done
printf '%s\n' "${summary[@]}"
exit "$failed"
