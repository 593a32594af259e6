#!/usr/bin/env python3
"""publisher.py FLIGHT... : a stereo camera of ROS 2, by rclpy, in a process of its own.

Sends pairs of a flight (flight.py) with their CameraInfo at a rate, until it has sent all or SIGTERM comes. Writes
"STAMP NUMBER" of each pair to --sent, a line at a time, so that what was sent is known even if it is killed.
"""
import argparse
import array
import os
import signal
import sys
import time

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


def image_of(flight, data, frame):
    if flight.encoding == "png":
        image = CompressedImage(format="mono8; png compressed ")
    else:
        image = Image(width=flight.width, height=flight.height, step=flight.width, encoding="mono8")
    image.header.frame_id = frame
    image.data = array.array("B", data)
    return image


class Camera:
    """Topics NAMESPACE/left/image_rect and so on."""

    def __init__(self, node, flight, reliable, namespace="/stereo"):
        self._flight, self._node = flight, node
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=5, reliability=reliability)
        kind, ending = (CompressedImage, "/compressed") if flight.encoding == "png" else (Image, "")
        self._images, self._infos, self._messages, self._camera = [], [], {}, []
        for right, side in enumerate(("left", "right")):
            base = f"{namespace}/{side}"
            self._images.append(node.create_publisher(kind, f"{base}/image_rect{ending}", qos))
            self._infos.append(node.create_publisher(CameraInfo, f"{base}/camera_info", qos))
            self._camera.append(info_of(flight, right, f"{side}_camera"))

    def has_readers(self):
        return all(p.get_subscription_count() > 0 for p in self._images + self._infos)

    def send(self, i, stamp=None):
        """Pair number i, stamped now unless `stamp` says when; the stamp in ns."""
        n = self._flight.index(i)
        if n not in self._messages:
            self._messages[n] = [image_of(self._flight, data, f"{side}_camera")
                                 for side, data in zip(("left", "right"), self._flight.pair(i))]
        stamp = stamp or self._node.get_clock().now()
        message = stamp.to_msg()
        for publisher, camera in zip(self._infos, self._camera):
            camera.header.stamp = message
            publisher.publish(camera)
        for publisher, image in zip(self._images, self._messages[n]):
            image.header.stamp = message
            publisher.publish(image)
        return stamp.nanoseconds


class Inertial:
    """Readings of a flight on NAMESPACE/imu."""

    def __init__(self, node, flight, namespace="/stereo"):
        self._publisher = node.create_publisher(Imu, f"{namespace}/imu", 200)
        self._readings = list(flight.readings)
        self.start = node.get_clock().now()

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
    parser.add_argument("--sent", required=True)
    parser.add_argument("--wait", type=float, default=30, help="seconds for readers, then it sends without")
    options = parser.parse_args()
    if options.inertial:
        flight = flights.inertial(options.folder)
        options.pairs = len(flight.left)
    elif options.size:
        flight = flights.rendered(options.size, options.folder, options.pairs_rendered)
    else:
        flight = flights.recorded(os.environ.get("GLINT_TEST_DATA"))
    stop = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.append(1))
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node("camera", namespace="/stereo")
    camera = Camera(node, flight, not options.best_effort)
    for i in range(len(flight.left)):
        flight.pair(i)  # into the page cache
    end = time.monotonic() + options.wait
    while not camera.has_readers() and time.monotonic() < end and not stop:
        time.sleep(0.02)
    inertial = Inertial(node, flight) if options.inertial else None
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
