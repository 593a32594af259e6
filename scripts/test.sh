#!/usr/bin/env bash
# Builds Glint and runs its tests. Needs only apt and root or sudo on Debian 12 or Ubuntu 24.04.
#
#   scripts/test.sh [--preset PRESET] [--label LABEL] [CTEST-ARGUMENT...]
#
#   --preset  of CMakePresets.json: dev (default), release, cpu-only, asan, tsan, ci
#   --label   build and run only the tests with this label
#
# GLINT_TEST_DATA names a folder of photographs for the tests that use them. The last line counts the test cases.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=dev
label=
while [[ $# -gt 0 ]]; do
  case $1 in
    --preset) preset=${2:?--preset needs a name} && shift 2 ;;
    --label) label=${2:?--label needs a name} && shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
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

# CTest counts programs. The cases of each are counted from GoogleTest's output in the results; a program without such
# output counts as one case.
awk '
  /^\t<testcase /                { fail = /status="fail"/; omitted = counted = failures = 0; all = "no reason given" }
  /<skipped message="SKIP_/      { omitted = 1 }
  /<skipped message="/ && !/"SKIP_/ { fail = 1 }
  /\[  PASSED  \] [0-9]+ test/   { passed += $4; counted = 1 }
  /\[  SKIPPED \] [0-9]+ test/   { skipped += $4; counted = 1 }
  /\[  FAILED  \] [0-9]+ test/   { failed += $4; failures = counted = 1 }
  /: Skipped$/                   { getline reason; why[reason]++ }
  /GLINT_SKIP_ALL/               { all = $0; sub(/.*GLINT_SKIP_ALL[: ]*/, "", all) }
  /^\t<\/testcase>/ {
    if (fail && !failures) failed++
    else if (omitted && !counted) { skipped++; why[all]++ }
    else if (!counted) passed++
  }
  END {
    for (reason in why) printf "skipped %d: %s\n", why[reason], reason
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
  }' "$results" || rc=1
exit "$rc"
