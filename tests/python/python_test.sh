#!/usr/bin/env bash
# python_test.sh FOLDER GLINT-SERVER TEST...
# Builds the Python package into FOLDER and runs the tests against it. Uses the first Python that has what is needed.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
folder=$1
export GLINT_SERVER_PROGRAM=$2
shift 2

python=
for candidate in python3 /usr/bin/python3; do
  if command -v "$candidate" >/dev/null && "$candidate" -c 'import google.protobuf, grpc, numpy, setuptools' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [[ -z $python ]] || ! command -v protoc >/dev/null; then
  echo "GLINT_SKIP_ALL: no python3 with grpcio, protobuf, numpy and setuptools, or no protoc" \
    "(apt-get install python3-grpcio python3-protobuf python3-numpy python3-setuptools protobuf-compiler)"
  exit 0
fi
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$source/../../python" "$source/../../proto" "$folder"
(cd "$folder/python" && "$python" setup.py --quiet build_py --build-lib "$folder/lib" >"$folder/build.log" 2>&1) ||
  { cat "$folder/build.log" && exit 1; }
export PYTHONPATH=$folder/lib:$source PYTHONWARNINGS=error::ResourceWarning
# Where tools/pypi-venv.sh has put rosbags, if it is for this Python.
for packages in "$source"/../../build/rosbags-venv/lib/python*/site-packages; do
  if PYTHONPATH=$packages "$python" -c 'import rosbags.rosbag2' 2>/dev/null; then PYTHONPATH+=:$packages; fi
done
for test in "$@"; do
  "$python" "$source/$test" --verbose
done
