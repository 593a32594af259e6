"""Localization by glint.Client and glint.aio.Client against a real server: a wall, maps, bad input."""
import dataclasses
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest
import zlib

import numpy as np

import glint
from glint import localization_messages
from glint.v1 import envelope_pb2, localization_pb2
from support import Server, picture

# A wall at a distance of 4 m, along which the camera moves by 0.16 m a pair.
WIDTH, HEIGHT, FOCAL, BASELINE = 320, 200, 200, 0.2
DISPARITY, STEP = 10, 8
CAMERA = glint.StereoCamera(WIDTH, HEIGHT, focal_length=FOCAL, centre_x=159.5, centre_y=99.5, baseline=BASELINE)
OPTIONS = {"max_features": 300}


def setUpModule():
    global server, client, maps, calibrations
    maps, calibrations = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()
    server = Server(f"--map-directory={maps.name}", f"--calibration-directory={calibrations.name}")
    client = glint.Client(server.address)
    try:
        list(client.localize_stream([], CAMERA, timeout=20))
    except BaseException:
        tearDownModule()
        raise


def tearDownModule():
    client.close()
    server.stop()
    maps.cleanup()
    calibrations.cleanup()


def pairs(count=8):
    wall = picture(5, WIDTH + DISPARITY + STEP * count, HEIGHT)

    def part(x):
        return np.ascontiguousarray(wall[:, x : x + WIDTH])

    return [(part(STEP * i), part(STEP * i + DISPARITY)) for i in range(count)]


def white_png(width, height):
    def chunk(kind, data):
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))

    header, rows = struct.pack(">LLBBBBB", width, height, 8, 0, 0, 0, 0), (b"\0" + b"\xfa" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def timed(items):
    return [glint.LocalizePair(*pair, time_ns=10**8 * (i + 1)) for i, pair in enumerate(items)]


class MessageTest(unittest.TestCase):
    def test_a_location(self):
        message = localization_pb2.LocalizeStreamResponse(frame_id=7, map_keyframes=3, map_points=400)
        message.timings.locate_ns, message.timings.adjust_ns = 5, 6
        one = message.location
        one.status, one.inliers, one.keyframe, one.map_id = 2, 90, True, 3
        one.pose.qx, one.pose.qy, one.pose.qz, one.pose.qw = 0.5, 0.5, 0.5, 0.5
        one.pose.x, one.pose.y, one.pose.z = 1, 2, 3
        one.covariance.extend(range(21))
        one.rig_rotation.y = 0.25
        turned = envelope_pb2.WARNING_KIND_RIG_ROTATION
        one.warnings.add(kind=turned, figure=0.25, unit="deg", text="turned by 0.25 deg")
        one.warnings.add(kind=envelope_pb2.WARNING_KIND_FEW_DEPTHS, figure=0.5, unit="1", text="few")
        for more in (b"", b"\xad\x06abcd"):
            result = localization_messages.parse_localize_result(message.SerializeToString() + more)
            self.assertEqual((result.frame_id, result.map_keyframes, result.map_points), (7, 3, 400))
            self.assertEqual((result.timings.locate_ns, result.timings.adjust_ns), (5, 6))
            found = result.location
            self.assertEqual(found.status, glint.LocationStatus.TRACKING)
            # x to y, y to z, z to x
            turn = [[0, 0, 1, 1], [1, 0, 0, 2], [0, 1, 0, 3], [0, 0, 0, 1]]
            self.assertEqual(found.world_from_camera.tolist(), turn)
            self.assertEqual(found.position.tolist(), [1, 2, 3])
            self.assertEqual(found.covariance.tolist(), found.covariance.T.tolist())
            self.assertEqual(found.covariance[0].tolist(), [0, 1, 2, 3, 4, 5])
            self.assertEqual(found.covariance[5].tolist(), [5, 10, 14, 17, 19, 20])
            self.assertEqual((found.inliers, found.keyframe, found.map_id), (90, True, 3))
            self.assertEqual(found.warnings[0], glint.Warning("rig_rotation", 0.25, "deg", "turned by 0.25 deg"))
            self.assertEqual([str(w) for w in found.warnings], ["turned by 0.25 deg", "few"])
            self.assertEqual(found.rig_rotation.tolist(), [0, 0.25, 0])
            with self.assertRaises(glint.InvalidArgument):
                result.map.points.sort()
        located = []
        for status in glint.LocationStatus:
            one.status = int(status)
            if localization_messages.parse_localize_result(message.SerializeToString()).location.located:
                located.append(status.name)
        self.assertEqual(located, ["TRACKING", "RELOCALIZED", "NEW_MAP"])

    def test_a_part_of_a_map(self):
        message = localization_pb2.LocalizeStreamResponse(frame_id=7)
        for i in range(3):
            one = message.map.keyframes.add(id=i + 5, frame_id=(1 << 63) + i, time_ns=10**18 + i)
            one.pose.qw, one.pose.x = 1, i
        message.map.point_id.extend([1, 1 << 40])
        message.map.x.extend([1, 2])
        message.map.y.extend([3, 4])
        message.map.z.extend([5, 6])
        message.map.next.keyframe, message.map.next.point, message.map.map_id = 8, 1 << 41, 2
        found = localization_messages.parse_localize_result(message.SerializeToString()).map
        self.assertEqual(found.keyframe_ids.tolist(), [5, 6, 7])
        self.assertEqual(found.frame_ids.tolist(), [(1 << 63) + i for i in range(3)])
        self.assertEqual(found.times_ns.tolist(), [10**18 + i for i in range(3)])
        self.assertEqual(found.world_from_camera[2, :3, 3].tolist(), [2, 0, 0])
        self.assertEqual((found.point_ids.tolist(), found.points.tolist()), ([1, 1 << 40], [[1, 3, 5], [2, 4, 6]]))
        self.assertEqual((found.next, found.map_id), ((8, 1 << 41), 2))

    def test_answers_that_make_no_sense(self):
        message = localization_pb2.LocalizeStreamResponse()
        message.location.status = 9
        with self.assertRaises(glint.InternalError):
            localization_messages.parse_localize_result(message.SerializeToString())
        message = localization_pb2.LocalizeStreamResponse()
        message.map.x.append(1)
        with self.assertRaises(glint.InternalError):
            localization_messages.parse_localize_result(message.SerializeToString())

    def test_items_are_what_protobuf_writes(self):
        left, right = pairs(1)[0]
        for item, kind in (
            (glint.LocalizePair(left, right, time_ns=1 << 40, max_age=1), "pair"),
            (glint.LocalizePair(left, relocalize=True), "relocalize"),
            (glint.LocalizePair(left, depth=left.astype(np.uint16)), "pair"),
            (glint.GetMap(), "get_map"),
            (glint.GetMap((3, 1 << 40)), "get_map"),
            (glint.SaveMap("hall"), "save_map"),
            (glint.LoadMap("hall"), "load_map"),
        ):
            data = localization_messages.localize_item(9, item)
            message = localization_pb2.LocalizeStreamRequest.FromString(data)
            self.assertEqual((message.WhichOneof("message"), message.SerializeToString()), (kind, data))
            self.assertEqual(getattr(message, kind).frame_id, 9)


class LocalizeTest(unittest.TestCase):
    def test_along_a_wall(self):
        results = list(client.localize_stream(timed(pairs()), CAMERA, **OPTIONS))
        self.assertEqual([r.frame_id for r in results], list(range(8)))
        tracked = [r for r in results if r.location.status == glint.LocationStatus.TRACKING]
        self.assertGreaterEqual(len(tracked), 6)
        for result in tracked:
            place = result.location
            np.testing.assert_allclose(place.position, (0.16 * result.frame_id, 0, 0), atol=0.02)
            np.testing.assert_allclose(place.world_from_camera[:3, :3], np.eye(3), atol=0.01)
            if result.frame_id > 0:  # the first pair is the world's origin, exactly
                self.assertTrue((np.linalg.eigvalsh(place.covariance) > 0).all())
                self.assertTrue(0 < place.inliers <= place.matches <= place.keypoints)
        again = list(client.localize_stream(timed(pairs()), CAMERA, window=1, **OPTIONS))
        for one, two in zip(results, again):
            self.assertEqual(one.location.world_from_camera.tobytes(), two.location.world_from_camera.tobytes())

    def test_side_by_side_and_projections(self):
        left = np.array([[FOCAL, 0, 159.5, 0], [0, FOCAL, 99.5, 0], [0, 0, 1, 0]])
        right = left.copy()
        right[0, 3] = -FOCAL * BASELINE
        camera = glint.StereoCamera(WIDTH, HEIGHT, left_projection=left, right_projection=right)
        joined = [glint.LocalizePair(np.hstack(p), time_ns=10**8 * (i + 1)) for i, p in enumerate(pairs(4))]
        want = list(client.localize_stream(timed(pairs(4)), CAMERA, **OPTIONS))
        for one, two in zip(client.localize_stream(joined, camera, **OPTIONS), want):
            self.assertEqual(one.location.world_from_camera.tobytes(), two.location.world_from_camera.tobytes())

    def test_raw_pairs(self):
        k = np.array([[FOCAL, 0, 159.5], [0, FOCAL, 99.5], [0, 0, 1]])
        rig = glint.StereoRig((WIDTH, HEIGHT), k, None, k, None, np.eye(3), [-BASELINE, 0, 0], focal_length=FOCAL)
        raw = list(client.localize_stream(timed(pairs()), rig, **OPTIONS))
        plain = list(client.localize_stream(timed(pairs()), CAMERA, **OPTIONS))
        self.assertTrue(all(r.location.located for r in raw[1:]))
        for one, other in zip(raw, plain):
            np.testing.assert_allclose(one.location.position, other.location.position, atol=1e-3)
            self.assertEqual(one.location.rectified.focal_length, FOCAL)
            self.assertIsNone(other.location.rectified)

    def test_depth_in_place_of_the_right_image(self):
        camera = glint.StereoCamera(WIDTH, HEIGHT, FOCAL, 159.5, 99.5, baseline=0.08)
        depth = np.full((HEIGHT, WIDTH), 20000, np.uint16)  # the wall at 4 m
        depth[::20] = 0
        sensor = glint.DepthCamera(unit=0.0002)
        items = [glint.LocalizePair(left, time_ns=10**8 * (i + 1), depth=depth) for i, (left, _) in enumerate(pairs())]
        items.append(glint.LocalizePair(pairs()[3][0], depth=depth, relocalize=True))
        results = list(client.localize_stream(items, camera, depth=sensor, **OPTIONS))
        for result, at in zip(results, [*range(8), 3]):
            self.assertGreater(result.location.status, glint.LocationStatus.INITIALIZING)
            np.testing.assert_allclose(result.location.position, (0.16 * at, 0, 0), atol=0.02)
            self.assertEqual(result.location.warnings, ())
        (one,) = client.localize_stream([(pairs(1)[0][0], depth)], camera, depth=sensor, **OPTIONS)
        self.assertEqual(one.location.status, glint.LocationStatus.TRACKING)
        bad = [(pairs(1)[0][0], depth.astype(np.uint8)), glint.LocalizePair(*pairs(1)[0])]
        errors = [result.error for result in client.localize_stream(bad, camera, depth=sensor, **OPTIONS)]
        self.assertEqual([error.field for error in errors], ["depth.raw.format", "right"])
        with self.assertRaisesRegex(glint.InvalidArgument, "depth.unit: 0 is not in"):
            list(client.localize_stream([], camera, depth=glint.DepthCamera(unit=0)))

    def test_raw_depth(self):
        """Of a camera with unequal focal lengths, whose image is the wall's with every row twice; depths of its own
        pixels, and of another camera beside it."""
        raw = glint.Camera((WIDTH, 2 * HEIGHT), [[FOCAL, 0, 159.5], [0, 2 * FOCAL, 199.5], [0, 0, 1]])
        other = glint.Camera((WIDTH, HEIGHT), [[FOCAL, 0, 159.5], [0, FOCAL, 99.5], [0, 0, 1]])
        sensor, made = glint.DepthCamera(unit=0.0002), {"rectified_size": (WIDTH, HEIGHT), "focal_length": FOCAL}
        for camera, rows in (
            (glint.RgbdCamera(raw, **made), 2 * HEIGHT),
            (glint.RgbdCamera(raw, depth_camera=other, T=[0.02, 0, 0], **made), HEIGHT),
        ):
            depth = np.full((rows, WIDTH), 20000, np.uint16)  # the wall at 4 m
            items = [
                glint.LocalizePair(np.repeat(left, 2, axis=0), time_ns=10**8 * (i + 1), depth=depth)
                for i, (left, _) in enumerate(pairs())
            ]
            for result in client.localize_stream(items, camera, depth=sensor, **OPTIONS):
                place = result.location
                self.assertGreater(place.status, glint.LocationStatus.INITIALIZING)
                np.testing.assert_allclose(place.position, (0.16 * result.frame_id, 0, 0), atol=0.02)
                self.assertEqual((place.rectified.width, place.rectified.height), (WIDTH, HEIGHT))
                self.assertEqual(place.rectified.focal_length, FOCAL)
                np.testing.assert_allclose(place.rectified.rectified_from_left, np.eye(3), atol=1e-12)
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.localize_stream([], glint.RgbdCamera(raw, baseline=-1), depth=sensor))
        self.assertEqual(caught.exception.field, "raw_camera.baseline")

    def test_raw_depth_by_name(self):
        """The same cameras, of a file as Kalibr writes it."""
        eye = "  camera_model: pinhole\n  distortion_coeffs: []\n  distortion_model: none\n"
        chain = f"""cam0:
{eye}  intrinsics: [{FOCAL}, {2 * FOCAL}, 159.5, 199.5]
  resolution: [{WIDTH}, {2 * HEIGHT}]
cam1:
  T_cn_cnm1:
  - [1.0, 0.0, 0.0, -0.02]
  - [0.0, 1.0, 0.0, 0.0]
  - [0.0, 0.0, 1.0, 0.0]
  - [0.0, 0.0, 0.0, 1.0]
{eye}  intrinsics: [{FOCAL}, {FOCAL}, 159.5, 99.5]
  resolution: [{WIDTH}, {HEIGHT}]
"""
        (pathlib.Path(calibrations.name) / "d435.yaml").write_text(chain, encoding="utf-8")
        raw = glint.Camera((WIDTH, 2 * HEIGHT), [[FOCAL, 0, 159.5], [0, 2 * FOCAL, 199.5], [0, 0, 1]])
        other = glint.Camera((WIDTH, HEIGHT), [[FOCAL, 0, 159.5], [0, FOCAL, 99.5], [0, 0, 1]])
        sensor, depth = glint.DepthCamera(unit=0.0002), np.full((HEIGHT, WIDTH), 20000, np.uint16)
        items = [
            glint.LocalizePair(np.repeat(left, 2, axis=0), time_ns=10**8 * (i + 1), depth=depth)
            for i, (left, _) in enumerate(pairs())
        ]
        of_file, given = (
            [result.location for result in client.localize_stream(items, camera, depth=sensor, **OPTIONS)]
            for camera in (glint.RgbdCamera(name="d435"), glint.RgbdCamera(raw, depth_camera=other, T=[0.02, 0, 0]))
        )
        self.assertEqual(of_file[-1].status, glint.LocationStatus.TRACKING)
        for found, want in zip(of_file, given):
            self.assertEqual((found.status, found.inliers), (want.status, want.inliers))
            np.testing.assert_array_equal(found.position, want.position)
        with self.assertRaises(glint.NotFound) as caught:
            list(client.localize_stream([], glint.RgbdCamera(name="d455"), depth=sensor))
        self.assertEqual(caught.exception.field, "raw_camera.name")

    def test_masks_and_region(self):
        """Where nothing may be found, nothing is; a pair's own mask is in place of the stream's."""
        nowhere = np.zeros((HEIGHT, WIDTH), bool)
        first, second = pairs(2)
        items = [glint.LocalizePair(*first, time_ns=1), glint.LocalizePair(*second, time_ns=10**8, mask=~nowhere)]
        blind, seen = client.localize_stream(items, CAMERA, mask=nowhere, **OPTIONS)
        self.assertEqual((blind.location.keypoints, blind.location.located), (0, False))
        self.assertGreater(seen.location.keypoints, 100)
        (part,) = client.localize_stream([first], CAMERA, region=(0, 0, 40, 40), **OPTIONS)
        self.assertLess(part.location.keypoints, seen.location.keypoints / 2)
        (wrong,) = client.localize_stream([first], CAMERA, right_mask=nowhere[1:], **OPTIONS)
        self.assertIsInstance(wrong.error, glint.InvalidArgument)
        self.assertIn("right_mask", wrong.error.field)

    def test_an_inertial_sensor(self):
        """Readings of both sensors are counted, those of pairs and those alone; one of a time that was there, too."""
        imu = glint.Imu(np.eye(4))

        def readings(first, last):
            steps = np.arange(first, last + 1)
            moved = 1e-6 * steps[:, None]
            return steps * 5 * 10**6, moved + np.zeros(3), moved + [0, -9.81, 0]

        first, second, third = timed(pairs(3))
        items = [
            dataclasses.replace(first, imu=readings(0, 21)),
            dataclasses.replace(second, imu=readings(22, 41)),
            glint.ImuReadings(*readings(41, 61)),
            third,
        ]
        one, two, alone, last = client.localize_stream(items, CAMERA, imu=imu, **OPTIONS)
        self.assertEqual(one.location.inertial.readings, glint.ImuReceived(received=2 * 22))
        self.assertEqual(one.location.inertial.status, glint.InertialStatus.INITIALIZING)
        self.assertFalse(one.location.inertial.level)
        self.assertEqual(two.location.inertial.readings, glint.ImuReceived(received=2 * 42))
        self.assertEqual((alone.imu.received, alone.imu.duplicate), (2 * 63, 2))
        self.assertEqual(last.location.inertial.readings, alone.imu)
        self.assertTrue(last.location.located)
        (plain,) = client.localize_stream([first], CAMERA, **OPTIONS)
        self.assertIsNone(plain.location.inertial)
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.localize_stream([], CAMERA, imu=glint.Imu(np.eye(4), gravity=100)))
        self.assertEqual(caught.exception.field, "imu.gravity")
        (bad,) = client.localize_stream([items[0]], CAMERA, **OPTIONS)
        self.assertIsInstance(bad.error, glint.InvalidArgument)

    def test_requests_about_the_map(self):
        *_, pair, got = client.localize_stream([*timed(pairs(3)), glint.GetMap()], CAMERA, **OPTIONS)
        self.assertEqual((len(got.map.keyframe_ids), len(got.map.point_ids)), (got.map_keyframes, got.map_points))
        self.assertEqual(got.map.points.shape, (got.map_points, 3))
        pairs_of_keyframes = got.map.frame_ids.tolist()
        self.assertEqual(pairs_of_keyframes[0], 0)
        self.assertEqual(got.map.times_ns.tolist(), [10**8 * (i + 1) for i in pairs_of_keyframes])
        self.assertIsNone(got.map.next)
        with self.assertRaises(glint.InvalidArgument):
            pair.map.points.sort()

    def test_maps(self):
        drive = timed(pairs())
        items = [*drive, glint.GetMap(), glint.SaveMap("wall"), glint.LocalizePair(*pairs()[3], relocalize=True)]
        *_, got, saved, place = client.localize_stream(items, CAMERA, **OPTIONS)
        self.assertGreater(len(got.map.keyframe_ids), 0)
        self.assertEqual(got.map.world_from_camera[0].tolist(), np.eye(4).tolist())
        np.testing.assert_allclose(np.median(got.map.points[:, 2]), 4, atol=0.1)
        saved.check()
        self.assertEqual(place.location.status, glint.LocationStatus.RELOCALIZED)
        np.testing.assert_allclose(place.location.position, (0.48, 0, 0), atol=0.02)
        loaded, found = client.localize_stream([glint.LoadMap("wall"), drive[5]], CAMERA, **OPTIONS)
        self.assertEqual((loaded.map_keyframes, loaded.map_points), (saved.map_keyframes, saved.map_points))
        np.testing.assert_allclose(found.location.position, (0.8, 0, 0), atol=0.02)

    def test_bad_input(self):
        left, right = pairs(1)[0]
        for field, call in (
            ("camera", lambda: client.localize_stream([], None)),
            ("camera.left_projection", lambda: client.localize_stream(
                [], glint.StereoCamera(320, 200, left_projection=[1, 2]))),
            ("camera.width", lambda: client.localize_stream([], glint.StereoCamera("wide", 200))),
            ("mode", lambda: client.localize_stream([], CAMERA, mode="fast")),
            ("depth", lambda: client.localize_stream([], CAMERA, depth=0.001)),
            ("depth.unit", lambda: client.localize_stream([], CAMERA, depth=glint.DepthCamera("mm"))),
            ("refine_rig", lambda: client.localize_stream([], CAMERA, refine_rig="maybe")),
            ("pairs", lambda: client.localize_stream([(left, right, left)], CAMERA)),
            ("right", lambda: client.localize_stream([(left, "file.png")], CAMERA)),
            ("time_ns", lambda: client.localize_stream([glint.LocalizePair(left, right, time_ns=-1)], CAMERA)),
            ("start", lambda: client.localize_stream([glint.GetMap((-1, 0))], CAMERA)),
            ("name", lambda: client.localize_stream([glint.SaveMap(3)], CAMERA)),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                list(call())
            self.assertEqual(caught.exception.field, field, caught.exception)
        wrong = glint.StereoCamera(WIDTH, HEIGHT, focal_length=FOCAL, centre_x=159.5, centre_y=99.5, baseline=-1)
        with self.assertRaisesRegex(glint.InvalidArgument, "baseline"):
            list(client.localize_stream([(left, right)], wrong))
        items = [glint.LoadMap("nowhere"), glint.SaveMap("../up"), (left, right[:-1])]
        results = list(client.localize_stream(items, CAMERA, **OPTIONS))
        self.assertIsInstance(results[0].error, glint.NotFound)
        self.assertEqual([r.ok for r in results], [False] * 3)


class ToolTest(unittest.TestCase):
    """glint-scene --depth and glint localize --depth, from pictures to the error beside the true path."""

    def setUp(self):
        self.tools = [os.environ.get(name) for name in ("GLINT_SCENE_TOOL", "GLINT_TOOL")]
        if None in self.tools:
            self.skipTest("GLINT_SCENE_TOOL and GLINT_TOOL are not set")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def localize(self, *options):
        paths = [str(self.folder / name) for name in ("calib.txt", "truth/trajectory.txt", "*.png", "depth")]
        return subprocess.run(
            [self.tools[1], "localize", "--server", server.address, "--calibration", paths[0], "--truth", paths[1],
             "--rate", "20", *options, *paths[2:]], capture_output=True, text=True, timeout=120, check=False)

    def render(self):
        path = self.folder / "path.txt"
        path.write_text("".join(f"{i / 20} {0.03 * i} 0 {0.01 * i} 0 0 0 1\n" for i in range(12)), encoding="utf-8")
        subprocess.run([self.tools[0], "--out", str(self.folder), "--trajectory", str(path), "--width=320",
                        "--height=240", "--depth", "--depth_unit=0.0002", "--depth_noise=0.05", "--baseline=0.08",
                        "--truth"], check=True)

    def test_what_is_not_said_is_the_same_for_all_clients(self):
        self.render()
        path = self.folder / "found.txt"
        done = self.localize("--depth", "--depth-unit", "0.0002", "--trajectory", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        by_tool = np.loadtxt(path)[:, 1:4]

        def positions(*preset, **fields):
            pairs = [
                glint.LocalizePair(image.read_bytes(), depth=depth.read_bytes(), time_ns=50_000_000 * i)
                for i, (image, depth) in enumerate(
                    zip(sorted(self.folder.glob("*.png")), sorted((self.folder / "depth").glob("*.png")))
                )
            ]
            camera = glint.StereoCamera(320, 240, focal_length=288, centre_x=159.5, centre_y=119.5, baseline=0.08)
            depth = glint.DepthCamera(unit=0.0002)
            results = client.localize_stream(pairs, camera, *preset, depth=depth, **fields)
            return np.array([r.location.position for r in results])

        mine = positions()
        self.assertEqual(mine.shape, (12, 3))
        np.testing.assert_allclose(mine, by_tool, atol=1e-6)
        self.assertEqual(mine.tobytes(), positions("orbslam").tobytes())
        self.assertEqual(mine.tobytes(), positions("orbslam", max_features=2000).tobytes())
        self.assertNotEqual(mine.tobytes(), positions("orb").tobytes())

    def test_pairs_that_were_not_located_are_no_poses(self):
        self.render()
        for image in sorted(self.folder.glob("*.png"))[8:]:
            image.write_bytes(white_png(320, 240))
        path = self.folder / "found.txt"
        done = self.localize("--depth", "--depth-unit", "0.0002", "--trajectory", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(np.loadtxt(path)[:, 0].tolist(), [i / 20 for i in range(8)])
        self.assertRegex(done.stdout, r"12 pairs, 8 located, 4 not \(.*LOST\); map: ")
        self.assertRegex(done.stderr, rf"12 pairs, 8 located, 4 not \(.*LOST\), which are left out of {path}\n")
        self.assertIn("compared: 8 of 8 located pairs, 4 of 12 pairs not located; path 0.000 to 0.550 s", done.stdout)
        self.assertLess(float(re.search(r"ATE\D*([\d.]+) m", done.stdout)[1]), 0.01)
        done = self.localize("--depth", "--depth-unit", "0.0002", "--trajectory", str(path), "--trajectory-format",
                             "kitti", "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(np.isnan(np.loadtxt(path)).all(axis=1).tolist(), [False] * 8 + [True] * 4)
        self.assertIn(f"which are lines of nan in {path}\n", done.stderr)

    def test_a_drive(self):
        self.render()
        done = self.localize("--depth", "--depth-unit", "0.0002", "--depth-farthest", "12")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"12 pairs, 12 located; map: \d+ keyframes, \d+ points\n")
        self.assertLess(float(re.search(r"ATE\D*([\d.]+) m", done.stdout)[1]), 0.01)
        self.assertEqual(done.stderr, "")
        again = self.localize("--depth", "--depth-unit", "0.0002", "--map", "drive")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn('glint localize: warning: a new map begins: name: there is no map "drive"', again.stderr)
        slip = self.localize("--depth", "--depth-unit", "0.0002", "--map", "drvie", "--relocalize")
        self.assertNotEqual(slip.returncode, 0)
        self.assertRegex(slip.stderr, r'there is no map "drvie"; this server has .*\bdrive\b')
        slip = self.localize("--depth", "--depth-unit", "0.0002", "--map", "drive.glintmap")
        self.assertNotEqual(slip.returncode, 0)
        self.assertIn('"drive.glintmap" is the name of a file', slip.stderr)
        found = self.localize("--depth", "--depth-unit", "0.0002", "--map", "drive", "--relocalize")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(found.stdout.count(": RELOCALIZED at"), 12, found.stdout)
        # In metres of five: the camera would have gone five times as far.
        done = self.localize("--depth")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(re.search(r"end: ([\d.]+) m", done.stdout)[1]), 0.5)
        done = self.localize("--depth-unit", "0.001")
        self.assertEqual(done.returncode, 2)
        self.assertIn("option '--depth-unit': needs --depth", done.stderr)
        done = self.localize("--depth", "--calibration-refine", "on")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refine_rig", done.stderr)


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_same(self):
        items = timed(pairs(4))
        want = [r.location.position.tolist() for r in client.localize_stream(items, CAMERA, **OPTIONS)]
        async with glint.aio.Client(server.address) as c:
            found = [r.location.position.tolist() async for r in c.localize_stream(items, CAMERA, **OPTIONS)]
        self.assertEqual(found, want)


if __name__ == "__main__":
    unittest.main()
