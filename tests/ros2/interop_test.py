#!/usr/bin/env python3
"""glint-ros2 with nodes of ROS 2 (rclpy): poses beside the truth, what the graph shows, services, features.

GLINT_ROS2_SECONDS: how long cameras send; 4, with GLINT_ROS2_ALL 10.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np

import flight as flights
import harness
from harness import wait_until
from listener import TOPICS, nanoseconds

SECONDS = float(os.environ.get("GLINT_ROS2_SECONDS", "10" if harness.ALL else "4"))
FEATURES = "stereo: {enabled: true}\ntrack: {enabled: true}\ndetect: {enabled: true}\n"
TRACKED = 1  # tracks: fields "state"
# Of the packages of Kilted (share/PACKAGE/msg/NAME.json), and of tf2_msgs.
HASHES = {
    "nav_msgs/msg/Odometry": "3cc97dc7fb7502f8714462c526d369e35b603cfc34d946e3f2eda2766dfec6e0",
    "nav_msgs/msg/Path": "1957a5bb3cee5da65c4e52e52b65a93df227efce4c20f8458b36e73066ca334b",
    "geometry_msgs/msg/PoseWithCovarianceStamped": "26432f9803e43727d3c8f668d1fdb3c630f548af631e2f4e31382371bfea3b6e",
    "sensor_msgs/msg/PointCloud2": "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5",
    "stereo_msgs/msg/DisparityImage": "1ec1ff6b5bace919e4544a37f2d96ead9f81783701b7b7a4d97a09325ecf2711",
    "diagnostic_msgs/msg/DiagnosticArray": "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "sensor_msgs/msg/Image": "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47",
    "sensor_msgs/msg/CameraInfo": "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275",
}


class InteropTest(harness.TestCase):
    def fly(self, flight, size, metres, degrees, encoding="mono8", **options):
        """One camera from the beginning to the end: poses are those of pairs that were sent, in their order, each once,
        and right."""
        rig, listener = self.begin("/path", "/map_points", encoding=encoding)
        transforms = rig.start_tf_echo("/tf")
        pairs = int(SECONDS * flights.RATE)
        camera = self.start_found_camera(rig, listener, size, pairs=pairs, **options)
        self.assertTrue(listener.wait_for("/odometry"), "no pose came")
        self.assertEqual(camera.end(0, SECONDS + 120), 0)
        self.settle(listener)
        self.assertEqual(len(rig.sent()), pairs)
        odometry = self.check_poses(flight, rig, listener, metres, degrees)
        self.check_counts(rig, listener)
        return rig, listener, odometry, transforms

    def test_poses(self):
        flight = flights.rendered("752x480", harness.CACHE)
        rig, listener, odometry, transforms = self.fly(flight, "752x480", 0.03, 0.5)
        self.assertGreater(len(odometry), 10)  # of a busy machine, too
        self.assertEqual(listener.stamps("/pose"), [nanoseconds(m.header.stamp) for m in odometry])
        self.assertGreater(listener.count["/path"], 0)
        self.assertGreater(listener.messages["/map_points"][-1].width, 100)
        for message in odometry:
            self.assertEqual((message.header.frame_id, message.child_frame_id), ("odom", "base_link"))
            covariance = np.array(message.pose.covariance).reshape(6, 6)
            np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)
            self.assertGreaterEqual(np.linalg.eigvalsh(covariance).min(), -1e-12)
        # The last transforms say the same as the last odometry.
        sent = {stamp: (parent, child, pose) for line in transforms.text().splitlines()
                for stamp, parent, child, pose in harness.transforms(line) if child == "base_link"}
        stamps = [nanoseconds(m.header.stamp) for m in odometry]
        first = max(min(sent), stamps[0])  # for both to be found takes a while
        self.assertEqual([s for s in sorted(sent) if s >= first], [s for s in stamps if s >= first])
        parent, child, pose = sent[nanoseconds(odometry[-1].header.stamp)]
        self.assertEqual(parent, "odom")
        np.testing.assert_allclose(pose, harness.pose_of(odometry[-1].pose.pose), atol=1e-9)
        self.check_speeds(flight, rig.sent(), odometry)

    def check_speeds(self, flight, sent, odometry):
        """Velocities are those of the base in its own axes, by the stamps, where no pair was left out."""
        numbers = [sent[nanoseconds(m.header.stamp)] for m in odometry]
        off = []
        for i in range(2, len(odometry)):
            if numbers[i] != numbers[i - 1] + 1:
                continue
            step = (nanoseconds(odometry[i].header.stamp) - nanoseconds(odometry[i - 1].header.stamp)) / 1e9
            before, now = (harness.in_base(flight.pose(numbers[j])) for j in (i - 1, i))
            move = np.linalg.inv(now)[:3, :3] @ (now - before)[:3, 3]
            speed = odometry[i].twist.twist.linear
            off.append(np.linalg.norm(np.array([speed.x, speed.y, speed.z]) * step - move))
        self.assertGreater(len(off), 0)  # few on a busy machine
        self.assertLess(np.median(off), 0.005)  # metres; the camera moves up to 0.035

    @harness.takes_long
    def test_large(self):
        """1080p. What a busy machine does not manage is counted, and the rest is right."""
        flight = flights.rendered("1920x1080", harness.CACHE, 20)
        self.fly(flight, "1920x1080", 0.03, 0.5, pairs_rendered=20)

    def test_best_effort(self):
        """As most drivers of cameras publish."""
        flight = flights.rendered("752x480", harness.CACHE)
        self.fly(flight, "752x480", 0.03, 0.5, best_effort=True)

    def test_recorded(self):
        """KITTI 06, compressed, 10 pairs a second."""
        flight = flights.recorded(os.environ.get("GLINT_TEST_DATA"))
        if flight is None:
            self.skipTest("GLINT_TEST_DATA has no kitti_06")
        self.fly(flight, None, 1.0, 1.5, encoding="png", rate=10)

    @harness.takes_long
    def test_inertial(self):
        """With an inertial sensor the map is level, and odometry goes on over the turn that makes it so."""
        flight = flights.inertial(harness.CACHE)
        rows = ", ".join(f"{value:.9f}" for value in flight.camera_from_imu.ravel())
        rig, listener = self.begin(more=f"imu: {{topic: /stereo/imu, camera_from_imu: [{rows}]}}\n")
        # Slower than its stamps: on a busy machine, too.
        camera = self.start_found_camera(rig, listener, None, inertial=True, rate=8)
        self.assertTrue(listener.wait_for("/odometry"), "no pose came")
        self.assertEqual(camera.end(0, 120), 0)
        self.settle(listener)
        self.check_counts(rig, listener)
        self.assertEqual(listener.statuses()["glint: localize"].get("imu"), "READY")
        sent, odometry = rig.sent(), list(listener.messages["/odometry"])
        self.assertGreater(len(odometry), 40)
        far, turned = (max(values) for values in zip(*harness.errors(flight, sent, odometry)))
        print(f"{len(odometry)} of {len(sent)} located, off by at most {far:.3f} m, {turned:.2f} degrees")
        self.assertLess(far, 0.1)
        self.assertLess(turned, 2)
        last = listener.messages["/pose"][-1]
        up = flight.pose(sent[nanoseconds(last.header.stamp)])[:3, :3].T @ flight.up  # in the camera's axes
        up = flights.matrix(*harness.BASE_FROM_CAMERA)[:3, :3] @ up
        tilt = np.degrees(np.arccos((harness.pose_of(last.pose.pose)[:3, :3] @ up)[2]))
        self.assertLess(tilt, 1.5)

    def test_graph(self):
        rig, listener = self.begin(more=FEATURES)
        camera = rig.start_camera(rate=8)
        self.assertTrue(listener.wait_for("/odometry"))
        graph = subprocess.run([sys.executable, harness.HERE / "graph.py"], capture_output=True, text=True,
                               timeout=120, check=True)
        camera.end()
        self.assertEqual(graph.stderr, "")  # no warning
        seen = json.loads(graph.stdout)
        self.assertIn(["glint", "/"], seen["nodes"])
        for service in ("reset", "save_map", "load_map"):
            self.assertEqual(seen["services"].get(f"/glint/{service}"), ["std_srvs/srv/Trigger"], service)
        latched = {"/path", "/map_points", "/tf_static"}
        for topic, publishers in seen["publishers"].items():
            (publisher,) = publishers
            self.assertEqual(publisher["node"], "glint", topic)
            self.assertEqual(publisher["hash"], "RIHS01_" + HASHES[publisher["type"]], topic)
            self.assertEqual(publisher["latched"], topic in latched, topic)
            self.assertTrue(publisher["reliable"], topic)
        self.assertEqual(len(seen["subscriptions"]), 4)
        for topic, subscriptions in seen["subscriptions"].items():
            (subscription,) = subscriptions
            self.assertEqual(subscription["node"], "glint", topic)
            self.assertEqual(subscription["hash"], "RIHS01_" + HASHES[subscription["type"]], topic)
            self.assertFalse(subscription["reliable"], topic)
        for topic in TOPICS:
            self.assertGreater(seen["received"].get(topic, 0), 0, topic)

    def test_features(self):
        """Keypoints and tracks lie in the picture; points of pairs and disparities are those of the scene."""
        flight = flights.rendered("752x480", harness.CACHE)
        topics = ("/keypoints", "/tracks", "/stereo_points", "/disparity")
        rig, listener = self.begin(*topics, more=FEATURES)
        camera = rig.start_camera()
        for topic in topics:
            self.assertTrue(listener.wait_for(topic, 10), topic)
        camera.end()
        sent = rig.sent()
        for topic in topics:
            stamps = listener.stamps(topic)
            self.assertEqual(set(stamps) - set(sent), set(), topic)
            self.assertEqual(stamps, sorted(set(stamps)), topic)
            self.assertEqual({m.header.frame_id for m in listener.messages[topic]}, {"left_camera"}, topic)
        for topic in topics[:2]:
            points = harness.cloud(listener.messages[topic][-1])
            if topic == "/tracks":
                self.assertGreater(points["age"].max(), 3)
                points = points[points["state"] == TRACKED]
            self.assertGreater(len(points), 100, topic)
            for axis, size in (("x", 752), ("y", 480)):
                self.assertGreaterEqual(points[axis].min(), -0.5, topic)
                self.assertLess(points[axis].max(), size - 0.5, topic)
        message = listener.messages["/stereo_points"][-1]
        depth = flight.depth(sent[nanoseconds(message.header.stamp)])
        points = harness.cloud(message)
        true = depth[points["v"].round().astype(int), points["u"].round().astype(int)]
        self.assertGreater(len(points), 100)
        self.assertLess(np.median(abs(points["z"] / true - 1)), 0.02)
        across = (points["u"] - flight.centre[0]) * points["z"] / flight.focal
        np.testing.assert_allclose(across, points["x"], atol=1e-3)
        message = listener.messages["/disparity"][-1]
        self.assertEqual((message.image.encoding, message.image.header.frame_id), ("32FC1", "left_camera"))
        self.assertAlmostEqual(message.f, flight.focal, places=3)
        self.assertAlmostEqual(message.t, flight.baseline, places=6)
        image = np.frombuffer(bytes(message.image.data), "<f4").reshape(480, 752)
        known = image >= message.min_disparity
        depth = flight.depth(sent[nanoseconds(message.header.stamp)])
        self.assertGreater(np.count_nonzero(known), 100)
        self.assertLess(np.median(abs(message.f * message.t / image[known] / depth[known] - 1)), 0.02)

    def test_services(self):
        """A map is saved, forgotten, loaded: poses go on in it."""
        flight = flights.rendered("752x480", harness.CACHE)
        rig, listener = self.begin()
        camera = rig.start_camera(rate=8)  # on a busy machine, too
        self.assertTrue(listener.wait_for("/pose", 40))
        before = listener.messages["/pose"][0]
        self.assertEqual(listener.call("/glint/save_map")[0], True)
        self.assertEqual([path.stem for path in rig.maps.iterdir()], ["harness"])
        self.assertEqual(listener.call("/glint/reset")[0], True)
        self.assertTrue(listener.wait_for("/pose", listener.count["/pose"] + 10))
        self.assertEqual(listener.call("/glint/load_map")[0], True)
        self.assertTrue(listener.wait_for("/pose", listener.count["/pose"] + 20))
        camera.end()
        listener.say("/glint/save_map_as", "other")
        self.assertTrue(wait_until(lambda: {path.stem for path in rig.maps.iterdir()} == {"harness", "other"}))
        # In the frame of the first map again.
        after = listener.messages["/pose"][-1]
        sent = rig.sent()
        wrong = harness.errors(flight, sent, [before, after])[1]
        self.assertLess(wrong[0], 0.03)
        self.assertLess(wrong[1], 0.5)

    def test_localhost(self):
        """The variables of ROS 2 that keep nodes on one machine mean the same to both."""
        for name, value in (("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"), ("ROS_LOCALHOST_ONLY", "1")):
            with self.subTest(name), unittest.mock.patch.dict(os.environ, {name: value}):
                rig, listener = self.begin()
                camera = rig.start_camera()
                self.assertTrue(listener.wait_for("/odometry", 5))
                camera.end()
                self.doCleanups()

    def test_document(self):
        """What docs/ros2.md has one try first: the wall slides past 0.02 m a picture, to the right."""
        text = (harness.HERE / "../../docs/ros2.md").read_text()
        camera, listen = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:2]
        (command,) = re.findall(r"^glint-ros2 (--server .*?[^\\])$", text, re.MULTILINE | re.DOTALL)
        rig, listener = self.begin(node=False)
        socket = f"unix:{rig.folder / 'socket'}"
        rig.start_node(*shlex.split(command.replace("\\\n", " ").replace("unix:/tmp/glint.sock", socket)))
        reader = rig.start_echo([sys.executable, "-u", "-c", listen])
        sender = rig.start_echo([sys.executable, "-c", camera])
        self.assertTrue(listener.wait_for("/odometry", 50), "no odometry")
        self.assertTrue(wait_until(lambda: reader.text().count("Point") > 20))
        sender.end()
        path = np.array([(p.x, p.y, p.z) for p in (m.pose.pose.position for m in listener.messages["/odometry"])])
        pictures = np.diff(path[:, 1]) / -0.02  # from one pose to the next, of which some may be left out
        self.assertGreater(pictures.min(), 0.7)
        self.assertLess(np.median(abs(pictures - pictures.round())), 0.1)
        self.assertLess(abs(path[:, (0, 2)]).max(), 0.05)

    def test_service_fails(self):
        """What cannot be is said, and the node goes on."""
        rig, listener = self.begin()
        camera = rig.start_camera(rate=8)
        self.assertTrue(listener.wait_for("/odometry"))
        success, message = listener.call("/glint/load_map")  # none was saved
        self.assertEqual(success, False)
        self.assertIn("harness", message)
        self.assertTrue(listener.wait_for("/odometry", listener.count["/odometry"] + 5))
        camera.end()
        self.assertEqual(rig.node.end(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
