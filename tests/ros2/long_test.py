#!/usr/bin/env python3
"""long_test.py [SECONDS]: a camera of 752x480 at 20 pairs a second for that long (30), in which glint-ros2, the server
and the camera are killed once each and subscribers come and go. What was sent, what came and what was located is
counted on both sides; poses stay right, and memory stays what it was. Twenty minutes: ros2_test.sh long_test.py 1200.
"""
import signal
import sys
import time
import unittest

import flight as flights
import harness

IS_ASKED = len(sys.argv) > 1
SECONDS = float(sys.argv.pop(1)) if IS_ASKED else 30


@unittest.skipUnless(harness.ALL or IS_ASKED, "GLINT_ROS2_ALL is not set, and this takes long")
class LongTest(harness.TestCase):
    def test_long(self):
        flight = flights.rendered("752x480", harness.CACHE)
        rig, listener = self.begin("/path", "/map_points")
        camera = rig.start_camera()
        self.assertTrue(listener.wait_for("/odometry", 20))
        since = 0
        for what in ("glint-ros2", "server", "camera", "nothing"):
            begin, memory = time.monotonic(), []
            while time.monotonic() - begin < SECONDS / 4:
                late = listener.subscribe("/path", "late")
                time.sleep(min(2.0, SECONDS / 20))
                listener.node.destroy_subscription(late)
                memory.append(rig.node.memory() >> 20)
            print(f"before {what} is killed: {memory[0]} to {memory[-1]} MiB of glint-ros2", flush=True)
            self.assertLess(memory[-1] - memory[len(memory) // 4], 100)
            self.counts(rig, listener)
            self.check_poses(flight, rig, listener, 0.05, 0.5, since, 5 + SECONDS / 20)
            if what == "glint-ros2":
                rig.node.end(signal.SIGKILL)
                since = time.time_ns()
                rig.start_node()
            elif what == "server":
                rig.server.end(signal.SIGKILL)
                since = time.time_ns()
                rig.start_server()
            elif what == "camera":
                camera.end(signal.SIGKILL)
                camera = rig.start_camera(first=max(rig.sent().values()) + 1)
            self.assertTrue(listener.wait(lambda: listener.stamps("/odometry")[-1] > since, 90))
        camera.end()
        self.settle(listener)
        self.check_counts(rig, listener)
        self.assertEqual(rig.node.end(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
