#!/usr/bin/env python3
"""What cameras send that cannot be used: each thing is said in /diagnostics with its reason, and what is right again is
used again."""
import time
import unittest

from sensor_msgs.msg import CompressedImage, Image, Imu

import flight as flights
import harness
from harness import LEFT, RIGHT, SIDES, time_of, wait_until
from listener import BEST_EFFORT, RELIABLE
from publisher import Camera, image_of, info_of


class WrongInputsTest(harness.TestCase):
    def begin(self, *topics, **options):
        rig, listener = super().begin(*topics, **options)
        self.listener, self.flight, self.number = listener, flights.rendered("752x480", harness.CACHE), 0
        return rig, listener

    def sending(self, send, condition, seconds=40):
        """Calls send(i) 20 times a second until condition(); whether it came to be."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.number += 1
            send(self.number)
            time.sleep(0.05)
        return True

    def camera(self):
        camera = Camera(self.listener.node, self.flight, True)
        self.assertTrue(wait_until(camera.has_readers), "nobody reads the camera")
        return camera

    def says(self, part, text, key=None):
        """A function: whether that part of /diagnostics warns of `text`, or has it under `key`."""
        def look():
            status = self.listener.statuses().get(f"glint: {part}", {"level": 0, "message": ""})
            return text in status.get(key, "") if key else status["level"] > 0 and text in status["message"]
        return look

    def test_images(self):
        """Messages that are no picture are counted, with the reason of the last one."""
        _, listener = self.begin(server=False)
        publisher = listener.node.create_publisher(Image, LEFT, 5)
        other = listener.node.create_publisher(Image, RIGHT, 5)
        self.assertTrue(wait_until(lambda: min(p.get_subscription_count() for p in (publisher, other)) > 0))

        def wrong(stamp=None, frame="camera", **fields):
            image = image_of(self.flight, self.flight.pair(0)[0], frame)
            for name, value in fields.items():
                setattr(image, name, value)
            image.header.stamp = stamp or listener.node.get_clock().now().to_msg()
            return image

        late = wrong().header.stamp
        late.nanosec = 2 * 10**9
        cases = (
            (dict(encoding="bayer_grbg8"), '"bayer_grbg8": of mosaics only bayer_rggb8'),
            (dict(encoding="32FC1"), "32FC1"), (dict(encoding="h264"), "yuv422_yuy2"), (dict(encoding=""), "encoding"),
            (dict(step=700), "step: 700 is less than the row of 752 bytes"),
            (dict(encoding="mono16"), "step: 752 is less than the row of 1504 bytes"),
            (dict(height=481), "data: 360960 bytes are less than 481 rows of 752 bytes"),
            (dict(width=0), "width"), (dict(width=2**31, step=2**31), "width"), (dict(height=2**32 - 1), "height"),
            (dict(stamp=time_of(0).to_msg()), "its publisher sets no time"), (dict(stamp=late), "nanosec"),
            (dict(frame="f" * 1001), "frame_id"))
        for fields, reason in cases:
            with self.subTest(reason):
                image = wrong(**fields)
                self.assertTrue(self.sending(lambda _, image=image: publisher.publish(image),
                                             self.says("input", reason, f"{LEFT} last unreadable"), 20),
                                listener.statuses().get("glint: input"))
        # Each one was counted, and those that are right are taken.
        before = listener.figures("input")
        self.assertGreaterEqual(before[f"{LEFT} unreadable"], len(cases))
        self.assertEqual(before["pairs"], 0)

        def pair(_):
            image = wrong()
            publisher.publish(image)
            other.publish(image)
        self.assertTrue(self.sending(pair, lambda: listener.figures("input")["pairs"] > 5))

    def test_infos(self):
        """CameraInfo that cannot be used is an error until one comes that can; one that changes then is a warning."""
        _, listener = self.begin()
        camera = self.camera()
        infos = [listener.node.create_publisher(type(info_of(self.flight, 0, "")), f"/stereo/{side}/camera_info", 5)
                 for side in SIDES]
        self.assertTrue(wait_until(lambda: all(p.get_subscription_count() for p in infos)))

        def send(**fields):
            for name, value in fields.items():
                for info in camera.infos:
                    setattr(info, name, value)
            return camera.send

        k = list(info_of(self.flight, 0, "").k)
        cases = (
            (dict(width=640), "is of images of 640x480, and those of /stereo/left/image_rect have 752x480"),
            (dict(width=752, binning_x=2), "binned and cropped ones are not taken"),
            (dict(binning_x=0, k=[0.0] * 9, p=[0.0] * 12), "is of a camera that is not calibrated"),
            (dict(k=[float("nan")] * 9), "camera_matrix"),
            (dict(k=k, p=[float("inf")] * 12), "projection_matrix"))
        for fields, reason in cases:
            with self.subTest(reason):
                self.assertTrue(self.sending(send(**fields), self.says("input", reason), 20),
                                listener.statuses().get("glint: input"))
                self.assertEqual(listener.level("input"), 2)
        self.assertEqual(listener.count["/odometry"], 0)
        for right, info in enumerate(camera.infos):
            info.p = self.flight.projection(right)
        self.assertTrue(self.sending(camera.send, lambda: listener.count["/odometry"] > 10))
        self.assertTrue(self.sending(camera.send, lambda: listener.level("input") == 0))
        k[0] += 10
        self.assertTrue(self.sending(send(k=k), self.says("input", "calibration has changed")))
        self.assertTrue(self.sending(camera.send, lambda: listener.count["/odometry"] > 20))

    def test_stamps(self):
        """Sides whose stamps differ by little are pairs; by more, none, and it is said how much; stamps that go back
        begin anew."""
        _, listener = self.begin()
        camera = self.camera()

        def apart(nanoseconds):
            def send(i):
                now = listener.node.get_clock().now().nanoseconds
                camera.send(i, time_of(now), time_of(now + nanoseconds))
            return send

        self.assertTrue(self.sending(apart(3_000_000), lambda: listener.count["/odometry"] > 10))
        self.assertTrue(self.sending(apart(20_000_000), self.says("input", "20.0 ms apart")))
        self.assertTrue(self.says("input", "camera.max_time_difference")())
        count = listener.count["/odometry"]
        self.assertTrue(self.sending(apart(0), lambda: listener.count["/odometry"] > count + 10))
        self.assertTrue(self.sending(apart(0), lambda: listener.level("input") == 0))
        back = listener.node.get_clock().now().nanoseconds - 1000 * 10**9
        start = self.number

        def since():
            return [s for s in listener.stamps("/odometry") if s < back + 10**11]
        self.assertTrue(self.sending(lambda i: camera.send(i, time_of(back + (i - start) * 50_000_000)),
                                     lambda: len(since()) > 10))
        self.assertEqual(since(), sorted(set(since())))
        self.assertGreaterEqual(listener.figures("input")["clocks set back"], 2)  # one a side

    def test_types(self):
        """A publisher of another type, and one of another reliability."""
        rig, listener = self.begin(server=False, more=f"qos: {{{RIGHT}: {{reliability: reliable}}}}\n")
        listener.node.create_publisher(CompressedImage, LEFT, 5)
        self.assertTrue(listener.wait(self.says("network", "sensor_msgs::msg::dds_::CompressedImage_"), 30))
        self.assertEqual(listener.figures("input")[f"{LEFT} publishers"], 0)
        listener.node.create_publisher(Image, RIGHT, BEST_EFFORT)
        self.assertTrue(listener.wait(self.says("network", f"topic {RIGHT}: a publisher elsewhere offers reliability "
                                                           "best effort"), 30))
        self.assertEqual(listener.figures("input")[f"{RIGHT} incompatible publishers"], 1)
        self.assertIn("subscribe best effort, or let it publish reliable", rig.node.text())

    def test_two_publishers(self):
        """Two cameras on one topic: said, and their images are still taken by their stamps."""
        _, listener = self.begin()
        camera = self.camera()
        self.assertTrue(self.sending(camera.send, lambda: listener.count["/odometry"] > 5))
        second = listener.node.create_publisher(Image, LEFT, 5)
        self.assertTrue(self.sending(camera.send, self.says("input", f"{LEFT}: 2 publishers")))
        listener.node.destroy_publisher(second)
        self.assertTrue(self.sending(camera.send, lambda: listener.level("input") == 0))

    def test_frames(self):
        """Frames that no transform leads to, and images that name none."""
        frames = "base: base_link"
        rig, listener = self.begin(frames=frames, more="imu: {topic: /stereo/imu}\n")
        camera = self.camera()
        imu = listener.node.create_publisher(Imu, "/stereo/imu", RELIABLE)

        def send(i):
            reading = Imu()
            reading.header.stamp, reading.header.frame_id = listener.node.get_clock().now().to_msg(), "imu_link"
            reading.linear_acceleration.z = 9.81
            imu.publish(reading)
            camera.send(i)
        self.assertTrue(self.sending(send, self.says("input", 'lead from "imu_link"')))
        self.assertIn("imu.camera_from_imu", listener.statuses()["glint: input"]["message"])
        self.assertEqual(listener.count["/odometry"], 0)
        self.assertEqual(rig.node.end(), 0)
        rig.config.write_text(rig.config.read_text().replace("imu: {topic: /stereo/imu}\n", ""))
        rig.start_node()
        self.assertTrue(self.sending(camera.send, self.says("localize", "in the base's place", "camera on the base")))
        self.assertIn('no transform from "left_camera" to "base_link"', rig.node.text())
        self.assertTrue(self.sending(lambda i: camera.send(i, frame=""), self.says("input", "header.frame_id")))
        self.assertTrue(self.sending(camera.send, lambda: listener.level("input") == 0))

    def test_sizes(self):
        """Images that become larger than those that the camera was calibrated with."""
        _, listener = self.begin()
        camera = self.camera()
        self.assertTrue(self.sending(camera.send, lambda: listener.count["/odometry"] > 5))
        for pair in camera.images.values():
            for image in pair:
                image.height, image.data = 470, image.data[: 752 * 470]
        self.assertTrue(self.sending(camera.send, self.says("localize", "470")),
                        listener.statuses().get("glint: localize"))
        camera.images.clear()
        count = listener.count["/odometry"]
        self.assertTrue(self.sending(camera.send, lambda: listener.count["/odometry"] > count + 5))


if __name__ == "__main__":
    unittest.main(verbosity=2)
