#!/usr/bin/env bash
# A new user's way, timed: the commands of the README's section Install, each in an empty Debian 12 root.
#
#   tools/time-first-steps.sh FILES [package|python|source]...     default: package python
#
#   FILES  a folder with the packages of a release (scripts/release.sh)
#
# Prints, for each way, the seconds until the first keypoints, the seconds of processor time, and what apt fetched.
# `source` compiles everything. Needs root, mmdebstrap and a Debian mirror. BASE names an archive (tar) with the empty
# root, which is made if it is not there; making it is not timed.
set -euo pipefail
case ${1:---help} in
  -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 0 ;;
esac
files=$(realpath "$1")
shift
[[ $# -gt 0 ]] || set -- package python
cd "$(dirname "$0")/.."
[[ $EUID -eq 0 ]] || { echo 'time-first-steps.sh: needs root' >&2 && exit 1; }
command -v mmdebstrap >/dev/null || { echo 'time-first-steps.sh: install mmdebstrap' >&2 && exit 1; }

work=$(mktemp -d)
finish() {
  set +e
  for root in "$work"/*.root; do
    # What the commands started and left.
    for process in /proc/[0-9]*; do
      [[ $(readlink "$process/root") != "$root" ]] || kill -KILL "${process#/proc/}"
    done
    umount "$root/proc"
  done 2>/dev/null
  rm -rf --one-file-system "$work"
}
trap finish EXIT
fail() { echo "time-first-steps.sh: $*" >&2 && exit 1; }

base=${BASE:-$work/base.tar}
[[ -e $base ]] || mmdebstrap --quiet --variant=minbase bookworm "$base"
printf '%-8s  %10s  %14s  %9s\n' way 'seconds' 'processor, s' 'packages'
for way; do
  commands=$(python3 -B tests/deploy/doc_commands.py README.md "$way")
  [[ -n $commands ]] || fail "README.md has no commands that are marked \"run: $way\""
  root=$work/$way.root
  mkdir "$root"
  tar -C "$root" -xf "$base"
  mount -t proc proc "$root/proc"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  if [[ $way == source ]]; then
    git archive --prefix=root/ HEAD | tar -C "$root" -x
  else
    cp "$files"/*.deb "$root/root"
  fi
  cp docs/examples/wall.jpg "$root/root/photo.jpg"
  printf 'set -e\ncd /root\nexport DEBIAN_FRONTEND=noninteractive\n%s' "$commands" >"$root/root/commands.sh"
  began=$(date +%s.%N)
  TIMEFORMAT='%U %S'
  { time chroot "$root" env -i HOME=/root PATH="$PATH" bash /root/commands.sh >"$work/log" 2>&1; } 2>"$work/times" ||
    { tail -20 "$work/log" && fail "$way"; }
  ended=$(date +%s.%N)
  grep -qE 'keypoints' "$work/log" || { tail -20 "$work/log" && fail "$way: no keypoints"; }
  packages=$(chroot "$root" dpkg-query -W | wc -l)
  awk -v way="$way" -v began="$began" -v ended="$ended" -v packages="$packages" '
    { printf "%-8s  %10.0f  %14.0f  %9d\n", way, ended - began, $1 + $2, packages }' "$work/times"
done
