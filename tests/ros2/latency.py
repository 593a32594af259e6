#!/usr/bin/env python3
"""latency.py [SECONDS] [SIZE]: what glint-ros2 adds to a pair, as it says in /diagnostics, and processor time a pair;
beside the same pairs by `glint localize`, whose path is in GLINT_TOOL. Run it by ros2_test.sh, with the variables of
harness.py, on a machine with nothing else to do.
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import time

from nav_msgs.msg import Odometry

import flight as flights
import harness
from listener import Listener, nanoseconds


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    size = sys.argv[2] if len(sys.argv) > 2 else "752x480"
    flight = flights.rendered(size, harness.CACHE)
    with harness.Rig() as rig:
        rig.start_server()
        rig.start_node()
        arrivals = []
        listener = Listener("/odometry", "/diagnostics")
        listener.node.create_subscription(
            Odometry, "/odometry",
            lambda m: arrivals.append(time.time_ns() - nanoseconds(m.header.stamp)), 10)
        camera = rig.start_camera(size)
        assert listener.wait_for("/odometry", 40), "no poses"
        begin, count, processor = time.monotonic(), listener.count["/odometry"], rig.node.cpu_seconds()
        time.sleep(seconds)
        took, pairs = time.monotonic() - begin, listener.count["/odometry"] - count
        processor = rig.node.cpu_seconds() - processor
        figures = listener.figures("localize")
        camera.end()
        listener.close()
        print(f"{size}: {pairs / took:.1f} pairs/s answered, {1e3 * processor / pairs:.2f} ms of processor a pair")
        for name in ("latency_ms", "server_ms", "bridge_ms"):
            print(f"  {name}: p50 {figures[name + ' p50']:.3f}, max {figures[name + ' max']:.3f}")
        print(f"  from the stamp to the odometry at a node of rclpy: p50 {statistics.median(arrivals) / 1e6:.2f} ms")
        compare(rig, flight)


def compare(rig, flight):
    """The same pairs by `glint localize`."""
    if "GLINT_TOOL" not in os.environ:
        return
    command = [os.environ["GLINT_TOOL"], "localize", f"--server=unix:{rig.folder / 'socket'}",
               f"--calibration={flight.folder / 'calib.txt'}", str(flight.folder), str(flight.folder / "right")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = [float(word) for word in re.findall(r"([\d.]+) ms$", text, re.MULTILINE)]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"glint localize, {len(times)} pairs: p50 {statistics.median(times):.2f} ms a pair, "
          f"{1e3 * processor / len(times):.2f} ms of processor (decoding included)")


if __name__ == "__main__":
    main()
