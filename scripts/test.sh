#!/usr/bin/env bash
# Builds Glint and runs its tests. Needs only apt and root or sudo on Debian 12 or Ubuntu 24.04.
#
#   scripts/test.sh [--preset PRESET] [--label LABEL] [--strict] [CTEST-ARGUMENT...]
#
#   --preset  of CMakePresets.json: dev (default), release, cpu-only, asan, tsan, ci
#   --label   build and run only the tests with this label
#   --strict  a test that is skipped for another reason than a missing GPU has failed
#
# GLINT_TEST_DATA names a folder of photographs for the tests that use them. The last lines say which tests were skipped,
# why, and what would make them run (scripts/setup.sh GROUP); the very last counts the test cases.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
label=
summary=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name} && shift 2 ;;
    --label) label=${2:?--label needs a name} && shift 2 ;;
    --strict) summary+=(--strict) && shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) break ;;
  esac
done

scripts/setup.sh build test
jobs=$(nproc)
build=build/$preset
cmake --preset "$preset"
cmake --build "$build" --parallel "$jobs" ${label:+--target "tests_$label"}

results=$PWD/$build/test-results.xml
rc=0
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" ${label:+--label-regex "^$label\$"} \
  --output-junit "$results" --test-output-size-passed 100000000 --test-output-size-failed 100000000 "$@" || rc=$?

scripts/test-summary.py "${summary[@]}" --counts "$build/test-counts" "$results" || rc=1
exit "$rc"
