#!/usr/bin/env bash
# ros2_test.sh TEST.py [ARGUMENT...]: runs it with a Python that has rclpy: GLINT_ROS2_PYTHON, or what
# tools/ros2-venv.sh has made. harness.py says which variables name the programs.
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
python=${GLINT_ROS2_PYTHON:-$source/../../build/ros2-venv/bin/python}
if ! "$python" -c 'import rclpy, stereo_msgs, numpy' 2>/dev/null; then
  echo "GLINT_SKIP_ALL: $python has no rclpy (tools/ros2-venv.sh; or set GLINT_ROS2_PYTHON)"
  exit 0
fi
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=error::ResourceWarning
test=$1
shift
exec "$python" "$source/$test" "$@"
