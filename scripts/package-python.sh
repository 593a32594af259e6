#!/usr/bin/env bash
# Makes the Python client as a wheel and as a Debian package, python3-glint.
#
#   scripts/package-python.sh [--output DIR] [--python PROGRAM]
#
#   --output  default: build/python
#   --python  a Python 3 with setuptools and wheel; default: the first of python3, /usr/bin/python3 that has them
#
# Needs what `scripts/setup.sh python` installs.
set -euo pipefail
cd "$(dirname "$0")/.."

output=build/python
python=
while [[ $# -gt 0 ]]; do
  case $1 in
    --output) output=${2:?} && shift 2 ;;
    --python) python=${2:?} && shift 2 ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) echo "package-python.sh: $1: unknown" >&2 && exit 2 ;;
  esac
done
for candidate in $python python3 /usr/bin/python3; do
  if "$candidate" -c 'import setuptools, wheel' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if ! "${python:-false}" -c 'import setuptools, wheel' 2>/dev/null; then
  echo "package-python.sh: no Python with setuptools and wheel (scripts/setup.sh python)" >&2
  exit 1
fi
command -v protoc >/dev/null || { echo "package-python.sh: protoc is missing (scripts/setup.sh python)" >&2 && exit 1; }

mkdir -p "$output"
output=$(realpath "$output")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r python proto "$stage"
(cd "$stage/python" && "$python" setup.py --quiet bdist_wheel --dist-dir "$output" >"$stage/log" 2>&1) ||
  { cat "$stage/log" >&2 && exit 1; }

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' python/glint/__init__.py)
root=$stage/deb
mkdir -p "$root/DEBIAN" "$root/usr/lib/python3/dist-packages" "$root/usr/share/doc/python3-glint"
cp -r "$stage/python/build/lib/glint" "$root/usr/lib/python3/dist-packages/"
cp LICENSE "$root/usr/share/doc/python3-glint/copyright"
cat >"$root/DEBIAN/control" <<CONTROL
Package: python3-glint
Version: $version
Architecture: all
Section: python
Priority: optional
Maintainer: Glint maintainers <maintainers@glint.invalid>
Depends: python3 (>= 3.9), python3-grpcio (>= 1.51), python3-protobuf (>= 3.20.2), python3-numpy (>= 1:1.21)
Suggests: python3-opencv, python3-h5py, python3-distributed
Description: client of the feature-detection server Glint
 Oriented FAST features and their relatives from a Glint server as numpy
 arrays, their matches and tracks; with OpenCV's interfaces of ORB and
 BFMatcher.
CONTROL
find "$root/usr" -type d -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
dpkg-deb --root-owner-group --build "$root" "$output/python3-glint_${version}_all.deb" >/dev/null
ls "$output"/glint-"$version"-*.whl "$output/python3-glint_${version}_all.deb"
