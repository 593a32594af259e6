"""glint-server, glint-ros2 and a camera of ROS 2 as processes, and what their poses should be.

Paths of the programs: GLINT_SERVER_PROGRAM, GLINT_ROS2_PROGRAM, GLINT_SCENE_TOOL, GLINT_TF_ECHO. GLINT_ROS2_ALL: also
the tests that take long, and the others at their full length.
"""
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from rclpy.time import Time

import flight as flights
from listener import Listener, nanoseconds

ALL = bool(os.environ.get("GLINT_ROS2_ALL"))
takes_long = unittest.skipUnless(ALL, "GLINT_ROS2_ALL is not set, and this takes long")
HERE = pathlib.Path(__file__).parent
CACHE = pathlib.Path(os.environ.get("GLINT_ROS2_FLIGHTS", tempfile.gettempdir() + "/glint-flights"))
# Pose of the left camera in the base: 0.3 m ahead, 0.06 m to the left, 0.5 m up, looking ahead.
BASE_FROM_CAMERA = (0.3, 0.06, 0.5, -0.5, 0.5, -0.5, 0.5)
SIDES = ("left", "right")
PARTS = ("answered", "dropped", "dropped by server", "failed", "unanswered")  # what becomes of pairs
LEFT, RIGHT = (f"/stereo/{side}/image_rect" for side in SIDES)
CONFIG = """
server: {{{server}}}
camera: {{{camera}}}
localize: {{map: harness, map_every: 0.5{localize}}}
frames: {{{frames}}}
diagnostics_every: 0.5
"""


class Process:
    """A program whose output goes to a file."""

    def __init__(self, command, log, **more):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, **more)

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process.poll() is None

    def end(self, number=signal.SIGTERM, seconds=30):
        """The exit status."""
        if self.running():
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def text(self):
        return self.log.read_text(errors="replace")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident, bytes."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) << 10


class Rig:
    """A folder with a server and glint-ros2, to be used by `with`."""

    def __init__(self, encoding="mono8", localize="", more="", **parts):
        """`parts`: server, camera, frames of the configuration, in place of the usual ones."""
        self._temporary = tempfile.TemporaryDirectory(prefix="glint-ros2-")
        self.folder = pathlib.Path(self._temporary.name)
        self.maps = self.folder / "maps"
        self.maps.mkdir()
        self.encoding, self.server, self.node = encoding, None, None
        self.cameras, self.echoes = [], []
        self.prefix = []  # words before the commands of what is started
        self.config = self.folder / "config.yaml"
        transport = "compressed" if encoding == "png" else "raw"
        usual = {"server": f'address: "unix:{self.folder / "socket"}"', "localize": localize,
                 "camera": f"left: {LEFT}, right: {RIGHT}, transport: {transport}",
                 "frames": f"base_from_camera: {list(BASE_FROM_CAMERA)}"}
        self.config.write_text(CONFIG.format_map({**usual, **parts}) + more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.cameras, *self.echoes, self.node, self.server]:
            if process is not None and process.running():
                process.end(signal.SIGKILL)
        self._temporary.cleanup()

    def logs(self):
        texts = {path.name: path.read_text(errors="replace")[-4000:] for path in sorted(self.folder.glob("*.log"))}
        return [f"--- {name}\n{text}" for name, text in texts.items()]

    def start_server(self, *more):
        """Flags, the later of which count."""
        flags = [f"--listen=unix:{self.folder / 'socket'}", "--shared-memory", f"--map-directory={self.maps}",
                 "--metrics-listen=", "--backend=cpu", *more]
        self.server = Process([*self.prefix, os.environ["GLINT_SERVER_PROGRAM"], *flags], self.folder / "server.log")

    def start_node(self, *arguments):
        command = [*self.prefix, os.environ["GLINT_ROS2_PROGRAM"], *(arguments or ("--config", self.config))]
        self.node = Process(command, self.folder / "node.log")

    def start_camera(self, size="752x480", **options):
        """Options of publisher.py; size None: recorded pairs."""
        words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not True]
        words += [f"--{name.replace('_', '-')}" for name, value in options.items() if value is True]
        words += [f"--folder={CACHE}"] + ([f"--size={size}"] if size else [])
        program = [*self.prefix, sys.executable, HERE / "publisher.py", f"--sent={self.folder / 'sent'}"]
        camera = Process([*program, *words], self.folder / "camera.log")
        self.cameras.append(camera)
        return camera

    def start_echo(self, command):
        """Another program."""
        echo = Process(command, self.folder / f"echo{len(self.echoes)}.log")
        self.echoes.append(echo)
        return echo

    def start_tf_echo(self, *arguments):
        """Lines of its text() are for transforms()."""
        return self.start_echo([os.environ["GLINT_TF_ECHO"], *arguments])

    def sent(self):
        """{stamp: number of the pair}."""
        path = self.folder / "sent"
        lines = path.read_text().splitlines() if path.exists() else []
        return {int(stamp): int(number) for stamp, number in (line.split() for line in lines if line.count(" ") == 1)}


def time_of(nanoseconds):
    """Of rclpy."""
    return Time(nanoseconds=nanoseconds)


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def in_base(camera_pose):
    """The pose of the base in the axes that it had at first, of one of the left camera."""
    base_from_camera = flights.matrix(*BASE_FROM_CAMERA)
    return base_from_camera @ camera_pose @ np.linalg.inv(base_from_camera)


def pose_of(message):
    """4x4 of a geometry_msgs/Pose."""
    p, q = message.position, message.orientation
    return flights.matrix(p.x, p.y, p.z, q.x, q.y, q.z, q.w)


def errors(flight, sent, messages):
    """(metres, degrees) of each nav_msgs/Odometry or PoseWithCovarianceStamped, the first pose being where the first of
    them is in truth."""
    first = None
    found = []
    for message in messages:
        truth = in_base(flight.pose(sent[nanoseconds(message.header.stamp)]))
        pose = pose_of(message.pose.pose)
        first = truth @ np.linalg.inv(pose) if first is None else first
        wrong = np.linalg.inv(truth) @ first @ pose
        angle = np.degrees(np.arccos(np.clip((np.trace(wrong[:3, :3]) - 1) / 2, -1, 1)))
        found.append((float(np.linalg.norm(wrong[:3, 3])), float(angle)))
    return found


def transforms(line):
    """[(stamp, parent, child, 4x4)] of a tf2_msgs/msg/TFMessage in hexadecimal, CDR of little endian."""
    data = bytes.fromhex(line)
    assert data[:4] == b"\0\1\0\0", data[:4]
    body, at, found = data[4:], 0, []

    def take(code, size):
        nonlocal at
        at = -(-at // size) * size
        value = struct.unpack_from("<" + code, body, at)
        at += struct.calcsize("<" + code)
        return value

    def text():
        nonlocal at
        (size,) = take("I", 4)
        at += size
        return body[at - size : at - 1].decode()

    (count,) = take("I", 4)
    for _ in range(count):
        seconds, rest = take("iI", 4)
        parent, child = text(), text()
        found.append((seconds * 10**9 + rest, parent, child, flights.matrix(*take("7d", 8))))
    assert at == len(body), (at, len(body))
    return found


def cloud(message):
    """{field: column} of a PointCloud2."""
    kinds = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 8: "<f8"}
    row = np.dtype({"names": [f.name for f in message.fields], "formats": [kinds[f.datatype] for f in message.fields],
                    "offsets": [f.offset for f in message.fields], "itemsize": message.point_step})
    points = np.frombuffer(bytes(message.data), row)
    assert len(points) == message.width * message.height
    return points


class TestCase(unittest.TestCase):
    def run(self, result=None):
        """Shows what the programs said, if it fails."""
        self.logs, failed = [], len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > failed:
            print(*self.logs, sep="\n", flush=True)

    def begin(self, *topics, server=True, node=True, **options):
        """A server, glint-ros2, and a listener to `topics` and what counts are made of."""
        rig = self.enterContext(Rig(**options))
        self.addCleanup(lambda: self.logs.extend(rig.logs()))
        listener = Listener(*{"/odometry", "/pose", "/diagnostics", *topics})
        self.addCleanup(listener.close)
        if server:
            rig.start_server()
        if node:
            rig.start_node()
        return rig, listener

    def check_poses(self, flight, rig, listener, metres, degrees, since=0, drift=5):
        """Odometry and poses after the stamp `since` are of pairs that were sent, in their order, each once, and right.
        Odometry, which is never corrected, may be off by `drift` times as much. Returns odometry."""
        topics = {topic: list(listener.messages[topic]) for topic in ("/pose", "/odometry")}
        sent, all_of = rig.sent(), {}
        for topic, times in (("/pose", 1), ("/odometry", drift)):
            messages = [m for m in topics[topic] if nanoseconds(m.header.stamp) > since]
            stamps = [nanoseconds(m.header.stamp) for m in messages]
            self.assertEqual(set(stamps) - set(sent), set())
            self.assertEqual(stamps, sorted(set(stamps)))
            far, turned = (max(values) for values in zip(*errors(flight, sent, messages)))
            print(f"{self.id()}: {len(sent)} pairs sent, {len(messages)} of {topic}, off by at most {far:.4f} m, "
                  f"{turned:.3f} degrees", flush=True)
            self.assertLess(far, times * metres)
            self.assertLess(turned, times * degrees)
            all_of[topic] = messages
        return all_of["/odometry"]

    def start_found_camera(self, rig, listener, *arguments, **options):
        """A camera that begins when it and glint-ros2 have found one another, so that this has all that it sends."""
        camera = rig.start_camera(*arguments, held=True, **options)
        count = listener.count["/diagnostics"] + 2  # of another camera, or another glint-ros2, before
        self.assertTrue(listener.wait(lambda: listener.count["/diagnostics"] >= count and listener.finds_publishers()),
                        "glint-ros2 does not find the camera")
        camera.process.send_signal(signal.SIGUSR1)
        return camera

    def settle(self, listener):
        """Until all that was sent has been answered."""
        before = None
        while before != (before := listener.count["/odometry"]):
            self.assertTrue(listener.wait_for("/diagnostics", listener.count["/diagnostics"] + 3))

    def counts(self, rig, listener):
        """Figures of input and localize, beside what was sent and what came; the main ones are printed."""
        counts = {"sent": len(rig.sent()), "poses": listener.count["/odometry"]}
        counts.update(listener.figures("localize"), **listener.figures("input"))
        shown = [f"{key} {counts.get(key, 0):.0f}" for key in ("sent", "poses", "frames", *PARTS)]
        shown += [f"{key} {counts[key]:.0f}" for key in counts if re.search("/image_rect.* (messages|lost)", key)]
        print(f"{self.id()}: {', '.join(shown)}", flush=True)
        return counts

    def check_counts(self, rig, listener):
        """Each image that came became something that is counted. To be called when all is answered. A few pairs come
        while glint-ros2 begins, and a few images still wait for their partners."""
        counts = self.counts(rig, listener)
        self.assertEqual(counts["frames"], sum(counts[key] for key in PARTS))
        self.assertIn(counts["pairs"] - counts["frames"], range(6))
        for side in SIDES:
            (topic,) = [key for key in counts if re.fullmatch(f"/stereo/{side}/image_rect.* messages", key)]
            self.assertIn(counts[topic] - counts["pairs"] - counts[f"{side} images without a partner"], range(9))
            self.assertLessEqual(counts[topic], counts["sent"])
        return counts
