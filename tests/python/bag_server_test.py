"""glint.bags: what a server makes of a recording is what it makes of the same arrays, and as the command line says."""
import contextlib
import os
import pathlib
import subprocess
import unittest

import numpy as np

import glint
from bag_maker import FOLDER, START, STEP, Maker, setUpModule
from glint import bags
from support import Server, columns, picture


def wall(count):
    """Pictures of a wall 4 m ahead, along which a rectified camera moves: left and right ones, K, P of each."""
    focal, baseline, disparity, step, width, height = 200.0, 0.2, 10, 8, 320, 200
    seen = picture(5, width + disparity + step * count, height)
    lefts, rights = (
        [np.ascontiguousarray(seen[:, step * i + shift :][:, :width]) for i in range(count)] for shift in (0, disparity)
    )
    k = np.array([[focal, 0, 159.5], [0, focal, 99.5], [0, 0, 1]])
    return lefts, rights, k, *(np.column_stack((k, (x, 0, 0))) for x in (0, -focal * baseline))


class ServerTest(unittest.TestCase):
    """What a server makes of a recording is what it makes of the same arrays."""

    def test_detections_and_poses(self):
        lefts, rights, k, p0, p1 = wall(6)
        height, width = lefts[0].shape
        maker = Maker("mcap")
        for i, (left, right) in enumerate(zip(lefts, rights)):
            maker.image("/l/image_rect", START + i * STEP, left, width=width)
            maker.image("/r/image_rect", START + i * STEP, right, width=width)
        for name, p in (("l", p0), ("r", p1)):
            maker.info(f"/{name}/camera_info", START, k, [], np.eye(3), p, size=(width, height))
        bag = bags.Recording(maker.write("drive"))
        names = ("/l/image_rect", "/r/image_rect")

        with contextlib.ExitStack() as stack:
            server = Server()
            stack.callback(server.stop)
            client = stack.enter_context(glint.Client(server.address))
            found = client.stream(image.image for image in bag.images(names[0]))
            expected = client.stream(lefts)
            self.assertEqual([columns(r.features) for r in found], [columns(r.features) for r in expected])

            camera = glint.StereoCamera(width, height, left_projection=p0, right_projection=p1)
            own = [glint.LocalizePair(*pair, time_ns=START + i * STEP) for i, pair in enumerate(zip(lefts, rights))]
            results = [
                [(r.location.status, r.location.world_from_camera.tobytes()) for r in stream]
                for stream in (
                    client.localize_stream(own, camera, max_features=300),
                    client.localize_stream(bag.localize_items(*names), bag.stereo_camera(*names), max_features=300),
                )
            ]
            self.assertEqual(*results)
            self.assertEqual(len(results[0]), 6)
            self.assertEqual(results[0][-1][0], glint.LocationStatus.TRACKING)

    def test_the_command_line_says_the_same_poses(self):
        """Of raw images, which calibration and pairs have to be right for."""
        tool = os.environ.get("GLINT_TOOL")
        if tool is None:
            self.skipTest("GLINT_TOOL, the path of glint, is not set")
        lefts, rights, k, p0, p1 = wall(8)
        maker = Maker("ros1")
        for i, (left, right) in enumerate(zip(lefts, rights)):
            maker.image("/l/image_raw", START + i * STEP, left, width=left.shape[1])
            maker.image("/r/image_raw", START + i * STEP + 1_000_000, right, width=left.shape[1])
        for name, p in (("l", p0), ("r", p1)):
            maker.info(f"/{name}/camera_info", START, k, [0.01, 0.001, 0, 0, 0], np.eye(3), p, size=(320, 200))
        bag, names = bags.Recording(maker.write("raw")), ("/l/image_raw", "/r/image_raw")
        trajectory = pathlib.Path(FOLDER.name, "trajectory.txt")
        with contextlib.ExitStack() as stack:
            server = Server()
            stack.callback(server.stop)
            command = [tool, "localize", f"--server={server.address}", f"--bag={bag.path}", f"--left={names[0]}"]
            command += [f"--right={names[1]}", f"--trajectory={trajectory}"]
            said = subprocess.run(command, capture_output=True, check=False)
            self.assertEqual(said.returncode, 0, said.stderr)
            client = stack.enter_context(glint.Client(server.address))
            found = client.localize_stream(bag.localize_items(*names), bag.stereo_camera(*names))
            poses = [r.location.world_from_camera[:3, 3] for r in found if r.location.located]
        rows = np.loadtxt(trajectory)  # time, x, y, z, quaternion
        self.assertEqual(len(rows), 8)
        self.assertTrue(np.allclose(rows[:, 1:4], poses, rtol=0, atol=1e-8))  # as many digits as are written


if __name__ == "__main__":
    unittest.main()
