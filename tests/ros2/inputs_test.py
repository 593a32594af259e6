#!/usr/bin/env python3
"""glint-ros2 with cameras of other kinds than interop_test.py's, other ways to the server and to other nodes."""
import array
import hashlib
import os
import re
import subprocess
import sys
import time
import unittest

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image

import flight as flights
import harness
from harness import LEFT, wait_until
from listener import nanoseconds
from publisher import Camera

COUNT_POSES = """
import rclpy
from nav_msgs.msg import Odometry
rclpy.init()
node = rclpy.create_node("count")
def show(odometry):
    print(odometry.header.stamp.sec * 10**9 + odometry.header.stamp.nanosec)
node.create_subscription(Odometry, "/odometry", show, 100)
rclpy.spin(node)
"""


class InputsTest(harness.TestCase):
    def fly(self, rig, listener, metres=0.03, degrees=0.5, pairs=100 if harness.ALL else 40, **options):
        """A camera from beginning to end: poses are right, and all is counted."""
        flight = flights.rendered("752x480", harness.CACHE)
        camera = self.start_found_camera(rig, listener, pairs=pairs, **options)
        self.assertTrue(listener.wait_for("/odometry"), "no pose came")
        self.assertEqual(camera.end(0, 120), 0)
        self.settle(listener)
        odometry = self.check_poses(flight, rig, listener, metres, degrees)
        self.assertGreater(len(odometry), 5)  # of a busy machine, too
        return odometry

    def test_depth(self):
        """A camera with registered depths: of 16 bits in millimetres, and of floats in metres."""
        for encoding in ("16UC1", "32FC1"):
            with self.subTest(encoding):
                rig, listener = self.begin("/map_points", camera=f"left: {LEFT}, depth: /stereo/depth/image_rect")
                self.fly(rig, listener, depth=encoding)
                counts = self.counts(rig, listener)
                self.assertEqual(counts["frames"], counts["pairs"])
                self.assertGreater(listener.messages["/map_points"][-1].width, 100)
                self.doCleanups()

    def test_compressed(self):
        """CompressedImage, of files that have the same pixels."""
        rig, listener = self.begin(encoding="png")
        self.fly(rig, listener, compressed=True)
        self.check_counts(rig, listener)

    def test_tls(self):
        """Over TLS with certificates of both sides and a token; with a wrong authority it is said what is wrong."""
        rig, listener = self.begin(node=False, server=False)
        files = {}
        for name in ("good", "other"):
            files[name] = [str(rig.folder / f"{name}.{kind}") for kind in ("pem", "key")]
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", "/CN=glint", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                            files[name][1], "-out", files[name][0]], check=True, capture_output=True)
        certificate, key = files["good"]
        token, access = rig.folder / "token", rig.folder / "access"
        token.write_text("a-token-of-this-test\n")
        access.write_text(f"robot token={hashlib.sha256(b'a-token-of-this-test').hexdigest()}\n")
        rig.start_server("--listen=127.0.0.1:0", f"--tls-certificate={certificate}", f"--tls-key={key}",
                         f"--tls-client-ca={certificate}", f"--access-file={access}")
        self.assertTrue(wait_until(lambda: re.search(r"127\.0\.0\.1:\d+", rig.server.text())))
        address = re.search(r"127\.0\.0\.1:\d+", rig.server.text())[0]
        rest = rig.config.read_text().partition("camera:")
        common = f"server: {{address: '{address}', certificate_file: {certificate}, key_file: {key}, ca_file: "
        cases = ((f"{files['other'][0]}, token_file: {token}}}", "of no authority that this client believes"),
                 (f"{certificate}}}", "PERMISSION_DENIED"), (f"{certificate}, token_file: {token}}}", ""))
        for server, reason in cases:
            rig.config.write_text(f"{common}{server}\n{''.join(rest[1:])}")
            rig.start_node()
            if not reason:
                self.fly(rig, listener)
                continue
            camera = rig.start_camera()
            self.assertTrue(wait_until(lambda reason=reason: reason in rig.node.text(), 30), rig.node.text())
            self.assertTrue(listener.wait(lambda: max(listener.level("server"), listener.level("localize")) == 2))
            camera.end()
            self.assertEqual(rig.node.end(), 0)
            self.assertEqual(listener.count["/odometry"], 0)

    def test_sim_time(self):
        """With use_sim_time /diagnostics has the time of /clock, and says so while there is none."""
        rig, listener = self.begin(more="use_sim_time: true\n")
        self.assertTrue(listener.wait(lambda: listener.level("clock") == 1, 30), "no warning without /clock")
        self.assertIn("/clock", listener.statuses()["glint: clock"]["message"])
        flight = flights.rendered("752x480", harness.CACHE)
        camera = Camera(listener.node, flight, True)
        clock = listener.node.create_publisher(Clock, "/clock", 10)
        self.assertTrue(wait_until(lambda: camera.has_readers() and clock.get_subscription_count() > 0 and
                                   listener.finds_publishers()))
        stamps = []
        for i in range(80):
            now = 100 * 10**9 + i * 50_000_000
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(now, 10**9)
            clock.publish(message)
            stamps.append(camera.send(i, harness.time_of(now)))
            time.sleep(0.05)
        self.assertTrue(listener.wait_for("/odometry", 10))
        self.settle(listener)
        self.assertEqual(set(listener.stamps("/odometry")) - set(stamps), set())
        self.assertEqual(listener.level("clock"), 0)
        newest = listener.stamps("/diagnostics")[-1]
        self.assertEqual(newest, stamps[-1])

    def test_encodings(self):
        """The same grey picture in each encoding has the same keypoints."""
        rig, listener = self.begin("/keypoints", camera=f"left: {LEFT}",
                                   more="detect: {enabled: true}\n", localize=", enabled: false")
        flight = flights.rendered("752x480", harness.CACHE)
        grey = np.frombuffer(flight.pair(0)[0], np.uint8).reshape(480, 752)
        chroma = np.full_like(grey, 128)
        wide = np.random.default_rng(1).integers(0, 255, (480, 800), np.uint8)
        wide[:, :752] = grey
        colours = np.repeat(grey[:, :, None], 3, 2)
        alpha = np.dstack([colours, np.arange(480 * 752).reshape(480, 752) % 256]).astype(np.uint8)
        deep = grey.astype("<u2") * 257
        half = np.full((240, 752), 128, np.uint8)
        pictures = {  # encoding: (bytes, step, big endian)
            "mono8": (grey, 752, 0), "8UC1": (wide, 800, 0), "bgr8": (colours, 2256, 0), "rgb8": (colours, 2256, 0),
            "bgra8": (alpha, 3008, 0), "rgba8": (alpha, 3008, 0), "yuv422": (np.dstack([chroma, grey]), 1504, 0),
            "uyvy": (np.dstack([chroma, grey]), 1504, 0), "yuv422_yuy2": (np.dstack([grey, chroma]), 1504, 0),
            "yuyv": (np.dstack([grey, chroma]), 1504, 0), "nv12": (np.vstack([grey, half]), 752, 0),
            "nv21": (np.vstack([grey, half]), 752, 0), "mono16": (deep, 1504, 0),
            "16UC1": (deep.astype(">u2"), 1504, 1)}
        publisher = listener.node.create_publisher(Image, LEFT, 5)
        self.assertTrue(wait_until(lambda: publisher.get_subscription_count() > 0))
        clouds = {}
        for encoding, (pixels, step, big_endian) in pictures.items():
            image = Image(width=752, height=480, encoding=encoding, step=step, is_bigendian=big_endian)
            image.data = array.array("B", np.ascontiguousarray(pixels).tobytes())
            clouds[encoding] = self.keypoints(listener, publisher, image)
        self.assertGreater(len(clouds["mono8"]), 200)
        for encoding, cloud in clouds.items():
            np.testing.assert_array_equal(cloud, clouds["mono8"], err_msg=encoding)

    def keypoints(self, listener, publisher, image):
        """Those of the answer to this image, which is sent until there is one."""
        image.header.frame_id = "camera"
        for _ in range(100):
            image.header.stamp = listener.node.get_clock().now().to_msg()
            publisher.publish(image)
            stamp = nanoseconds(image.header.stamp)
            if listener.wait(lambda: stamp in listener.stamps("/keypoints"), 2):
                (cloud,) = [m for m in listener.messages["/keypoints"] if nanoseconds(m.header.stamp) == stamp]
                return harness.cloud(cloud)
        self.fail(f"{image.encoding}: no answer")

    def test_two_hosts(self):
        """Two hosts (namespaces of the network) that know each other by ROS_STATIC_PEERS alone."""
        if os.geteuid() != 0:
            self.skipTest("namespaces of the network need root")
        names = [f"glint-ros2-{os.getpid()}-{side}" for side in "ab"]
        for name in names:
            if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
                self.skipTest("no namespaces of the network (iproute2)")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name], check=True)
        self.link(names)
        rig = self.enterContext(harness.Rig())
        self.addCleanup(lambda: self.logs.extend(rig.logs()))
        hosts = [["ip", "netns", "exec", name, "env", f"ROS_STATIC_PEERS=10.77.0.{peer}"]
                 for name, peer in zip(names, (2, 1))]
        rig.prefix = hosts[0]
        rig.start_server()
        rig.start_node()
        rig.prefix = hosts[1]
        reader = rig.start_echo([*rig.prefix, sys.executable, "-u", "-c", COUNT_POSES])
        camera = rig.start_camera()
        self.assertTrue(wait_until(lambda: reader.text().count("\n") > 25))
        self.assertEqual(camera.end(), 0)
        self.assertLessEqual({int(line) for line in reader.text().split()}, set(rig.sent()))

    @staticmethod
    def link(names):
        """The namespaces, by a pair of interfaces without multicast."""
        ends = [f"glint{os.getpid() % 10**6}{side}" for side in "ab"]
        commands = [["link", "add", ends[0], "type", "veth", "peer", "name", ends[1]]]
        for i, (name, end) in enumerate(zip(names, ends)):
            inside = ["-n", name]
            commands += [["link", "set", end, "netns", name],
                         [*inside, "address", "add", f"10.77.0.{i + 1}/24", "dev", end],
                         [*inside, "link", "set", end, "multicast", "off", "up"], [*inside, "link", "set", "lo", "up"]]
        for command in commands:
            subprocess.run(["ip", *command], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
