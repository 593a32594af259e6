"""glint.bags: topics, images and pairs of recordings that rosbags writes are those that were written, byte for byte."""
import json
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import glint
from bag_maker import FOLDER, HEIGHT, START, STEP, WIDTH, Maker, OfEachKind, setUpModule
from glint import bags
from glint.encoding import encode
from glint.image import fields_of
from glint.v1 import image_pb2


def sent(image):
    """The Image message that a client sends of it."""
    return image_pb2.Image.FromString(encode(image_pb2.Image, fields_of(image)))


class ImageTest(OfEachKind):
    def test_pixels_are_those_that_were_written(self):
        random = np.random.default_rng(7)
        row = {"mono8": 1, "8UC1": 1, "bgr8": 3, "rgb8": 3, "bgra8": 4, "rgba8": 4, "bayer_rggb8": 1,
               "yuv422_yuy2": 2, "yuyv": 2, "yuv422": 2, "uyvy": 2, "nv12": 1, "nv21": 1, "nv24": 1, "mono16": 2,
               "16UC1": 2}
        data = {name: random.integers(0, 256, (HEIGHT, WIDTH * bytes_), np.uint8) for name, bytes_ in row.items()}
        form = {"bgr8": "bgr8", "rgb8": "rgb8", "bgra8": "bgra8", "rgba8": "rgba8", "bayer_rggb8": "bayer_rggb8",
                "yuv422_yuy2": "yuyv", "yuyv": "yuyv", "mono16": "gray16", "16UC1": "gray16"}

        def fill(maker):
            for i, (name, rows) in enumerate(data.items()):
                maker.image(f"/{name}", START + i, rows, name, padding=0 if i % 2 else 5)
            maker.image("/big", START, data["mono16"].reshape(-1, 2)[:, ::-1].reshape(HEIGHT, -1), "mono16",
                        big_endian=True)

        for bag in self.each("pixels", fill):
            for i, (name, rows) in enumerate(data.items()):
                (found,) = bag.images(f"/{name}")
                self.assertEqual((found.time_ns, found.frame_id), (START + i, "camera"))
                message = sent(found.image).raw
                expected = rows[:, 1::2] if name in ("yuv422", "uyvy") else rows
                self.assertEqual(message.data, expected.tobytes(), name)
                self.assertEqual((message.width, message.height), (WIDTH, HEIGHT))
                self.assertEqual(message.format, sent(glint.Raw(np.zeros(
                    (HEIGHT, WIDTH) + {"bgr8": (3,), "rgb8": (3,), "bgra8": (4,), "rgba8": (4,), "yuyv": (2,)}.get(
                        form.get(name), ()), np.uint16 if form.get(name) == "gray16" else np.uint8),
                    form.get(name, "gray8"))).raw.format, name)
            (big,) = bag.images("/big")
            self.assertEqual(sent(big.image).raw.data, data["mono16"].tobytes())

    def test_depths_become_millimetres(self):
        metres = np.array([[0.0005, 0.00049, 1.2345, 65.535, 65.5356, np.nan, np.inf, -1]], "<f4")
        samples = np.array([[1, 65535, 0, 7]], np.uint16)

        def fill(maker):
            maker.image("/metres", START, metres.view(np.uint8), "32FC1", width=8)
            maker.image("/big", START, metres.astype(">f4").view(np.uint8), "32FC1", big_endian=True, width=8)
            maker.image("/samples", START, samples.view(np.uint8), "16UC1", width=4)

        for bag in self.each("depths", fill):
            for topic in ("/metres", "/big"):
                (found,) = bag.images(topic, depth=True)
                self.assertEqual(found.image.dtype, np.uint16)
                self.assertEqual(found.image.tolist(), [[1, 0, 1235, 65535, 0, 0, 0, 0]])
            (found,) = bag.images("/samples", depth=True)
            self.assertEqual(found.image.tolist(), samples.tolist())
            self.refused("encoding", lambda: list(bag.images("/metres")), f"/metres@{START // 10**9}.000000000: ")

    def test_files_are_bytes(self):
        jpeg, png = b"\xff\xd8\xff\xe0 jpeg", b"\x89PNG\r\n\x1a\n png"

        def fill(maker):
            maker.file("/a/compressed", START, jpeg)
            maker.file("/a/compressed", START + STEP, png, "png")
            maker.file("/d/compressedDepth", START, b"0123456789ab" + png, "16UC1; compressedDepth")

        for bag in self.each("files", fill):
            self.assertEqual([image.image for image in bag.images("/a/compressed")], [jpeg, png])
            self.refused("data", lambda: list(bag.images("/d/compressedDepth")), "do not begin as JPEG or PNG")

    def test_what_is_no_image(self):
        rows = np.zeros((HEIGHT, WIDTH), np.uint8)

        def fill(maker):
            maker.image("/mosaic", START, rows, "bayer_bggr8")
            maker.image("/step", START, rows[:, :-1])
            maker.image("/wide", START, rows, width=20000)
            maker.add("/data", "Image", START, height=2, width=2, encoding="mono8", is_bigendian=0, step=2,
                      data=np.zeros(3, np.uint8))

        for bag in self.each("bad", fill):
            for name, field in (("mosaic", "encoding"), ("step", "step"), ("wide", "width"), ("data", "data")):
                self.refused(field, lambda: list(bag.images(f"/{name}")), f"/{name}@", f"{field}: ")


class TopicTest(OfEachKind):
    def fill(self, maker):
        maker.image("/cam/image_raw", START, np.zeros((HEIGHT, WIDTH), np.uint8))
        for i in range(3):
            maker.imu("/imu", START + i, (1, 0, 0), (0, 0, 9))
        maker.messages.append((START, "/said", "std_msgs/msg/String", maker.make("std_msgs/msg/String", data="x")))

    def test_topics(self):
        for bag in self.each("topics", self.fill):
            self.assertEqual(
                {topic.name: (topic.kind, topic.type, topic.messages) for topic in bag.topics},
                {"/cam/image_raw": ("image", "sensor_msgs/msg/Image", 1),
                 "/imu": ("imu", "sensor_msgs/msg/Imu", 3), "/said": ("other", "std_msgs/msg/String", 1)})
            self.assertEqual(len(list(bag.images())), 1)  # of the only camera
            self.refused("topic", lambda: bag.images("/cam"), 'topic: "/cam" is not one of /cam/image_raw')
            self.refused("topic", lambda: bag.images("/imu"), "is not one of /cam/image_raw")
            self.refused("topic", lambda: bag.camera("/no"), "is not one of")
            self.refused(None, lambda: bag.camera("/cam/image_raw"), "has no /cam/camera_info")

    def test_the_command_line_sees_the_same(self):
        tool = os.environ.get("GLINT_TOOL")
        if tool is None:
            self.skipTest("GLINT_TOOL, the path of glint, is not set")
        for bag in self.each("seen", self.fill):
            said = subprocess.run([tool, "bag", "--format", "json", str(bag.path)], capture_output=True, check=False)
            self.assertEqual(said.returncode, 0, said.stderr)
            seen = {(topic["name"], topic["type"], topic["messages"]) for topic in json.loads(said.stdout)["topics"]}
            self.assertEqual({(topic.name, topic.type, topic.messages) for topic in bag.topics}, seen)

    def test_what_is_no_recording(self):
        for name in ("x.mcap", "x.db3", "x.bag"):
            path = pathlib.Path(FOLDER.name, name)
            path.write_bytes(b"nothing of the kind" * 100)
            self.refused(None, lambda: bags.Recording(path), f"{path}: cannot be read: ")
        with self.assertRaises(OSError):
            bags.Recording(pathlib.Path(FOLDER.name, "nowhere"))

    def test_without_rosbags(self):
        with mock.patch.dict(sys.modules, {"rosbags": None}), self.assertRaisesRegex(ImportError, "glint.bags"):
            bags.Recording(FOLDER.name)

    def test_what_is_damaged(self):
        maker = Maker("sqlite3")
        self.fill(maker)
        path = maker.write("damaged")
        file = next(path.glob("*.db3"))
        data = file.read_bytes()
        at = data.find(b"mono8")
        file.write_bytes(data[:at - 4] + b"\xff\xff\xff\x7f" + data[at:])  # the length of a text
        self.refused(None, lambda: list(bags.Recording(path).images()), f"{path}: cannot be read: ")


class PairTest(OfEachKind):
    LEFT, RIGHT = "/cam0/image_raw", "/cam1/image_raw"

    def test_by_stamps_and_not_by_when_they_were_recorded(self):
        def fill(maker):
            for i in range(6):
                time_ns, image = START + i * STEP, np.full((HEIGHT, WIDTH), i, np.uint8)
                maker.image(self.LEFT, time_ns, image, delay=3 * STEP)
                if i != 2:
                    maker.image(self.RIGHT, time_ns + 4_000_000, image + 100)
            maker.image(self.LEFT, START + 6 * STEP, image, delay=4 * STEP)

        for bag in self.each("pairs", fill):
            with self.assertWarns(bags.BagWarning) as caught:
                found = list(bag.pairs(self.LEFT, self.RIGHT))
            self.assertEqual([pair[0].time_ns for pair in found], [START + i * STEP for i in (0, 1, 3, 4, 5)])
            for left, right in found:
                self.assertEqual(right.time_ns - left.time_ns, 4_000_000)
                self.assertTrue((left.image + 100 == right.image).all())
            said = [str(warning.message) for warning in caught.warnings]
            self.assertIn(f"{self.LEFT}@1700000000.100000000 (1 in all)", said[0])
            self.assertIn(f"{self.LEFT}@1700000000.300000000 and what follows it have no partner", said[1])
            with self.assertWarns(bags.BagWarning):
                self.assertEqual(list(bag.pairs(self.LEFT, self.RIGHT, max_time_difference=0.003)), [])
            self.refused("max_time_difference", lambda: bag.pairs(self.LEFT, self.RIGHT, -1))

    def test_times_that_are_none(self):
        def fill(maker):
            for i, time_ns in enumerate((0, START, START - STEP, START + STEP)):
                maker.image(self.LEFT, time_ns, np.zeros((HEIGHT, WIDTH), np.uint8), delay=START + i * 10**9 - time_ns)
                maker.image(self.RIGHT, START + i * STEP, np.zeros((HEIGHT, WIDTH), np.uint8))

        for bag in self.each("times", fill):
            with self.assertWarns(bags.BagWarning) as caught:
                self.assertEqual([left.time_ns for left, _ in bag.pairs(self.LEFT, self.RIGHT)], [START, START + STEP])
            said = " ".join(str(warning.message) for warning in caught.warnings)
            self.assertIn("header.stamp is 0", said)
            self.assertIn(f"{self.LEFT}@1699999999.950000000: is passed over", said)

    def test_iterators_at_once(self):
        def fill(maker):
            for i in range(3):
                maker.image(self.LEFT, START + i * STEP, np.full((HEIGHT, WIDTH), i, np.uint8))

        for bag in self.each("at-once", fill):
            one, other = bag.images(self.LEFT), bag.images(self.LEFT)
            next(one)
            self.assertEqual([image.image[0, 0] for image in other], [0, 1, 2])
            self.assertEqual([image.image[0, 0] for image in one], [1, 2])


if __name__ == "__main__":
    unittest.main()
