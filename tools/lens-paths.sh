#!/usr/bin/env bash
# Locates KITTI's stereo camera along a true path, rendered as a pinhole sees it and through each lens: the same world,
# noise and brightness, raw images, the calibration in a file. Prints what `glint localize` says of the path.
#
#   tools/lens-paths.sh [--build DIR] [--frames N] [--seeds N] [--models LIST] [--jobs N] FILE
#
#   FILE      lines of "t x y z qx qy qz qw", as trajectories/kitti_06.txt of the test data has them
#   --build   where client/glint and tests/scene/glint-scene are; default: build/ci
#   --frames  of the path at most; default: all
#   --seeds   worlds for each model, 1..N; default: 1
#   --models  names, with commas between them; default: all of docs/cameras.md
#   --jobs    runs at the same time; default: one for each processor
#
# Pictures take 1 GB for each run at a time (kitti_06). Results are left in build/lens-paths.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/ci
frames=0
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
    -h | --help) sed -n '2,15s/^# \{0,1\}//p' "$0" && exit 0 ;;
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
  local model=$1 seed=$2 pictures lens rc=0
  lens=$(lens_of "$model") || return
  pictures=$(mktemp -d "$results/$model.XXXXXX")
  local scene=(--out "$pictures" --stereo --trajectory "$path" --camera_model "$model" --seed "$seed" --noise 2
    --gain 0.2 --width 1226 --height 370 --focal 707.0912 --cx 601.8873 --cy 183.1104 --baseline 0.537)
  [[ -z $lens ]] || scene+=("--lens=$lens")
  [[ $frames -eq 0 ]] || scene+=(--frames "$frames")
  local calibration=$pictures
  [[ $model != pinhole ]] || calibration=$pictures/calib.txt
  local report=$results/$model.$seed.txt
  { "$build/tests/scene/glint-scene" "${scene[@]}" &&
    "$build/client/glint" localize --server inproc --backend cpu --format none --calibration "$calibration" \
      --times "$pictures/times.txt" --truth "$path" "$pictures" "$pictures/right"; } >"$report" 2>&1 || rc=$?
  rm -r "$pictures"
  printf '%s, seed %s, exit status %s\n' "$model" "$seed" "$rc"
  sed 's/^/  /' "$report"
}
export -f run lens_of
export build frames path results
for model in ${models//,/ }; do
  for ((seed = 1; seed <= seeds; ++seed)); do printf '%s %s\n' "$model" "$seed"; done
done | xargs -P "$jobs" -L 1 bash -c 'run "$@"' run
