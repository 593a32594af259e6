#!/usr/bin/env bash
# Looks for tests that fail now and then: runs the suite, and each concurrent test alone, again and again on two
# processors on which two busy loops run as well.
#
#   tools/repeat-tests.sh [--build DIR] [--suite N] [--alone M] [--slots J] [--timeout S] [--for S] [--logs DIR]
#                           ['PROGRAM ARGUMENTS']...
#
#   --build    build tree with the tests; default: build/ci
#   --suite    runs of the whole suite; default 10
#   --alone    runs of each concurrent test; default 100
#   --slots    runs of concurrent tests at the same time; default: one for each two processors. More share them
#   --timeout  seconds after which a run of one test counts as a hang; default 300
#   --for      seconds after which no further run of a concurrent test begins; default: all are made
#   --logs     where the output of runs that fail is left; default: DIR/repeat-tests
#   PROGRAM    a concurrent test, in place of those of tests/server, tests/client, tests/blackbox and tests/soak
#
# The last lines give runs, failures and hangs of each test; exit status 1 if there was one. Takes hours for the
# defaults on two processors.
set -euo pipefail

build=$(dirname "$0")/../build/ci
suite=10
alone=100
slots=$(($(nproc) > 1 ? $(nproc) / 2 : 1))
limit=300
seconds=0
logs=
programs=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --suite) suite=${2:?} && shift 2 ;;
    --alone) alone=${2:?} && shift 2 ;;
    --slots) slots=${2:?} && shift 2 ;;
    --timeout) limit=${2:?} && shift 2 ;;
    --for) seconds=${2:?} && shift 2 ;;
    --logs) logs=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,19s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "repeat-tests.sh: $1: unknown" >&2 && exit 2 ;;
    *) programs+=("$1") && shift ;;
  esac
done
for number in "$suite" "$alone" "$slots" "$limit" "$seconds"; do
  [[ $number =~ ^[0-9]+$ ]] || { echo "repeat-tests.sh: \"$number\" is not a number" >&2 && exit 2; }
done
if [[ ${#programs[@]} -eq 0 && $alone -gt 0 ]]; then
  tests=$build/tests
  readarray -t programs < <(find "$tests"/{server,client,blackbox} -maxdepth 1 -name '*_test' -type f -perm -1 | sort)
  [[ ${#programs[@]} -gt 0 ]] || { echo "repeat-tests.sh: no tests in $tests" >&2 && exit 2; }
  if [[ -x $tests/soak/glint-soak ]]; then
    programs+=("$tests/soak/glint-soak 12" "$tests/soak/glint-soak --hostile 12" "$tests/soak/glint-soak --faults 12"
      "$tests/soak/glint-siege 6")
  fi
fi
logs=${logs:-$build/repeat-tests}
mkdir -p "$logs"
work=$(mktemp -d)
busy=()
cleanup() {
  [[ ${#busy[@]} -eq 0 ]] || kill "${busy[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
: >"$work/results"

# start_busy PROCESSORS: two loops there, until the end.
start_busy() {
  local i
  for i in 1 2; do
    taskset -c "$1" bash -c 'while :; do :; done' &
    busy+=($!)
  done
}

# note NAME STATUS LOG SECONDS: keeps the log of a run that failed.
note() {
  local kept
  if [[ $2 -ne 0 ]]; then
    kept=$logs/${1//[^A-Za-z0-9_.-]/_}.$(date +%s%N).log
    cp "$3" "$kept"
    echo "FAILED with $2: $1: $kept"
  fi
  echo "$1;$2;$4" >>"$work/results"
}

for ((i = 1; i <= suite; ++i)); do
  [[ ${#busy[@]} -gt 0 ]] || start_busy 0,1
  rc=0
  began=$SECONDS
  taskset -c 0,1 ctest --test-dir "$build" --output-on-failure --parallel 2 --timeout "$limit" \
    >"$work/suite.log" 2>&1 || rc=$?
  ! grep -q '\*\*\*Timeout' "$work/suite.log" || rc=124
  note suite "$rc" "$work/suite.log" $((SECONDS - began))
done

# The next run that nobody has begun, counted from 0.
take_next() {
  local next
  {
    flock 9
    next=$(<"$work/next")
    echo $((next + 1)) >"$work/next"
  } 9>"$work/lock"
  echo "$next"
}

# Runs in a slot until all are done. Each slot has a folder for temporary files.
run_slot() {
  local slot=$1 processors=$2 next program name rc began
  export TMPDIR=$work/$slot TEST_TMPDIR=$work/$slot/
  while next=$(take_next) && [[ $next -lt $((alone * ${#programs[@]})) ]]; do
    [[ $seconds -eq 0 || $SECONDS -lt $seconds ]] || break
    read -ra program <<<"${programs[next % ${#programs[@]}]}"
    name=$(basename "${program[0]}")
    [[ ${#program[@]} -eq 1 ]] || name+=" ${program[*]:1}"
    mkdir -p "$TMPDIR"
    rc=0
    began=$SECONDS
    timeout -k 10 "$limit" taskset -c "$processors" "${program[@]}" >"$work/$slot.log" 2>&1 </dev/null || rc=$?
    note "$name" "$rc" "$work/$slot.log" $((SECONDS - began))
    rm -rf "$TMPDIR"
  done
}

if [[ $alone -gt 0 ]]; then
  echo 0 >"$work/next"
  running=()
  for ((slot = 0; slot < slots; ++slot)); do
    processors=$((2 * slot % $(nproc))),$(((2 * slot + 1) % $(nproc)))
    [[ ${#busy[@]} -ge $((2 * slot + 2)) || $((2 * slot)) -ge $(nproc) ]] || start_busy "$processors"
    run_slot "$slot" "$processors" &
    running+=($!)
  done
  wait "${running[@]}"
fi

awk -F ';' '
  !($1 in runs) { order[++tests] = $1 }
  { ++runs[$1]; took[$1] += $3; if ($2 == 124 || $2 == 137) ++hangs[$1]; else if ($2 != 0) ++failures[$1] }
  END {
    printf "%-34s %6s %9s %6s %8s\n", "test", "runs", "failures", "hangs", "s a run"
    for (i = 1; i <= tests; ++i) {
      t = order[i]
      printf "%-34s %6d %9d %6d %8.1f\n", t, runs[t], failures[t], hangs[t], took[t] / runs[t]
      all += runs[t]; bad += failures[t]; hung += hangs[t]
    }
    printf "%-34s %6d %9d %6d\n", "all", all, bad, hung
    exit bad + hung > 0
  }' "$work/results"
