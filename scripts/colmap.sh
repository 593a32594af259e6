#!/usr/bin/env bash
# Reconstructs a sequence of pictures by COLMAP 3.8 from Glint's features and matches, and judges the result.
#
#   scripts/colmap.sh [--build DIR] [--next N] [--intrinsics F,CX,CY] FOLDER
#
#   --build       with glint; default: build/release
#   --next        each picture is matched with as many that follow it; default 5
#   --intrinsics  focal length and centre of rectified pictures, pixels; default: COLMAP estimates them
#
# Prints COLMAP's summary. Fails unless all pictures are registered in one model and the mean reprojection error is below
# 1 px. Needs the package colmap, and no GPU. 51 pictures of KITTI take four minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release next=5 camera=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --build) build=${2:?} && shift 2 ;;
    --next) next=${2:?} && shift 2 ;;
    --intrinsics)
      camera=(--ImageReader.camera_model SIMPLE_PINHOLE --ImageReader.camera_params "${2:?}") && shift 2
      refine=0
      ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) echo "colmap.sh: $1: unknown" >&2 && exit 2 ;;
    *) break ;;
  esac
done
[[ $# -eq 1 && -d $1 ]] || { echo "colmap.sh: needs one folder of pictures" >&2 && exit 2; }
pictures=$(realpath "$1")
command -v colmap >/dev/null || { echo "colmap.sh: colmap is not installed (apt-get install colmap)" >&2 && exit 2; }
[[ -x $build/client/glint ]] || { echo "colmap.sh: no $build/client/glint: build it, or --build DIR" >&2 && exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export QT_QPA_PLATFORM=offscreen
# Runs COLMAP; its output is shown only if it fails.
colmap_step() {
  colmap "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2 && exit 1; }
}

# Three levels: corners of coarse ones are whole pixels there, and would be several pixels off on the picture.
"$build/client/glint" match --server inproc --backend cpu --detector orb --levels 3 --features 3000 --cross-check \
  --max-distance 50 --next "$next" --format colmap --output "$work/import" "$pictures"
colmap_step feature_importer --database_path "$work/db" --image_path "$pictures" --import_path "$work/import" \
  --ImageReader.single_camera 1 ${camera[@]+"${camera[@]}"}
colmap_step matches_importer --database_path "$work/db" --match_list_path "$work/import/matches.txt" \
  --match_type raw --SiftMatching.use_gpu 0
mkdir "$work/models"
colmap_step mapper --database_path "$work/db" --image_path "$pictures" --output_path "$work/models" \
  --Mapper.ba_refine_focal_length "${refine:-1}" --Mapper.ba_refine_extra_params "${refine:-1}"

expected=$(find "$work/import" -name '*.txt' ! -name matches.txt | wc -l)
[[ -d $work/models/0 ]] || { echo "colmap.sh: COLMAP found no model" >&2 && exit 1; }
colmap model_analyzer --path "$work/models/0" >"$work/summary" 2>&1
grep ':' "$work/summary"
awk -v expected="$expected" '
  /^Registered images:/ { registered = $3 }
  /^Mean reprojection error:/ { error = $4 + 0 }
  END {
    if (registered != expected) { print "colmap.sh: " registered " of " expected " pictures registered"; exit 1 }
    if (!(error > 0 && error < 1)) { print "colmap.sh: mean reprojection error " error " px, not below 1"; exit 1 }
  }' "$work/summary" >&2
