#!/usr/bin/env python3
"""publisher.py FLIGHT... : a stereo camera of ROS 2, by rclpy, in a process of its own.

Sends pairs of a flight (flight.py) with their CameraInfo at a rate, until it has sent all or SIGTERM comes. Begins when
it has found readers, with --held at SIGUSR1: these may find it seconds later, if a packet of theirs is lost. Writes
"STAMP NUMBER" of each pair to --sent, a line at a time, so that what was sent is known even if it is killed.
"""
import argparse
import array
import os
import signal
import struct
import sys
import time
import zlib

import rclpy
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, Imu

import flight as flights


def info_of(flight, right, frame):
    info = CameraInfo(width=flight.width, height=flight.height, distortion_model="plumb_bob")
    info.header.frame_id = frame
    f, (cx, cy) = flight.focal, flight.centre
    info.d = [0.0] * 5
    info.k = [f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0]
    info.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    info.p = flight.projection(right)
    return info


def png(width, height, pixels):
    """A file of 8-bit grey pixels."""
    def part(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y * width : (y + 1) * width] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(rows, 1)) + part(b"IEND", b"")


def image_of(flight, data, frame, compressed=False):
    if compressed:
        image = CompressedImage(format="mono8; png compressed ")
        data = data if flight.encoding == "png" else png(flight.width, flight.height, data)
    else:
        image = Image(width=flight.width, height=flight.height, step=flight.width, encoding="mono8")
    image.header.frame_id = frame
    image.data = array.array("B", data)
    return image


def depth_of(flight, i, encoding, frame):
    """16UC1 in millimetres, or 32FC1 in metres."""
    metres = flight.depth(i)
    samples = (metres * 1000 + 0.5).astype("<u2") if encoding == "16UC1" else metres.astype("<f4")
    image = Image(width=flight.width, height=flight.height, step=flight.width * samples.itemsize, encoding=encoding)
    image.header.frame_id = frame
    image.data = array.array("B", samples.tobytes())
    return image


class Camera:
    """Topics NAMESPACE/left/image_rect and so on. `depth`: depths of that encoding in place of right images."""

    def __init__(self, node, flight, reliable, compressed=False, depth="", namespace="/stereo"):
        compressed = compressed or flight.encoding == "png"
        self._flight, self._node, self._compressed, self._depth = flight, node, compressed, depth
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=5, reliability=reliability)
        kind, ending = (CompressedImage, "/compressed") if compressed else (Image, "")
        self._images, self._infos = [], []
        self.images, self.infos = {}, []  # messages: [left, right] by index of the flight; of both sides
        second = ("depth", Image, "") if depth else ("right", kind, ending)
        for side, kind, ending in (("left", kind, ending), second):
            base = f"{namespace}/{side}"
            self._images.append(node.create_publisher(kind, f"{base}/image_rect{ending}", qos))
            self._infos.append(node.create_publisher(CameraInfo, f"{base}/camera_info", qos))
            self.infos.append(info_of(flight, side == "right", f"{side}_camera"))

    def has_readers(self):
        return all(p.get_subscription_count() > 0 for p in self._images + self._infos)

    def send(self, i, stamp=None, right_stamp=None, frame="left_camera"):
        """Pair number i, stamped now unless `stamp` says when; the stamp in ns."""
        n = self._flight.index(i)
        if n not in self.images:
            left, right = self._flight.pair(i)
            self.images[n] = [image_of(self._flight, left, "left_camera", self._compressed),
                                 depth_of(self._flight, i, self._depth, "left_camera") if self._depth else
                                 image_of(self._flight, right, "right_camera", self._compressed)]
        stamp = stamp or self._node.get_clock().now()
        stamps = [stamp.to_msg(), (right_stamp or stamp).to_msg()]
        self.images[n][0].header.frame_id = frame
        for publishers, messages in ((self._infos, self.infos), (self._images, self.images[n])):
            for publisher, message, when in zip(publishers, messages, stamps):
                message.header.stamp = when
                publisher.publish(message)
        return stamp.nanoseconds


class Inertial:
    """Readings of a flight on NAMESPACE/imu."""

    def __init__(self, node, flight, namespace="/stereo"):
        self._publisher = node.create_publisher(Imu, f"{namespace}/imu", 200)
        self._readings = list(flight.readings)
        self._node = node

    def begin(self):
        """Now is the flight's time 0."""
        self.start = self._node.get_clock().now()

    def send(self, until):
        """Up to one beyond `until`, a time of the flight."""
        while self._readings:
            seconds, *values = self._readings.pop(0)
            reading = Imu()
            reading.header.stamp = (self.start + Duration(seconds=seconds)).to_msg()
            reading.header.frame_id = "imu"
            v, a = reading.angular_velocity, reading.linear_acceleration
            v.x, v.y, v.z, a.x, a.y, a.z = values
            reading.orientation_covariance[0] = -1.0  # none
            self._publisher.publish(reading)
            if seconds > until:
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", help="of rendered pairs, 752x480; without, recorded ones of GLINT_TEST_DATA")
    parser.add_argument("--folder", help="where rendered pairs are")
    parser.add_argument("--inertial", action="store_true", help="flight.inertial(), with its own times")
    parser.add_argument("--pairs-rendered", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=0, help="to send; 0: until SIGTERM")
    parser.add_argument("--first", type=int, default=0, help="number of the first pair")
    parser.add_argument("--rate", type=float, default=flights.RATE)
    parser.add_argument("--best-effort", action="store_true")
    parser.add_argument("--compressed", action="store_true", help="rendered pairs as PNG")
    parser.add_argument("--depth", default="", help="16UC1 or 32FC1: rendered depths in place of right images")
    parser.add_argument("--sent", required=True)
    parser.add_argument("--held", action="store_true", help="until SIGUSR1")
    parser.add_argument("--wait", type=float, default=30, help="seconds for readers, then it sends without")
    options = parser.parse_args()
    if options.inertial:
        flight = flights.inertial(options.folder)
        options.pairs = len(flight.left)
    elif options.size:
        flight = flights.rendered(options.size, options.folder, options.pairs_rendered)
    else:
        flight = flights.recorded(os.environ.get("GLINT_TEST_DATA"))
    stop, released = [], [] if options.held else [1]
    signal.signal(signal.SIGUSR1, lambda *_: released.append(1))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.append(1))
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("camera", namespace="/stereo")
    camera = Camera(node, flight, not options.best_effort, compressed=options.compressed, depth=options.depth)
    inertial = Inertial(node, flight) if options.inertial else None
    for i in range(len(flight.left)):
        flight.pair(i)  # into the page cache
    end = time.monotonic() + options.wait
    while not camera.has_readers() and time.monotonic() < end and not stop:
        time.sleep(0.02)
    while not released and not stop:
        time.sleep(0.01)
    if inertial:
        inertial.begin()
    with open(options.sent, "a", buffering=1) as sent:
        due, i = time.monotonic(), options.first
        while not stop and (not options.pairs or i < options.first + options.pairs):
            stamp = None
            if inertial:
                inertial.send(i / flights.RATE)
                stamp = inertial.start + Duration(seconds=i / flights.RATE)
            sent.write(f"{camera.send(i, stamp)} {i}\n")
            i += 1
            due += 1 / options.rate
            now = time.monotonic()
            if due < now - 1:
                due = now  # far behind: no burst
            time.sleep(max(0, due - now))
    time.sleep(0.5)  # reliable readers get the rest
    rclpy.shutdown()
    print(f"publisher: {i - options.first} pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
