#!/usr/bin/env bash
# Locates KITTI's stereo camera along a true path, rendered as a pinhole sees it and through each lens: the same worlds,
# noise and brightness; raw images are rectified. Prints what slam_path_run says of each.
#
#   tools/lens-paths.sh [--build DIR] [--frames N] [--seeds N] [--models LIST] [--jobs N] FILE
#
#   FILE      lines of "t x y z qx qy qz qw", as trajectories/kitti_06.txt of the test data has them
#   --build   where tests/slam/slam_path_run is; default: build/ci
#   --frames  of the path at most; default: all
#   --seeds   worlds for each model, 1..N; default: 1
#   --models  names, with commas between them; default: all of docs/cameras.md
#   --jobs    runs at the same time; default: one for each processor
#
# Results are left in build/lens-paths.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/ci
frames=1000000
seeds=1
models=pinhole,radial-tangential,rational,kannala-brandt,double-sphere,eucm,fov,omni,thin-prism
jobs=$(nproc)
path=
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --frames) frames=${2:?} && shift 2 ;;
    --seeds) seeds=${2:?} && shift 2 ;;
    --models) models=${2:?} && shift 2 ;;
    --jobs) jobs=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "lens-paths.sh: $1: unknown" >&2 && exit 2 ;;
    *) path=$1 && shift ;;
  esac
done
[[ -n $path ]] || { echo "lens-paths.sh: which path?" >&2 && exit 2; }

results=build/lens-paths
mkdir -p "$results"

# Coefficients in the order of docs/cameras.md.
lens_of() {
  case $1 in
    pinhole) ;;
    radial-tangential) echo -0.28,0.07,0.0002,-0.0003,0 ;;
    rational) echo 0.1,-0.05,0.0002,-0.0003,0.01,0.3,0.02,0.001 ;;
    kannala-brandt) echo -0.01,0.002,-0.001,0.0002 ;;
    double-sphere) echo -0.2,0.55 ;;
    eucm) echo 0.6,1.05 ;;
    fov) echo 0.9 ;;
    omni) echo 0.3,-0.1,0.02,0.0002,-0.0003 ;;
    thin-prism) echo -0.28,0.07,0.0002,-0.0003,0,0,0,0,0.001,-0.0005,0.0008,0.0002,0.01,-0.008 ;;
    *) echo "lens-paths.sh: $1: no such model" >&2 && return 2 ;;
  esac
}

run() {
  local model=$1 seed=$2 lens rc=0
  lens=$(lens_of "$model") || return
  local report=$results/$model.$seed.txt
  "$build/tests/slam/slam_path_run" --trajectory "$path" --frames "$frames" --seed "$seed" --threads 1 \
    --camera_model "$model" ${lens:+"--lens=$lens"} >"$report" 2>&1 || rc=$?
  printf '%s, seed %s, exit status %s\n' "$model" "$seed" "$rc"
  sed 's/^/  /' "$report"
}
export -f run lens_of
export build frames path results
for model in ${models//,/ }; do
  for ((seed = 1; seed <= seeds; ++seed)); do printf '%s %s\n' "$model" "$seed"; done
done | xargs -P "$jobs" -L 1 bash -c 'run "$@"' run
