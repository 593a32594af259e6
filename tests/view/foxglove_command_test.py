#!/usr/bin/env python3
"""foxglove_command_test.py GLINT GLINT-SCENE

What Foxglove gets of a walk through a rendered room, by a client of Python's own library that decodes messages by
Foxglove's numbers of fields: the picture's size, keypoints in it, the camera's pose as the command writes it, and a
cloud of points in front of the camera.
"""
import contextlib
import csv
import json
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile

import devtools
import page_test

IMAGE, ANNOTATIONS, POSE, TRANSFORM, PATH, MAP, STAGES, LOG = range(8)


def fields(data):
    """{number: [value]} of a message in protobuf's wire format."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            value = varint()
        else:
            count = {1: 8, 5: 4}.get(kind) or varint()
            value = data[at:at + count]
            assert len(value) == count
            at += count
        found.setdefault(tag >> 3, []).append(value)
    return found


def message(of, number):
    return fields(of[number][0])


def doubles(of, count):
    """Fields 1..count; those of 0 are left out on the wire."""
    return [struct.unpack("<d", of.get(i, [bytes(8)])[0])[0] for i in range(1, count + 1)]


class Client:
    def __init__(self, port):
        self._socket = devtools.WebSocket("127.0.0.1", port, "/", "foxglove.sdk.v1")
        assert json.loads(self._socket.receive())["op"] == "serverInfo"
        advertised = json.loads(self._socket.receive())["channels"]
        self.topics = {channel["topic"]: channel["id"] for channel in advertised}

    def subscribe(self, **subscriptions):
        """topic=subscription's id"""
        wanted = [{"id": id, "channelId": self.topics["/" + topic]} for topic, id in subscriptions.items()]
        self._socket.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))

    def next(self):
        """(subscription's id, time, payload)"""
        data = self._socket.receive()
        assert data[0] == 1, data
        return *struct.unpack("<IQ", data[1:13]), data[13:]

    def until(self, id):
        while True:
            got, time_ns, payload = self.next()
            if got == id:
                return time_ns, payload


@contextlib.contextmanager
def command(*arguments):
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        said = iter(process.stderr.readline, "")
        found = next(filter(None, (re.search(r"Foxglove at ws://127\.0\.0\.1:(\d+)$", line.strip()) for line in said)))
        yield Client(int(found.group(1)))
    finally:
        process.send_signal(signal.SIGINT)
        process.stderr.close()
        process.wait(page_test.PATIENCE)


def png_size(file):
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack("!II", file[16:24])


def test_keypoints(glint, folder):
    with command(glint, "view", "--server", "inproc", "--backend", "cpu", "--view", "127.0.0.1:0", "--foxglove",
                 "127.0.0.1:0", folder) as client:
        client.subscribe(image=1, annotations=2, stages=3)
        _, payload = client.until(1)
        image = fields(payload)
        assert image[3] == [b"png"] and png_size(image[2][0]) == (320, 240)
        _, payload = client.until(2)
        points = [doubles(fields(point), 2) for point in message(fields(payload), 2)[3]]
        assert len(points) > 50 and all(0 < x < 320 and 0 < y < 240 for x, y in points), points
        stages = json.loads(client.until(3)[1])["stages"]
        assert "detect" in [stage["name"] for stage in stages] and all(stage["ms"] >= 0 for stage in stages)
    print("view: picture, keypoints, stages")


def test_poses(glint, folder):
    rows = pathlib.Path(folder, "rows.csv")
    with command(glint, "localize", "--server", "inproc", "--backend", "cpu", "--foxglove", "127.0.0.1:0", "--format",
                 "csv", "--output", str(rows), "--calibration", str(pathlib.Path(folder, "..", "calib.txt")), folder,
                 str(pathlib.Path(folder, "right"))) as client:
        client.subscribe(pose=10, tf=11, path=12, map=13, log=14)
        poses = {}  # by the name of the picture
        while len(poses) < 5:
            time_ns, payload = client.until(10)
            pose = fields(payload)
            assert pose[2] == [b"map"]
            stamp = message(pose, 1)
            assert stamp[1][0] * 10 ** 9 + stamp.get(2, [0])[0] == time_ns
            position = doubles(message(message(pose, 3), 1), 3)
            rotation = doubles(message(message(pose, 3), 2), 4)
            transform = fields(client.until(11)[1])
            assert transform[2] == [b"map"] and transform[3] == [b"camera"]
            assert doubles(message(transform, 4), 3) == position and doubles(message(transform, 5), 4) == rotation
            path = fields(client.until(12)[1])[3]
            assert doubles(message(fields(path[-1]), 1), 3) == position
            name = fields(client.until(14)[1])[3][0].decode().split(": ")[0]
            poses[name] = position + rotation
        cloud = fields(client.until(13)[1])
        stride = struct.unpack("<I", cloud[4][0])[0]
        names = [fields(field)[1][0] for field in cloud[5]]
        points = list(struct.iter_unpack("<fff", cloud[6][0]))
        assert stride == 12 and names == [b"x", b"y", b"z"] and len(points) > 100, (stride, names, len(points))
        ahead = sum(0 < z < 100 for _, _, z in points)
        assert ahead > 0.9 * len(points), f"{ahead} of {len(points)} points are in the room"
    written = {}
    for row in csv.DictReader(rows.open()):
        written.setdefault(row["image"], []).append([float(row[key]) for key in "x y z qx qy qz qw".split()])
    for name, pose in poses.items():
        assert pose in written[name], (name, pose, written[name])
    print("localize: poses as written, path, transform, map")


def main(glint, scene):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([scene, "--out", folder, "--layout", "room", "--motion", "walk", "--stereo", *page_test.SIZE,
                        "--frames", "90"], check=True, stdout=subprocess.DEVNULL)
        page_test.write_calibration(scene, folder)
        test_keypoints(glint, folder)
        test_poses(glint, page_test.make_longer(folder, 40))


if __name__ == "__main__":
    main(*sys.argv[1:])
