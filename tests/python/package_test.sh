#!/usr/bin/env bash
# package_test.sh FOLDER
# Makes the wheel and the Debian package and uses the modules in each.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
folder=$1

python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import google.protobuf, grpc, numpy, setuptools, wheel' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]] || ! command -v protoc dpkg-deb >/dev/null; then
  echo "GLINT_SKIP_ALL: no python3 with grpcio, protobuf, numpy, setuptools and wheel, or no protoc or dpkg-deb"
  exit 0
fi
rm -rf "$folder"
"$source/../../scripts/package-python.sh" --output "$folder" --python "$python"
dpkg-deb -x "$folder"/python3-glint_*.deb "$folder/deb"
for path in "$folder"/glint-*.whl "$folder/deb/usr/lib/python3/dist-packages"; do
  PYTHONPATH=$path:$source "$python" "$source/wire_test.py"
done
