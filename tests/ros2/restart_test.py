#!/usr/bin/env python3
"""glint-ros2 where something ends or stands still: the server, glint-ros2 itself, the camera, the network; and one that
comes late. What was sent, what came and what was located is counted on both sides."""
import os
import signal
import time
import unittest

import flight as flights
import harness
from listener import RELIABLE


class RestartTest(harness.TestCase):
    def goes_on(self, listener, count=10):
        self.assertTrue(listener.wait_for("/odometry", listener.count["/odometry"] + count, 90), "no poses any more")

    def right(self, rig, listener, since=0):
        """Poses after `since` (a stamp) are right relative to the first of them."""
        flight = flights.rendered("752x480", harness.CACHE)
        self.check_poses(flight, rig, listener, 0.03, 0.5, since)

    def test_server(self):
        rig, listener = self.begin()
        rig.start_camera()
        self.goes_on(listener, 20)
        self.right(rig, listener)
        rig.server.end(signal.SIGKILL)
        self.assertTrue(listener.wait(lambda: listener.level("server") > 0), "the loss is not in /diagnostics")
        count = listener.count["/odometry"]
        time.sleep(1)
        self.assertLess(listener.count["/odometry"] - count, 5)
        again = time.time_ns()
        rig.start_server()
        self.goes_on(listener, 20)
        self.assertTrue(listener.wait(lambda: listener.level("server") == 0))
        self.right(rig, listener, again)
        self.assertTrue(rig.node.running())
        self.end(rig, listener)

    def test_node(self):
        rig, listener = self.begin()
        rig.start_camera()
        self.goes_on(listener, 20)
        rig.node.end(signal.SIGKILL)
        again = time.time_ns()
        rig.start_node()
        self.goes_on(listener, 20)
        self.right(rig, listener, again)
        self.end(rig, listener)

    def test_node_first(self):
        """Neither server nor camera is there when it begins."""
        rig, listener = self.begin(server=False)
        self.assertTrue(listener.wait(lambda: listener.level("server") > 0))
        camera = rig.start_camera()
        time.sleep(2)
        rig.start_server()
        self.goes_on(listener)
        camera.end()
        self.right(rig, listener)

    def test_map_is_kept(self):
        """load_at_start: poses are in the saved map again after the server was killed."""
        flight = flights.rendered("752x480", harness.CACHE)
        rig, listener = self.begin(localize=", load_at_start: true, save_every: 1")
        camera = rig.start_camera()
        self.assertTrue(listener.wait_for("/pose", 60))
        before = listener.messages["/pose"][0]
        self.assertTrue(harness.wait_until(lambda: any(rig.maps.iterdir())))
        time.sleep(2)
        rig.server.end(signal.SIGKILL)
        again = time.time_ns()
        rig.start_server()
        self.assertTrue(listener.wait(lambda: any(s > again for s in listener.stamps("/pose")), 90))
        self.assertTrue(listener.wait_for("/pose", listener.count["/pose"] + 10))
        camera.end()
        wrong = harness.errors(flight, rig.sent(), [before, listener.messages["/pose"][-1]])[1]
        self.assertLess(wrong[0], 0.03)
        self.assertLess(wrong[1], 0.5)

    def test_camera(self):
        rig, listener = self.begin()
        camera = rig.start_camera()
        self.goes_on(listener, 20)
        camera.end(signal.SIGKILL)
        rig.start_camera(first=max(rig.sent().values()) + 1)
        self.goes_on(listener, 20)
        self.right(rig, listener)
        self.end(rig, listener)

    def test_late(self):
        """Who subscribes late has the path, the map and the fixed transforms at once."""
        rig, listener = self.begin("/path", "/map_points")
        camera = rig.start_camera()
        self.assertTrue(listener.wait_for("/map_points"))
        self.assertEqual(camera.end(), 0)
        self.settle(listener)
        listener.subscribe("/path", "late path")
        listener.subscribe("/map_points", "late map")
        listener.subscribe("/path", "volatile path", RELIABLE)
        transforms = rig.start_tf_echo("/tf_static", "latched")
        self.assertTrue(listener.wait_for("late path") and listener.wait_for("late map"))
        self.assertEqual(listener.messages["late path"][-1], listener.messages["/path"][-1])
        self.assertEqual(listener.count["volatile path"], 0)
        self.assertTrue(harness.wait_until(lambda: "\n" in transforms.text()))
        pairs = {(parent, child) for _, parent, child, _ in harness.transforms(transforms.text().splitlines()[0])}
        self.assertIn(("base_link", "left_camera"), pairs)

    @harness.takes_long
    def test_lost(self):
        """A second in which glint-ros2 reads nothing: fragments of best effort are lost, and counted; poses go on."""
        flight = flights.rendered("1920x1080", harness.CACHE, 20)
        rig, listener = self.begin()
        camera = self.start_found_camera(rig, listener, "1920x1080", pairs_rendered=20, best_effort=True, pairs=300)
        self.goes_on(listener, 5)
        os.kill(rig.node.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(rig.node.pid, signal.SIGCONT)
        self.goes_on(listener, 5)
        camera.end(0, 120)
        self.settle(listener)
        self.check_poses(flight, rig, listener, 0.03, 0.5)
        counts = self.check_counts(rig, listener)
        for side in harness.SIDES:
            topic = f"/stereo/{side}/image_rect"
            self.assertGreater(counts[topic + " lost"], 0)
            # But for those that were sent before they had found one another.
            self.assertAlmostEqual(counts[topic + " messages"] + counts[topic + " lost"], counts["sent"], delta=3)
        self.assertIn("net.core.rmem_max", rig.node.text())

    def end(self, rig, listener):
        for camera in rig.cameras:
            camera.end()
        self.settle(listener)
        self.check_counts(rig, listener)
        self.assertEqual(rig.node.end(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
