"""localization_peer.py NAME OUT TASK STILL VOCABULARY: a program beside which measure-localization.py measures, in a
process of its own, as it may crash or never end.

NAME        lk: Lucas-Kanade and PnP from pair to pair, by OpenCV; cuvslam: the wheel dim-odom; orbslam3: pyorbslam3
OUT         a file to write: for each pair a line of JSON, [[world from camera, map] or null, seconds of processor time]
TASK        JSON: folder, of a Drive; chosen, a list of [number of the pair, whether it is dark]
STILL       seconds that its own threads are waited for after each pair, at most
VOCABULARY  of ORB-SLAM3
"""
import json
import os
import pathlib
import sys
import tempfile
import time

import cv2
import numpy as np


def matrix(xyz, q):
    x, y, z, w = q
    pose = np.eye(4)
    pose[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                    [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                    [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    pose[:3, 3] = xyz
    return pose


class Drive:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.name = folder.name
        self.truth = np.tile(np.eye(4), (len(open(folder / "poses.txt").readlines()), 1, 1))
        self.truth[:, :3] = np.loadtxt(folder / "poses.txt").reshape(-1, 3, 4)
        self.files = [sorted(p for name in names for p in (folder / name).glob("*.png"))
                      for names in (("left", "image_l"), ("right", "image_r"))]
        rows = [line.split(":")[-1].split() for line in open(folder / "calib.txt") if line.strip() and line[0] != "#"]
        left, right = (np.array(row, float).reshape(3, 4) for row in rows[:2])
        self.camera = (left[0, 0], left[0, 2], left[1, 2], -right[0, 3] / left[0, 0])  # f, cx, cy, baseline
        times = folder / "times.txt"
        self.times = ([int(line) for line in open(times)] if times.exists()
                      else [int(i * 1e9 / 9.65) for i in range(len(self.truth))])
        self.way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(self.truth[:, :3, 3], axis=0), axis=1))])

    def pair(self, i, is_dark):
        images = [cv2.imread(str(eye[i]), cv2.IMREAD_GRAYSCALE) for eye in self.files]
        if not is_dark:
            return images
        noise = np.random.default_rng(i)
        return [noise.integers(0, 4, image.shape, dtype=np.uint8) for image in images]


def lucas_kanade(drive, size):
    """Corners of the last left image, their disparities by patches, and where they went: PnP with RANSAC. A pair that
    is not located begins another map."""
    f, cx, cy, b = drive.camera
    K, last, pose, number = np.array([[f, 0, cx], [0, f, cy], [0, 0, 1]]), None, np.eye(4), 0
    options = dict(winSize=(21, 21), maxLevel=5)

    def follow(one, two, points):
        there, ok, _ = cv2.calcOpticalFlowPyrLK(one, two, points, None, **options)
        back, ok2, _ = cv2.calcOpticalFlowPyrLK(two, one, there, None, **options)
        return there, (ok.ravel() & ok2.ravel() > 0) & (np.linalg.norm(back - points, axis=-1).ravel() < 0.5)

    def track(left, right, _):
        nonlocal last, pose, number
        is_found = False
        if last is not None and last[2] is not None and len(last[2]) >= 6:
            there, ok = follow(last[0], left, last[2])
            if ok.sum() >= 6:
                done, r, t, inliers = cv2.solvePnPRansac(last[3][ok], there[ok], K, None, iterationsCount=300,
                                                         reprojectionError=1.5, confidence=0.999)
                if done and inliers is not None and len(inliers) >= 15:
                    r, t = cv2.solvePnPRefineLM(last[3][ok][inliers[:, 0]], there[ok][inliers[:, 0]], K, None, r, t)
                    step, is_found = np.eye(4), True
                    step[:3, :3], step[:3, 3] = cv2.Rodrigues(r)[0], t.ravel()
                    pose = pose @ np.linalg.inv(step)
        corners = cv2.goodFeaturesToTrack(left, 1500, 0.005, 8)
        cloud = None
        if corners is not None:
            beside, ok = follow(left, right, corners)
            d = (corners - beside)[:, 0]
            ok &= (np.abs(d[:, 1]) < 1.5) & (d[:, 0] > 1)
            corners, z = corners[ok], f * b / d[ok, 0]
            cloud = np.stack([(corners[:, 0, 0] - cx) * z / f, (corners[:, 0, 1] - cy) * z / f, z], -1)
        is_first, last = last is None, (left, right, corners, cloud)
        if not is_found:
            number += 1
        return (pose, number) if is_found or is_first else None
    return track


def cuvslam(drive, size):
    import dim_odom
    f, cx, cy, b = drive.camera
    offsets = {"right": b}
    tracker = dim_odom.CuvslamOdometry(
        {"camera_mode": "stereo", "cameras": [{"frame_id": n, "rectified": True} for n in ("left", "right")],
         "use_gpu": False, "rig_frame_id": "left", "output_frame_id": "left", "odom_frame_id": "odom",
         "speed_gate_max_linear": 1000.0, "speed_gate_max_angular": 1000.0},
        tf=lambda parent, child: ((offsets.get(child, 0.0) - offsets.get(parent, 0.0), 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    height, width = size
    for name in ("left", "right"):
        K = [f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0]
        tracker.handle_camera_info(dim_odom.CameraModel(0, name, width, height, [0.0] * 5, K))

    def track(left, right, ns):
        found = None
        for name, image in (("left", left), ("right", right)):
            frame = dim_odom.ImageFrame(ns, name, width, height, "mono8", width, image.tobytes())
            found = tracker.handle_image(frame) or found
        return found and (matrix(found.translation, found.rotation_xyzw), 0)
    return track


def orbslam3(drive, size, vocabulary):
    import pyorbslam3
    f, cx, cy, b = drive.camera
    fields = {"Camera.type": '"PinHole"', "Camera.fx": f, "Camera.fy": f, "Camera.cx": cx, "Camera.cy": cy,
              "Camera.width": size[1], "Camera.height": size[0], "Camera.bf": f * b, "Camera.RGB": 1, "ThDepth": 35.0,
              "Camera.fps": 20 if size[1] < 1000 else 10, "ORBextractor.nFeatures": 2000 if size[1] > 1000 else 1200,
              "ORBextractor.scaleFactor": 1.2, "ORBextractor.nLevels": 8,
              "ORBextractor.iniThFAST": 20 if size[1] < 1000 else 12, "ORBextractor.minThFAST": 7}
    fields.update({"Camera." + k: 0.0 for k in ("k1", "k2", "p1", "p2")})
    fields.update({"Viewer." + k: 1.0 for k in ("KeyFrameSize", "KeyFrameLineWidth", "GraphLineWidth", "PointSize",
                                                "CameraSize", "CameraLineWidth", "ViewpointX", "ViewpointY",
                                                "ViewpointZ", "ViewpointF")})
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as settings:
        settings.write("%YAML:1.0\n" + "".join(f"{k}: {v}\n" for k, v in fields.items()))
        settings.flush()
        slam = pyorbslam3.Slam(vocabulary, settings.name, pyorbslam3.Sensor.STEREO)

    def track(left, right, ns):
        found = slam.track_stereo(left, right, ns * 1e-9)
        is_found = found.pose_valid and found.state.name in ("OK", "OK_KLT")
        return (np.array(found.pose_wc), 0) if is_found else None
    return track


def run_peer(name, out, task, still, vocabulary):
    task = json.loads(task)
    drive = Drive(task["folder"])
    size = drive.pair(0, False)[0].shape
    first = drive.times[task["chosen"][0][0]]
    peers = {"cuvslam": cuvslam, "lk": lucas_kanade}
    track = orbslam3(drive, size, vocabulary) if name == "orbslam3" else peers[name](drive, size)
    with open(out, "w") as file:
        for i, dark in task["chosen"]:
            images = drive.pair(i, dark)
            before, begin = time.process_time(), time.monotonic()
            found = track(*images, 1_000_000_000 + drive.times[i] - first)
            while name != "lk" and time.monotonic() - begin < still:  # until its threads have nothing to do
                busy = time.process_time()
                time.sleep(0.05)
                if time.process_time() - busy < 0.002:
                    break
            seconds = time.process_time() - before
            file.write(json.dumps([found and [found[0].ravel().tolist(), found[1]], seconds]) + "\n")
            file.flush()
    os._exit(0)  # threads of a peer may not end


if __name__ == "__main__":
    run_peer(*sys.argv[1:4], float(sys.argv[4]), sys.argv[5])
