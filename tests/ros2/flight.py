"""Pairs of a stereo camera with known poses: a rendered way there and back, or recorded pairs of KITTI.

    flight = rendered("752x480", folder)      # by glint-scene, whose path is in GLINT_SCENE_TOOL
    flight = recorded(GLINT_TEST_DATA)        # PNG files
    left, right = flight.pair(i)              # bytes; i counts on and on, there and back
    pose = flight.pose(i)                     # 4x4: left camera (x right, y down, z ahead) to that of pair 0
"""
import dataclasses
import math
import os
import pathlib
import subprocess

import numpy as np
import yaml

RATE = 20.0  # pairs a second of a flight at its own pace


@dataclasses.dataclass
class Flight:
    folder: pathlib.Path
    left: list  # paths
    right: list
    poses: np.ndarray  # n x 4 x 4
    width: int
    height: int
    focal: float
    centre: tuple
    baseline: float
    encoding: str  # "mono8", or "png" for files as they are
    up: np.ndarray = None  # of inertial(): away from gravity, in the axes of pair 0
    readings: np.ndarray = None  # n x 7: seconds since pair 0, rad/s, m/s^2
    camera_from_imu: np.ndarray = None  # 4x4

    def index(self, i):
        """Which of the pairs is number i: there and back without one twice at the ends."""
        there = len(self.left) - 1
        return there - abs(there - i % (2 * there))

    def pair(self, i):
        n = self.index(i)
        return tuple(self._bytes(paths[n]) for paths in (self.left, self.right))

    def pose(self, i):
        return self.poses[self.index(i)]

    def depth(self, i):
        """Of a rendered pair: metres along the left camera's axis, height x width."""
        data = (self.folder / "truth" / f"depth_{self.index(i):06d}.pfm").read_bytes()
        return np.frombuffer(data[-4 * self.width * self.height :], "<f4").reshape(self.height, self.width)[::-1]

    def projection(self, right):
        f, (cx, cy) = self.focal, self.centre
        return [f, 0.0, cx, -f * self.baseline if right else 0.0, 0.0, f, cy, 0.0, 0.0, 0.0, 1.0, 0.0]

    def _bytes(self, path):
        data = path.read_bytes()
        return data if self.encoding == "png" else data[-self.width * self.height :]  # a PGM ends with its pixels


def matrix(x, y, z, qx, qy, qz, qw):
    rotation = [
        [1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qz * qw), 2 * (qx * qz + qy * qw)],
        [2 * (qx * qy + qz * qw), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qx * qw)],
        [2 * (qx * qz - qy * qw), 2 * (qy * qz + qx * qw), 1 - 2 * (qx * qx + qy * qy)],
    ]
    pose = np.eye(4)
    pose[:3, :3] = rotation
    pose[:3, 3] = x, y, z
    return pose


def write_path(path, pairs):
    """1.3 m ahead and to the side with a turn of 12 degrees, slow at both ends."""
    lines = []
    for i in range(pairs):
        share = (1 - math.cos(math.pi * i / (pairs - 1))) / 2
        half = math.radians(6) * share
        place = f"{0.6 * share:.6f} {0.05 * math.sin(2 * math.pi * share):.6f} {1.2 * share:.6f}"
        lines.append(f"{i / RATE:.6f} {place} 0 {math.sin(half):.9f} 0 {math.cos(half):.9f}\n")
    path.write_text("".join(lines))


def rendered(size, folder, pairs=60):
    """Renders into `folder`, or takes what is there. size: "752x480"."""
    width, height = (int(word) for word in size.split("x"))
    folder = pathlib.Path(folder) / f"{size}-{pairs}"
    truth = folder / "truth" / "trajectory.txt"
    if not truth.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_path(folder / "path.txt", pairs)
        command = [os.environ["GLINT_SCENE_TOOL"], f"--out={folder}", f"--trajectory={folder / 'path.txt'}", "--stereo"]
        _render([*command, f"--width={width}", f"--height={height}", f"--frames={pairs}"], folder, width < 1000)
    poses = np.array([matrix(*map(float, line.split()[1:])) for line in truth.read_text().splitlines()])
    rows = [line.split()[1:] for line in (folder / "calib.txt").read_text().splitlines()]
    return _flight(folder, (folder, folder / "right"), poses, (width, height), rows, "mono8")


def inertial(folder):
    """8 s through a room, with an inertial sensor of 200 Hz; one way only."""
    folder = pathlib.Path(folder) / "inertial"
    width, height, focal, baseline, pairs = 376, 240, 229.0, 0.11, 160
    if not (folder / "truth" / "trajectory.txt").exists():
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for i in range(pairs + 1):
            yaw, pitch, roll, x, y, z = (
                amplitude * math.sin(2 * math.pi * i / RATE / period)
                for amplitude, period in ((60, 11), (10, 4.3), (8, 5.7), (2.5, 13), (0.3, 3.7), (1.5, 8.5)))
            numbers = " ".join(f"{value:.9f}" for value in (x, y, z, *_quaternion(yaw, pitch, roll)))
            lines.append(f"{i / RATE:.6f} {numbers}\n")
        (folder / "path.txt").write_text("".join(lines))
        command = [os.environ["GLINT_SCENE_TOOL"], f"--out={folder}", f"--trajectory={folder / 'path.txt'}", "--stereo",
                   f"--width={width}", f"--height={height}", f"--focal={focal}", f"--baseline={baseline}",
                   f"--frames={pairs}", f"--imu={folder / 'imu.csv'}", "--imu_pose=0.05,-0.03,-0.02,90,10,-85"]
        _render(command, folder, False)
    lines = [line.split() for line in (folder / "truth" / "trajectory.txt").read_text().splitlines()]
    poses = np.array([matrix(*map(float, line[1:])) for line in lines])
    rows = [[focal, 0, (width - 1) / 2, -focal * b, 0, focal, (height - 1) / 2] for b in (0, baseline)]
    flight = _flight(folder, (folder, folder / "right"), poses, (width, height), rows, "mono8")
    flight.up = poses[0][:3, :3].T @ (0, -1, 0)  # the world's y points down
    flight.readings = np.loadtxt(folder / "imu.csv", delimiter=",", comments="#")
    flight.readings[:, 0] = flight.readings[:, 0] / 1e9 - float(lines[0][0])
    chain = yaml.safe_load((folder / "camchain.yaml").read_text())
    flight.camera_from_imu = np.array(chain["cam0"]["T_cam_imu"])
    return flight


def _render(command, folder, keep_depth):
    subprocess.run([*command, "--truth", "--format=pnm", "--noise=2"], check=True, stdout=subprocess.DEVNULL)
    for path in () if keep_depth else (folder / "truth").glob("depth_*"):
        path.unlink()


def _quaternion(yaw, pitch, roll):
    """x, y, z, w of turns in degrees about y, x and z, the last one first."""
    halves = [math.radians(degrees) / 2 for degrees in (yaw, pitch, roll)]
    (sy, cy), (sp, cp), (sr, cr) = ((math.sin(half), math.cos(half)) for half in halves)
    return (cy * sp * cr + sy * cp * sr, sy * cp * cr - cy * sp * sr, cy * cp * sr - sy * sp * cr,
            cy * cp * cr + sy * sp * sr)


def recorded(data):
    """51 pairs of KITTI 06; None where they are not."""
    folder = pathlib.Path(data or "/nonexistent") / "kitti_06"
    if not (folder / "poses.txt").exists():
        return None
    poses = np.tile(np.eye(4), (51, 1, 1))
    poses[:, :3] = np.loadtxt(folder / "poses.txt").reshape(-1, 3, 4)
    rows = [line.split() for line in (folder / "calib.txt").read_text().splitlines()]
    return _flight(folder, (folder / "image_l", folder / "image_r"), poses, (1226, 370), rows, "png")


def _flight(folder, sides, poses, size, rows, encoding):
    first, second = ([float(word) for word in row] for row in rows)
    left, right = (sorted(side.glob("*.png" if encoding == "png" else "*.pgm")) for side in sides)
    assert len(left) == len(right) == len(poses) > 1, (len(left), len(right), len(poses))
    poses = np.linalg.inv(poses[0]) @ poses
    return Flight(folder, left, right, poses, *size, first[0], (first[2], first[6]), -second[3] / second[0], encoding)
