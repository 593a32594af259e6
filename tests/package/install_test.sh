#!/usr/bin/env bash
# install_test.sh INSTALL.sh GLINT-SERVER GLINT
# scripts/install.sh in a small source tree that installs programs which are built already: what it puts where, and that
# --uninstall takes all of it and nothing else.
set -euo pipefail
script=$1 server=$2 glint=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install_test.sh: $*" >&2 && exit 1; }

tree=$work/tree prefix=$work/prefix
mkdir -p "$tree/scripts" "$prefix/include"
cp "$script" "$tree/scripts/install.sh"
echo '#pragma once' >"$tree/client.h"
cat >"$tree/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(small NONE)
option(WITH_HEADER "An option to be passed on" OFF)
install(PROGRAMS "$server" "$glint" DESTINATION bin)
if(WITH_HEADER)
  install(FILES client.h DESTINATION "include/glint with blank")
endif()
CMAKE
touch "$prefix/include/other.h"
install=("$tree/scripts/install.sh" --no-setup --prefix "$prefix")

"${install[@]}" -- -DWITH_HEADER=ON >"$work/log" 2>&1 || { cat "$work/log" && fail 'it does not install'; }
grep -q '^backend' "$work/log" || { cat "$work/log" && fail 'the installed programs were not tried'; }
grep -q "$prefix/bin is not in PATH" "$work/log" || fail 'it does not say that PATH lacks the programs'
for file in bin/glint-server bin/glint 'include/glint with blank/client.h' share/glint/installed-files; do
  [[ -e $prefix/$file ]] || fail "$file is not installed"
done

"${install[@]}" >/dev/null 2>&1 || fail 'it does not install a second time'
"${install[@]}" --uninstall >/dev/null || fail 'it does not uninstall'
left=$(cd "$prefix" && find . -type f | sort | paste -sd ' ')
[[ $left == './include/other.h' ]] || fail "left after --uninstall: $left"
[[ ! -e $prefix/bin && ! -e $prefix/share ]] || fail 'empty folders are left'

refused() {  # STATUS TEXT COMMAND...
  local status=0
  "${@:3}" >"$work/said" 2>&1 || status=$?
  [[ $status -eq $1 ]] || fail "status $status, not $1: ${*:3}"
  grep -qF -- "$2" "$work/said" || { cat "$work/said" && fail "it does not say: $2"; }
}
refused 1 "$prefix: nothing is installed" "${install[@]}" --uninstall
refused 2 '--prefx: unknown' "${install[@]}" --prefx x
refused 1 "$work/log/below: not writable" "$tree/scripts/install.sh" --prefix "$work/log/below"
echo 'installed and removed'
