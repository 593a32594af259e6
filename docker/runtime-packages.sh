#!/bin/sh
# runtime-packages.sh PROGRAM...: the distribution's packages whose shared libraries the programs load, one a line.
set -eu

ldd "$@" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | while read -r library; do
  # dpkg knows a file by the path it was packed with, which a merged /usr may have moved.
  dpkg-query -S "$library" 2>/dev/null || dpkg-query -S "$(realpath "$library")" 2>/dev/null ||
    dpkg-query -S "${library#/usr}"
done | sed 's/: .*//; s/:.*//' | sort -u
