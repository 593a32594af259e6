#!/usr/bin/env bash
# Runs the bundle's tests, NVIDIA's sanitizers over the GPU tests if both are available, and the benchmarks.
#
#   run-tests.sh [--out DIR] [--data DIR] [--tests REGEX] [--no-tests] [--no-sanitizers] [--no-bench] [--repeat N]
#
#   --out   results: log/ (one file a test), results.json, sanitizers.json, bench/ (one JSON file a cell); default
#           ./glint-results
#   --data  folder of photographs for tests and benchmarks; default: GLINT_TEST_DATA, or rendered pictures
#
# Exit code 0 if all passed. A test that cannot run here gives the reason and counts as skipped.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

out=glint-results
pattern=.
repeat=100
tests=1 sanitizers=1 bench=1
while [[ $# -gt 0 ]]; do
  case $1 in
    --out) out=${2:?} && shift 2 ;;
    --data) export GLINT_TEST_DATA=${2:?} && shift 2 ;;
    --tests) pattern=${2:?} && shift 2 ;;
    --repeat) repeat=${2:?} && shift 2 ;;
    --no-tests) tests=0 && shift ;;
    --no-sanitizers) sanitizers=0 && shift ;;
    --no-bench) bench=0 && shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "run-tests.sh: $1: unknown" >&2 && exit 2 ;;
  esac
done
mkdir -p "$out/log"
out=$(cd "$out" && pwd)
export GLINT_BENCH_TOOL=$here/bin/glint-microbench GLINT_SCENE_TOOL=$here/bin/glint-scene
export GLINT_SERVER_TOOL=$here/bin/glint-server GLINT_CLI_TOOL=$here/bin/glint TEST_TMPDIR=${TEST_TMPDIR:-$out/tmp}
mkdir -p "$TEST_TMPDIR"
failed=0

cat "$here/VERSION"
if command -v nvidia-smi >/dev/null; then nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; fi

# outcome LOG EXIT_CODE: passed, skipped (nothing but skipped cases) or failed.
outcome() {
  if [[ $2 -ne 0 ]]; then
    echo failed
  elif grep -q GLINT_SKIP_ALL "$1" || { grep -q '^\[  SKIPPED \]' "$1" && grep -q '^\[  PASSED  \] 0 tests' "$1"; }; then
    echo skipped
  else
    echo passed
  fi
}

# record FILE NAME OUTCOME SECONDS LOG: a line of JSON with the counts of GoogleTest cases.
record() {
  local passed skipped
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$5" | tail -n 1)
  skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$5" | tail -n 1)
  [[ $3 != failed ]] || failed=$((failed + 1))
  printf '%s{"name": "%s", "outcome": "%s", "seconds": %d, "cases_passed": %d, "cases_skipped": %d}' \
    "$([[ -s $1 ]] && echo ',' || echo '[')"$'\n' "$2" "$3" "$4" "${passed:-0}" "${skipped:-0}" >>"$1"
  printf '%-10s %s (%d s)\n' "$3" "$2" "$4"
}

if [[ $tests -eq 1 ]]; then
  : >"$out/results.json"
  for program in "$here"/tests/*; do
    name=$(basename "$program")
    [[ $name =~ $pattern ]] || continue
    start=$SECONDS
    (cd "$TEST_TMPDIR" && timeout 1200 "$program") >"$out/log/$name.txt" 2>&1 </dev/null
    record "$out/results.json" "$name" "$(outcome "$out/log/$name.txt" $?)" $((SECONDS - start)) "$out/log/$name.txt"
  done
  printf '\n]\n' >>"$out/results.json"
fi

# memcheck, racecheck, initcheck and synccheck over every GPU test. Some of these compare models on the processor and
# call no CUDA.
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
if [[ $sanitizers -eq 1 && -n $sanitizer && -e /dev/nvidiactl ]]; then
  : >"$out/sanitizers.json"
  while read -r name; do
    [[ $name =~ $pattern ]] || continue
    for tool in memcheck racecheck initcheck synccheck; do
      log=$out/log/$tool.$name.txt
      start=$SECONDS
      (cd "$TEST_TMPDIR" &&
        timeout 1800 "$sanitizer" --tool $tool --error-exitcode 99 --require-cuda-init no "$here/tests/$name") \
        >"$log" 2>&1 </dev/null
      record "$out/sanitizers.json" "$tool.$name" "$(outcome "$log" $?)" $((SECONDS - start)) "$log"
    done
  done <"$here/gpu-tests"
  printf '\n]\n' >>"$out/sanitizers.json"
elif [[ $sanitizers -eq 1 ]]; then
  echo "no sanitizers: $([[ -n $sanitizer ]] && echo "no NVIDIA device" || echo "no compute-sanitizer") here"
fi

if [[ $bench -eq 1 ]]; then
  "$here/bench.sh" --bench "$here/bin/glint-microbench" --scene "$here/bin/glint-scene" --out "$out/bench" --repeat "$repeat" |
    tee "$out/bench.txt"
  [[ ${PIPESTATUS[0]} -eq 0 ]] || failed=$((failed + 1))
fi
echo "$failed failed; results in $out"
[[ $failed -eq 0 ]]
