#!/usr/bin/env bash
# Locates stereo cameras along the true paths of a folder, rendered with noise of 2 grey levels and 20 % gain changes, and
# prints what slam_path_run finds: all frames, with 10 % of them missing, and with bursts missing. With --imu: without and
# with an inertial sensor, all frames, and with spans of 1, 2 and 4 seconds in the dark.
#
#   tools/localize-paths.sh [--build DIR] [--only NAME]... [--frames N] [--jobs N] [--imu] FOLDER
#
#   FOLDER    files kitti_*.txt, euroc_*.txt, kaist_*.txt: lines of "t x y z qx qy qz qw"
#   --build   where slam_path_run is or is built; default: build/ci
#   --only    a file's name without its ending; default: all
#   --frames  of each path at most; default: all
#   --jobs    runs at the same time; default: one for each processor
#
# Exit status 1: a run lost the camera. Results are left in build/localize-paths.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/ci
only=()
imu=
frames=1000000
jobs=$(nproc)
folder=
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --only) only+=("${2:?}") && shift 2 ;;
    --frames) frames=${2:?} && shift 2 ;;
    --imu) imu=1 && shift ;;
    --jobs) jobs=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "localize-paths.sh: $1: unknown" >&2 && exit 2 ;;
    *) folder=$1 && shift ;;
  esac
done
[[ -n $folder ]] || { echo "localize-paths.sh: which folder of paths?" >&2 && exit 2; }
tool=$build/tests/slam/slam_path_run
if [[ ! -x $tool ]]; then
  cmake --preset ci -B "$build" >/dev/null
  cmake --build "$build" --parallel "$(nproc)" --target slam_path_run
fi

results=build/localize-paths
mkdir -p "$results"
tasks=()
for file in "$folder"/*.txt; do
  name=$(basename "$file" .txt)
  if [[ ${#only[@]} -gt 0 && " ${only[*]} " != *" $name "* ]]; then continue; fi
  camera=${name%%_*}
  if [[ -n $imu ]]; then
    tasks+=("$name.imu --imu --trajectory $file --camera $camera")
    tasks+=("$name.imu-dark --imu --trajectory $file --camera $camera --dark_spans 10:11,20:22,30:34")
    continue
  fi
  [[ $camera == kitti ]] && burst=2 || burst=5
  tasks+=("$name.all --trajectory $file --camera $camera")
  tasks+=("$name.drop --trajectory $file --camera $camera --drop 0.1")
  tasks+=("$name.burst --trajectory $file --camera $camera --drop 0.1 --burst $burst")
done
[[ ${#tasks[@]} -gt 0 ]] || { echo "localize-paths.sh: $folder: no such path" >&2 && exit 2; }

run() {
  local name=$1 rc=0
  shift
  "$tool" --frames "$frames" --threads 1 "$@" >"$results/$name.txt" 2>&1 || rc=$?
  { printf '%s, exit status %s\n' "$name" "$rc" && sed 's/^/  /' "$results/$name.txt"; }
  return "$rc"
}
export -f run
export tool frames results
printf '%s\n' "${tasks[@]}" | xargs -P "$jobs" -I{} bash -c 'run {}'
