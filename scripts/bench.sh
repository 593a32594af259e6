#!/usr/bin/env bash
# Measures the tables of the performance pages: one JSON file per cell and a summary.
#
#   scripts/bench.sh [--bench PROGRAM] [--scene PROGRAM] [--data DIR] [--out DIR] [--repeat N]
#                    [--clock wall|cpu] [cpu] [gpu]
#
#   --bench   glint-microbench; default: build/dev/bench/glint-microbench
#   --scene   glint-scene, which renders the pictures when there are no photographs; default: in the same build
#   --data    folder with photos/ and hut_long/; default: GLINT_TEST_DATA
#   --out     default: build/bench-results
#   --repeat  rounds for each cell; default 100
#   --clock   of the one-thread tables; cpu for machines with other work, default wall
#   cpu, gpu  which tables; default: cpu, and gpu if glint-microbench finds a device
set -euo pipefail

bench=build/dev/bench/glint-microbench
scene=
data=${GLINT_TEST_DATA:-}
out=build/bench-results
repeat=100
clock=wall
tables=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --bench) bench=${2:?} && shift 2 ;;
    --scene) scene=${2:?} && shift 2 ;;
    --data) data=${2:?} && shift 2 ;;
    --out) out=${2:?} && shift 2 ;;
    --repeat) repeat=${2:?} && shift 2 ;;
    --clock) clock=${2:?} && shift 2 ;;
    cpu | gpu) tables+=("$1") && shift ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "bench.sh: $1: unknown" >&2 && exit 2 ;;
  esac
done
scene=${scene:-$(dirname "$bench")/../tests/scene/glint-scene}
mkdir -p "$out"

# The pictures: a textured and a sparse small one, a dense and a sparse 1080p one, and the dense one four times.
declare -A picture
if [[ -n $data && -d $data/photos ]]; then
  picture[vga]=$data/photos/peru_640x480.png
  picture[small]=$data/hut_long/01.png
  picture[dense]=$data/photos/city_1920x1080.png
  picture[sparse]=$data/photos/earth_1920x1080.png
else
  render() { # NAME WIDTH HEIGHT DENSITY
    "$scene" --out "$out/pictures/$1" --frames 1 --width "$2" --height "$3" --density "$4" >&2
    echo "$out/pictures/$1/000000.png"
  }
  picture[vga]=$(render vga 640 480 dense)
  picture[small]=$(render small 752 480 sparse)
  picture[dense]=$(render dense 1920 1080 dense)
  picture[sparse]=$(render sparse 1920 1080 sparse)
fi
picture[huge]=mirror4:${picture[dense]}

failures=0
# cell NAME COMMAND...: runs glint-microbench, keeps its JSON, prints the name and the medians.
cell() {
  local name=$1
  shift
  if ! "$bench" "$@" --repeat "$repeat" --json >"$out/$name.json" 2>"$out/$name.err"; then
    echo "$name: $(tail -n 1 "$out/$name.err")"
    rm -f "$out/$name.json"
    failures=$((failures + 1))
    return
  fi
  rm -f "$out/$name.err"
  awk -v name="$name" '
    /"name":/   { gsub(/^ *"name": "|",$/, ""); subject = $0 }
    /"median":/ { gsub(/[^0-9.e+]/, "", $2); medians = medians sprintf("  %s%.1f us", subject == "" ? "" : subject " ", $2) }
    /"keypoints":/ && !keypoints { gsub(/,/, "", $2); keypoints = $2 }
    /"ratio":/  { gsub(/,/, "", $2); medians = medians sprintf(" (x%.2f)", $2) }
    /"frames_per_second":/ { gsub(/,/, "", $2); medians = medians sprintf("  %.0f/s", $2) }
    /"same_keypoints": false/ { medians = medians " NOT THE SAME KEYPOINTS" }
    END { printf "%-44s%s%s\n", name, medians, keypoints ? "  " keypoints " keypoints" : "" }' "$out/$name.json"
}

cpu_tables() { # SUFFIX
  local image peer=(--peer opencv --clock "$clock")
  for image in vga small dense sparse; do
    cell "cpu_stages_${image}$1" stages --image "${picture[$image]}" "${peer[@]}"
    cell "cpu_orb_detect_${image}$1" detector --image "${picture[$image]}" "${peer[@]}"
    cell "cpu_orb_describe_${image}$1" detector --image "${picture[$image]}" "${peer[@]}" --describe
    cell "cpu_oriented_fast_${image}$1" detector --image "${picture[$image]}" --preset oriented_fast --features 10000 \
      "${peer[@]}"
    cell "cpu_orbslam_describe_${image}$1" detector --image "${picture[$image]}" --preset orbslam --features 2000 \
      --describe "${peer[@]}"
  done
  for image in dense sparse; do
    cell "cpu_orb_detect_${image}_2threads$1" detector --image "${picture[$image]}" --threads 2
  done
}

gpu_tables() {
  local image sms features
  for image in vga dense sparse huge; do
    for describe in "" --describe; do
      local name=gpu_orb_${describe:+describe_}${image}
      cell "${name}_device" detector --backend cuda --image "${picture[$image]}" --device-resident $describe
      cell "${name}_host" detector --backend cuda --image "${picture[$image]}" $describe
      cell "${name}_host_pageable" detector --backend cuda --image "${picture[$image]}" --pageable $describe
    done
    for sms in 8 16; do
      cell "gpu_orb_${image}_device_${sms}sm" detector --backend cuda --image "${picture[$image]}" --device-resident --sm-limit $sms
    done
  done
  local oriented=(detector --backend cuda --preset oriented_fast --image "${picture[dense]}" --features 10000 --orientation none
    --device-resident)
  for sms in 0 8; do
    cell "gpu_oriented_fast_1level_${sms}sm" "${oriented[@]}" --levels 1 --sm-limit $sms
    cell "gpu_oriented_fast_4levels_${sms}sm" "${oriented[@]}" --levels 4 --scale-factor 2 --sm-limit $sms
    cell "gpu_oriented_fast_8levels_${sms}sm" "${oriented[@]}" --levels 8 --sm-limit $sms
  done
  for features in 500 1000 2000 5000 10000; do
    cell "gpu_orb_dense_device_${features}" detector --backend cuda --image "${picture[dense]}" --features $features --device-resident
  done
  for image in vga dense; do
    cell "gpu_lanes_${image}" lanes --backend cuda --image "${picture[$image]}" --lane-counts 1,2,4,8
  done
}

if [[ ${#tables[@]} -eq 0 ]]; then
  tables=(cpu)
  if why=$("$bench" detector --backend cuda --image "${picture[vga]}" --repeat 1 2>&1); then
    tables+=(gpu)
  else
    echo "no GPU tables: ${why##*glint-microbench: }"
  fi
fi
for table in "${tables[@]}"; do
  if [[ $table == gpu ]]; then
    gpu_tables
    continue
  fi
  cpu_tables ""
  # The same at AVX2 where the processor's best is more.
  if "$bench" detector --image "${picture[vga]}" --repeat 1 --json | grep -q '"device": .*, AVX3'; then
    GLINT_SIMD=AVX2 cpu_tables _avx2
  fi
done
[[ $failures -eq 0 ]] || { echo "$failures cells failed" && exit 1; }
