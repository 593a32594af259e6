#!/usr/bin/env bash
# Makes the pictures of docs/view.md: the live view of a rendered walk through a room, in a headless Chromium.
#
#   tools/make-screenshots.sh [BUILD]     default: build/dev, with the targets glint and glint-scene
#
# Needs the packages of scripts/setup.sh view.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/dev}")
glint=$build/client/glint
pictures=$PWD/docs/pictures
devtools=$PWD/tests/view/devtools.py
folder=$(mktemp -d)
view=''
cleanup() {
  [[ -z $view ]] || kill -INT "$view" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap cleanup EXIT

# shoot FILE COMMAND...: a picture of the page of this command, after 60 frames.
shoot() {
  local file=$1 url=
  shift
  : >"$folder/log"
  "$glint" "$@" --server inproc --backend cpu --view 127.0.0.1:0 >"$folder/out" 2>"$folder/log" &
  view=$!
  until url=$(grep -o 'http://[^ ]*' "$folder/log"); do
    kill -0 "$view" 2>/dev/null || { cat "$folder/log" >&2; return 1; }
    sleep 0.1
  done
  python3 "$devtools" "$url" "$pictures/$file" 40 1000 800
  kill -INT "$view" 2>/dev/null || true
  wait "$view" || true
  view=''
}

cd "$folder"  # the page shows names of pictures
"$build/tests/scene/glint-scene" --out room --layout room --motion walk --stereo --color --width 560 \
  --height 420 --frames 60 >/dev/null
# The walk there and back, again and again, so that a command is still at it when the browser looks.
for eye in room room/right; do
  mkdir -p "walk/$eye"
  n=0
  forth=("$PWD/$eye"/*.png)
  back=()
  for ((i = ${#forth[@]} - 2; i > 0; --i)); do back+=("${forth[i]}"); done
  for ((round = 0; round < 30; ++round)); do
    for name in "${forth[@]}" "${back[@]}"; do
      printf -v link '%06d.png' "$((n++))"
      ln -s "$name" "walk/$eye/$link"
    done
  done
done

mkdir -p "$pictures"
shoot view.png view --features 400 --rate 30 room
shoot view-tracks.png track --format none --target 250 walk/room
shoot view-disparity.png stereo --format none --features 1500 walk/room walk/room/right
ls -l "$pictures"/view*.png
