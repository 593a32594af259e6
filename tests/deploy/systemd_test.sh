#!/usr/bin/env bash
# The units are ones that systemd understands, and they are exposed to less than 3.0 of 10: the server's without and with a
# GPU, and that of glint-ros2.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=/dev/null
. tests/deploy/skip.sh
need systemd-analyze

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
units=$work/units
mkdir "$units"
# verify wants the program to be there.
take() {
  unit=$1
  sed "s|^ExecStart=/usr/bin/[a-z0-9-]* |ExecStart=$(type -P true) |" "deploy/systemd/$unit" >"$units/$unit"
}

score() {
  systemd-analyze security --offline=true "$units/$unit" | sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p'
}

check() {
  local complaints exposure
  complaints=$(systemd-analyze verify --man=no "$units/$unit" 2>&1 | grep -F "$unit" || true)
  [[ -z $complaints ]] || { echo "$1: $complaints" && exit 1; }
  exposure=$(score)
  echo "$1: exposure $exposure"
  awk -v exposure="$exposure" 'BEGIN { exit !(exposure != "" && exposure < 3.0) }'
}

take glint-ros2.service
check 'in ROS 2'
take glint-server.service
check 'without a GPU'
mkdir "$units/$unit.d"
cp "deploy/systemd/$unit.d/gpu.conf" "$units/$unit.d/"
check 'with a GPU'

# The checks above do notice: a setting that does not exist, and a unit without its walls.
sed -i 's/^PrivateTmp=/PrivateTemp=/' "$units/$unit"
systemd-analyze verify --man=no "$units/$unit" 2>&1 | grep -q PrivateTemp
sed -i '/^\(Protect\|Private\|Restrict\|Capability\|SystemCall\|NoNew\)/d' "$units/$unit"
awk -v exposure="$(score)" 'BEGIN { exit !(exposure > 5.0) }'
