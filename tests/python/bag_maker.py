"""Recordings that rosbags writes, of messages that a test makes. Tests import setUpModule(), too: without rosbags it
skips them."""
import atexit
import pathlib
import tempfile
import unittest

import numpy as np

import glint
from glint import bags
from glint.bag_reader import add_transforms

try:
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_typestore
except ImportError:
    rosbag1 = None

KINDS = ("ros1", "mcap", "sqlite3")
START = 1_700_000_000 * 10**9
STEP = 50_000_000  # ns
WIDTH, HEIGHT = 64, 48
FOLDER = tempfile.TemporaryDirectory()
atexit.register(FOLDER.cleanup)


def setUpModule():
    if rosbag1 is None:
        raise unittest.SkipTest("rosbags is not installed (tools/pypi-venv.sh rosbags)")


class Maker:
    """Messages of ROS 1 or 2, and a recording of them."""

    def __init__(self, kind):
        self.kind = kind
        self.store = get_typestore(Stores.ROS1_NOETIC if kind == "ros1" else Stores.ROS2_HUMBLE)
        add_transforms(self.store)
        self.messages = []  # (time of recording, topic, type, message)

    def make(self, kind, **fields):
        made = self.store.types[kind]
        if kind == "std_msgs/msg/Header" and self.kind == "ros1":
            fields = {"seq": 0, **fields}
        if kind == "sensor_msgs/msg/CameraInfo" and self.kind == "ros1":
            fields = {(name.upper() if name in "dkrp" else name): value for name, value in fields.items()}
        return made(**fields)

    def header(self, time_ns, frame="camera"):
        stamp = self.make("builtin_interfaces/msg/Time", sec=time_ns // 10**9, nanosec=time_ns % 10**9)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame)

    def add(self, topic, kind, time_ns, delay=1000, frame="camera", **fields):
        name = f"sensor_msgs/msg/{kind}"
        message = self.make(name, header=self.header(time_ns, frame), **fields)
        self.messages.append((time_ns + delay, topic, name, message))

    def image(self, topic, time_ns, pixels, encoding="mono8", padding=0, big_endian=False, **more):
        """Of rows of bytes."""
        rows = np.pad(pixels, ((0, 0), (0, padding)), constant_values=77)
        width = more.pop("width", WIDTH)
        self.add(topic, "Image", time_ns, height=len(rows), width=width, encoding=encoding, step=rows.shape[1],
                 is_bigendian=int(big_endian), data=rows.ravel(), **more)

    def file(self, topic, time_ns, data, form="jpeg"):
        self.add(topic, "CompressedImage", time_ns, format=form, data=np.frombuffer(data, np.uint8))

    def vector(self, values):
        return self.make("geometry_msgs/msg/Vector3", **dict(zip("xyz", map(float, values))))

    def imu(self, topic, time_ns, gyro, accel, frame="imu", missing=()):
        turn = self.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
        none = np.array([-1.0, *[0.0] * 8])
        covariances = {f"{name}_covariance": none if name in missing else np.zeros(9)
                       for name in ("orientation", "angular_velocity", "linear_acceleration")}
        self.add(topic, "Imu", time_ns, frame=frame, orientation=turn, angular_velocity=self.vector(gyro),
                 linear_acceleration=self.vector(accel), **covariances)

    def info(self, topic, time_ns, k, d, r, p, model="plumb_bob", size=(WIDTH, HEIGHT), **more):
        roi = self.make("sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
        fields = {"binning_x": 0, "binning_y": 0, **more}
        arrays = {name: np.array(value, np.float64).ravel() for name, value in zip("dkrp", (d, k, r, p))}
        self.add(topic, "CameraInfo", time_ns, width=size[0], height=size[1], distortion_model=model, roi=roi,
                 **arrays, **fields)

    def static(self, parent, child, translation, rotation):
        turn = self.make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", rotation)))
        pose = self.make("geometry_msgs/msg/Transform", translation=self.vector(translation), rotation=turn)
        stamped = self.make("geometry_msgs/msg/TransformStamped", header=self.header(START, parent),
                            child_frame_id=child, transform=pose)
        kind = "tf2_msgs/msg/TFMessage"
        self.messages.append((START, "/tf_static", kind, self.make(kind, transforms=[stamped])))

    def write(self, name):
        path = pathlib.Path(FOLDER.name, f"{name}-{self.kind}")
        if self.kind == "ros1":
            path = path.with_suffix(".bag")
            writer, serialize = rosbag1.Writer(path), self.store.serialize_ros1
        else:
            plugin = {"mcap": rosbag2.StoragePlugin.MCAP, "sqlite3": rosbag2.StoragePlugin.SQLITE3}[self.kind]
            writer, serialize = rosbag2.Writer(path, version=9, storage_plugin=plugin), self.store.serialize_cdr
        with writer:
            topics = {}
            for time_ns, topic, kind, message in sorted(self.messages, key=lambda each: each[0]):
                if topic not in topics:
                    topics[topic] = writer.add_connection(topic, kind, typestore=self.store)
                writer.write(topics[topic], time_ns, serialize(message, kind))
        return path


class OfEachKind(unittest.TestCase):
    def each(self, name, fill):
        """Recordings of each kind, filled by fill(maker)."""
        for kind in KINDS:
            maker = Maker(kind)
            fill(maker)
            yield bags.Recording(maker.write(name))

    def refused(self, field, call, *parts):
        with self.assertRaises(glint.InvalidArgument) as caught:
            call()
        self.assertEqual(caught.exception.field, field)
        for part in parts:
            self.assertIn(part, str(caught.exception))
