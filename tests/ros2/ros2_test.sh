#!/usr/bin/env bash
# ros2_test.sh TEST.py [ARGUMENT...]: runs it with a Python that has rclpy: GLINT_ROS2_PYTHON, or what
# tools/pypi-venv.sh ros2 has made. harness.py says which variables name the programs.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
python=${GLINT_ROS2_PYTHON:-$source/../../build/ros2-venv/bin/python}
if ! "$python" -c 'import rclpy, stereo_msgs, numpy' 2>/dev/null; then
  echo "GLINT_SKIP_ALL: GLINT_ROS2_PYTHON names no Python with rclpy, nor is there one in build/ros2-venv" \
    "(tools/pypi-venv.sh ros2)"
  exit 0
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=error::ResourceWarning
test=$1
shift
exec "$python" "$source/$test" "$@"
