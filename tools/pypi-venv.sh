#!/usr/bin/env bash
# pypi-venv.sh NAME: installs what some tests want of PyPI into a virtual environment, build/NAME-venv, in pinned
# versions. Nothing outside that folder changes; nothing happens if it is there. Needs PyPI, and python3-venv.
#
#   rosbags  for the tests of recordings in Python (tests/python/requirements.txt), beside the system's numpy: 15 s,
#            60 MB
#   ros2     nodes of ROS 2 Kilted, rclpy, for those of glint-ros2 (tests/ros2/requirements.txt): 20 to 45 s, 270 MB.
#            For a Python of 3.11 to 3.13 on x86-64
#
# PYTHON names another interpreter than the distribution's.
set -euo pipefail
cd "$(dirname "$0")/.."
options=()
python=${PYTHON:-/usr/bin/python3}
case ${1-} in
  rosbags)  # for the distribution's Python, which has grpcio and numpy
    wanted=tests/python/requirements.txt probe='import rosbags.rosbag2'
    options=(--system-site-packages)
    ;;
  ros2)
    wanted=tests/ros2/requirements.txt
    probe='import rclpy; rclpy.init(); rclpy.create_node("probe"); rclpy.shutdown()'
    ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
folder=build/$1-venv
if ! cmp --silent "$wanted" "$folder/requirements.txt"; then
  rm -rf "$folder"
  "$python" -m venv "${options[@]}" "$folder"
  "$folder/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --no-deps --only-binary :all: \
    --requirement "$wanted"
  cp "$wanted" "$folder/requirements.txt"
fi
"$folder/bin/python" -c "$probe"
echo "$PWD/$folder/bin/python"
