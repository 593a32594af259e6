#!/usr/bin/env bash
# Builds Glint from this source tree and installs it, where there is no package of it: server, command line, library.
#
#   scripts/install.sh [--prefix DIR] [--build DIR] [--no-setup] [-- CMAKE-OPTION...]
#   scripts/install.sh --uninstall [--prefix DIR]
#
#   --prefix     default: /usr/local
#   --build      default: build/install; an existing folder is continued
#   --no-setup   what the build needs is installed already; without it, apt installs it
#   --uninstall  removes what was installed there
#
# JOBS in the environment: compilers at the same time. CUDA is built if nvcc is found, unless -DGLINT_CUDA=OFF is a
# CMAKE-OPTION. The systemd unit comes with the Debian package alone.
set -euo pipefail

prefix=/usr/local build='' setup=1 uninstall=0
while [[ $# -gt 0 ]]; do
  case $1 in
    --prefix) prefix=${2:?} && shift 2 ;;
    --build) build=$(realpath -m -- "${2:?}") && shift 2 ;;
    --no-setup) setup=0 && shift ;;
    --uninstall) uninstall=1 && shift ;;
    --) shift && break ;;
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "install.sh: $1: unknown; see --help" >&2 && exit 2 ;;
  esac
done
prefix=$(realpath -m -- "$prefix")
cd "$(dirname "$0")/.."
build=${build:-$PWD/build/install}
# What was installed, one file a line, for --uninstall.
manifest=$prefix/share/glint/installed-files

writable=$prefix
while [[ ! -e $writable ]]; do writable=$(dirname "$writable"); done
if [[ ! -d $writable || ! -w $writable ]]; then
  echo "install.sh: $prefix: not writable: run it as root, or choose another --prefix" >&2
  exit 1
fi

if [[ $uninstall -eq 1 ]]; then
  [[ -e $manifest ]] || { echo "install.sh: $prefix: nothing is installed here by this script" >&2 && exit 1; }
  folders=()
  while IFS= read -r file; do
    rm -f -- "$file"
    folders+=("$(dirname "$file")")
  done <"$manifest"
  rm -- "$manifest"
  # Folders that are empty now, deepest first; the prefix itself stays.
  printf '%s\n' "${folders[@]}" "$(dirname "$manifest")" | sort -ru | while IFS= read -r folder; do
    while [[ $folder == "$prefix"/* ]] && rmdir -- "$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
  done
  echo "removed from $prefix"
  exit 0
fi

[[ $setup -eq 0 ]] || scripts/setup.sh build
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DGLINT_BENCH=OFF "$@" >/dev/null
cmake --build "$build" ${JOBS:+--parallel "$JOBS"}
cmake --install "$build" --prefix "$prefix" >/dev/null
mkdir -p "$(dirname "$manifest")"
{
  cat "$build/install_manifest.txt"
  echo
} | sed '/^$/d' >"$manifest"

"$prefix/bin/glint-server" --version
"$prefix/bin/glint" info --server inproc | head -n 3
echo "installed in $prefix; scripts/install.sh --uninstall --prefix $prefix removes it"
[[ :$PATH: == *:$prefix/bin:* ]] || echo "$prefix/bin is not in PATH"
