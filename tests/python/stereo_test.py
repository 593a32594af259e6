"""Stereo by glint.Client, both by glint.aio.Client, and pictures of the results, against a real server."""
import asyncio
import gc
import pathlib
import tempfile
import unittest

import numpy as np

import glint
from support import Server, as_lists, columns, rows, stereo_pair

try:
    import cv2
except ImportError:
    cv2 = None


def setUpModule():
    global server, client, calibrations
    calibrations = tempfile.TemporaryDirectory()
    server = Server(f"--calibration-directory={calibrations.name}")
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()
    calibrations.cleanup()


class StereoTest(unittest.TestCase):
    def test_known_disparity(self):
        left, right = stereo_pair(12)
        options = {"max_features": 500, "focal_length": 600, "baseline": 0.2}
        results = list(client.stereo_stream([(left, right)] * 3, **options))
        self.assertEqual([r.frame_id for r in results], [0, 1, 2])
        found = results[0].matches
        self.assertGreater(len(found), 80)
        self.assertLess(abs(np.median(found.disparity) - 12), 0.1)
        self.assertGreater((np.abs(found.disparity - 12) < 1).mean(), 0.9)
        np.testing.assert_allclose(found.points[:, 0] - found.right_x, found.disparity, atol=0.51)
        there = found.disparity > 0
        np.testing.assert_allclose(found.depth[there], 600 * 0.2 / found.disparity[there], rtol=1e-5)
        self.assertEqual(columns(found.left), columns(client.detect(left, max_features=500)))
        self.assertEqual(found.right_keypoints, len(client.detect(right, max_features=500)))
        self.assertEqual(found.warnings, ())
        (both,) = client.stereo_stream([np.hstack((left, right))], **options)
        self.assertEqual(both.matches.disparity.tobytes(), found.disparity.tobytes())
        (plain,) = client.stereo_stream([(left, right)])
        self.assertIsNone(plain.matches.depth)

    def test_warnings(self):
        left, right = stereo_pair(12)
        late = glint.StereoPair(left, right, left_time_ns=10**9, right_time_ns=10**9 + 20000000)
        swapped, late = client.stereo_stream([(right, left), late], min_disparity=-40)
        (found,) = swapped.matches.warnings
        self.assertEqual((found.kind, found.unit), ("swapped", "1"))
        self.assertTrue(0.5 < found.figure <= 1)
        (found,) = late.matches.warnings
        self.assertEqual((found.kind, found.figure, found.unit), ("out_of_sync", 20, "ms"))
        self.assertEqual(str(found), found.text)
        self.assertIn("20", found.text)
        (patient,) = client.stereo_stream(
            [glint.StereoPair(left, right, left_time_ns=1, right_time_ns=20000001)], max_time_difference_ns=10**8
        )
        self.assertEqual(patient.matches.warnings, ())

    def test_a_bad_pair_fails_alone_and_no_matches_have_depths(self):
        left, right = stereo_pair()
        flat = np.zeros((240, 320), np.uint8)
        results = list(client.stereo_stream([(left, right[:-1]), (flat, flat)], focal_length=1, baseline=1))
        self.assertEqual(results[0].error.field, "right")
        self.assertEqual((len(results[1].matches), len(results[1].matches.depth)), (0, 0))

    def test_raw_pairs(self):
        """Of cameras that are as good as rectified, so that nothing moves; a lens and a turn do."""
        left, right = stereo_pair(12)
        k = np.array([[600, 0, 159.5], [0, 600, 119.5], [0, 0, 1]])
        rig = glint.StereoRig((320, 240), k, None, k, [], np.eye(3), [-0.2, 0, 0], focal_length=600)
        (raw,) = client.stereo_stream([(left, right)], rig=rig)
        (plain,) = client.stereo_stream([(left, right)], focal_length=600, baseline=0.2)
        self.assertIsNone(plain.matches.rectified)
        for name in ("points", "disparity", "depth"):
            np.testing.assert_array_equal(getattr(raw.matches, name), getattr(plain.matches, name))
        camera = raw.matches.rectified
        self.assertEqual((camera.width, camera.height, camera.focal_length), (320, 240, 600))
        np.testing.assert_allclose([camera.centre_x, camera.centre_y, camera.baseline], [159.5, 119.5, 0.2], atol=1e-6)
        np.testing.assert_allclose(camera.rectified_from_left, np.eye(3), atol=1e-9)
        turn = np.array([[np.cos(0.02), 0, np.sin(0.02)], [0, 1, 0], [-np.sin(0.02), 0, np.cos(0.02)]])
        lenses = {
            None: [0.05, 0, 0, 0],
            "kannala-brandt": [0.01, 0, 0, 0],
            "double-sphere": [-0.2, 0.5],
            "thin-prism": [0.05, *[0] * 7, 0.01, 0, 0.01, 0, 0.01, -0.01],
        }
        for model, lens in lenses.items():
            small = {"rectified_size": (160, 120), "max_field": 90}
            rig = glint.StereoRig((320, 240), k, lens, k, lens, turn, [-0.2, 0, 0.001], model, **small)
            (bent,) = client.stereo_stream([(left, right)], rig=rig)
            camera = bent.matches.rectified
            self.assertEqual((camera.width, camera.height), (160, 120))
            both_turned = camera.rectified_from_right @ turn @ camera.rectified_from_left.T
            np.testing.assert_allclose(both_turned, np.eye(3), atol=1e-9)

    def test_a_rig_by_name(self):
        """Of a file as Kalibr writes it."""
        lens = """
  camera_model: pinhole
  distortion_coeffs: [0.05, 0.0, 0.0, 0.0]
  distortion_model: radtan
  intrinsics: [600.0, 600.0, 159.5, 119.5]
  resolution: [320, 240]
"""
        place = """
  T_cn_cnm1:
  - [1.0, 0.0, 0.0, -0.2]
  - [0.0, 1.0, 0.0, 0.0]
  - [0.0, 0.0, 1.0, 0.0]
  - [0.0, 0.0, 0.0, 1.0]"""
        (pathlib.Path(calibrations.name) / "rig1.yaml").write_text(f"cam0:{lens}cam1:{place}{lens}", encoding="utf-8")
        pair, k, small = stereo_pair(12), np.array([[600, 0, 159.5], [0, 600, 119.5], [0, 0, 1]]), {"max_field": 90}
        bent = [0.05, 0, 0, 0]
        (want,) = client.stereo_stream(
            [pair], rig=glint.StereoRig((320, 240), k, bent, k, bent, np.eye(3), [-0.2, 0, 0], **small)
        )
        self.assertGreater(len(want.matches), 80)
        for name in ("rig1", "rig1.yaml"):
            (found,) = client.stereo_stream([pair], rig=glint.StereoRig(name=name, **small))
            self.assertEqual(found.matches.disparity.tobytes(), want.matches.disparity.tobytes())
            self.assertEqual(found.matches.rectified.focal_length, want.matches.rectified.focal_length)
        with self.assertRaises(glint.NotFound) as caught:
            list(client.stereo_stream([pair], rig=glint.StereoRig(name="rig2")))
        self.assertEqual(caught.exception.field, "rig.name")

    def test_masks_and_region(self):
        """Keypoints of the pyramid's upper levels are up to 2 pixels beside what was asked of their level."""
        left, right = stereo_pair(12)
        half = np.zeros((240, 320), bool)
        half[:, :160] = True

        def inside(points):
            x, y = points.T
            return (x >= 38) & (x < 242) & (y >= 48) & (y < 172)

        pairs = [(left, right), glint.StereoPair(left, right, mask=~half, right_mask=half)]
        of_stream, of_pair = client.stereo_stream(pairs, mask=half, region=(40, 50, 200, 120))
        where = of_stream.matches.left.points
        self.assertGreater(len(where), 20)
        self.assertTrue((inside(where) & (where[:, 0] < 162)).all())
        where = of_pair.matches.left.points
        self.assertGreater(len(where), 20)
        self.assertTrue((inside(where) & (where[:, 0] >= 158)).all())
        self.assertGreater(of_pair.matches.right_keypoints, 20)
        self.assertTrue((of_pair.matches.right_x < 163).all())
        (blind,) = client.stereo_stream([(left, right)], right_mask=half & ~half)
        self.assertEqual((blind.matches.right_keypoints, len(blind.matches)), (0, 0))
        self.assertGreater(len(blind.matches.left), 80)
        (wrong,) = client.stereo_stream([glint.StereoPair(left, right, right_mask=half[1:])])
        self.assertIsInstance(wrong.error, glint.InvalidArgument)
        self.assertIn("right_mask", wrong.error.field)

    def test_masks_of_raw_pairs_have_raw_pixels(self):
        """The rectified images are a half as large."""
        left, right = stereo_pair(12)
        k = np.array([[600, 0, 159.5], [0, 600, 119.5], [0, 0, 1]])
        small = {"rectified_size": (160, 120), "focal_length": 300}
        rig = glint.StereoRig((320, 240), k, None, k, None, np.eye(3), [-0.2, 0, 0], **small)
        half = np.zeros((240, 320), bool)
        half[:, :160] = True
        masked, whole = client.stereo_stream([glint.StereoPair(left, right, mask=half), (left, right)], rig=rig)

        def raw_x(found):
            return (found.left.x - found.rectified.centre_x) * 2 + 159.5

        self.assertGreater(len(masked.matches.left), 20)
        self.assertLess(raw_x(masked.matches).max(), 162)
        self.assertGreater(raw_x(whole.matches).max(), 220)

    def test_rigs_that_cannot_be(self):
        k = np.array([[600, 0, 159.5], [0, 600, 119.5], [0, 0, 1]])
        good = {"size": (320, 240), "K1": k, "D1": None, "K2": k, "D2": None, "R": np.eye(3), "T": [-0.2, 0, 0]}
        for field, bad in {
            "rig.K1": {"K1": np.eye(4)},
            "rig.K2": {"K2": k.T},
            "rig.D1": {"D1": [0.1, 0.2, 0.3]},
            "rig.D2": {"D2": [0.1] * 9, "model": "rational"},
            "rig.model": {"D1": [0.1], "model": "plumb_bob"},
            "rig.R": {"R": np.eye(2)},
            "rig.T": {"T": ["a", 0, 0]},
            "rig.size": {"size": 320},
            "rig.left.radial_tangential.p1": {"D1": [0, 0, 7, 0]},
            "rig.right.thin_prism.tau_y": {"D2": [*[0] * 13, 0.7]},
            "rig.right_from_left": {"T": [-200, 0, 0]},
            "rig.rectify.max_field": {"max_field": 170},
        }.items():
            with self.subTest(field), self.assertRaises(glint.InvalidArgument) as caught:
                list(client.stereo_stream([], rig=glint.StereoRig(**{**good, **bad})))
            self.assertEqual(caught.exception.field, field)
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.stereo_stream([], rig="left.yaml"))
        self.assertEqual(caught.exception.field, "rig")


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_all(self):
        left, right = stereo_pair()
        want = as_lists(client.match(left, right))

        async def pairs():
            for _ in range(5):
                yield left, right

        async with glint.aio.Client(server.address) as c:
            self.assertEqual(await c.health(), "serving")
            self.assertEqual(as_lists(await c.match(left, right)), want)
            results = [r async for r in c.match_stream(pairs(), window=2)]
            self.assertEqual([as_lists(r.matches) for r in results], [want] * 5)
            (pair,) = client.stereo_stream([(left, right)])
            async for result in c.stereo_stream([(left, right)] * 2):
                self.assertEqual(result.matches.disparity.tobytes(), pair.matches.disparity.tobytes())
            with self.assertRaises(glint.InvalidArgument):
                await c.match(left, None)
            with self.assertRaises(glint.InvalidArgument):
                async for _ in c.match_stream([left]):
                    pass

    async def test_a_server_that_goes_away(self):
        mortal, unseen = Server(), []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context["message"]))
        async with glint.aio.Client(mortal.address) as c:
            with self.assertRaises(glint.Unavailable) as caught:
                async for result in c.match_stream(((rows(9, 1), rows(9, 2)) for _ in range(100000)), window=2):
                    self.assertTrue(result.ok)
                    if result.frame_id == 3:
                        mortal.kill()
        self.assertIn("start it again", str(caught.exception))
        gc.collect()
        await asyncio.sleep(0)
        self.assertEqual(unseen, [])  # asyncio has nothing to say of tasks whose exceptions nobody took
        mortal.stop()


@unittest.skipIf(cv2 is None, "python3-opencv is not installed")
class DrawTest(unittest.TestCase):
    def test_matches(self):
        left, right = stereo_pair()
        found = client.match(left, right, cross_check=True)
        colored = np.stack([right[:200]] * 3, axis=2)
        drawn = found.draw(left, colored)
        self.assertEqual(drawn.shape, (240, 640, 3))
        changed = (drawn[:, :320] != left[:, :, None]).any(axis=2)
        x, y = np.round(found.points()[0]).astype(int).T
        self.assertGreater(changed[y, x].mean(), 0.9)
        self.assertLess(changed.mean(), 0.9)

    def test_stereo(self):
        left, right = stereo_pair()
        (result,) = client.stereo_stream([(left, right)])
        drawn = result.matches.draw(left)
        self.assertEqual(drawn.shape, (240, 320, 3))
        changed = (drawn != left[:, :, None]).any(axis=2)
        self.assertTrue(0.01 < changed.mean() < 0.9)
        (nothing,) = client.stereo_stream([(left * 0, left * 0)])
        self.assertEqual(nothing.matches.draw(left).tolist(), np.stack([left] * 3, axis=2).tolist())

    def test_bad_pictures(self):
        left, right = stereo_pair()
        found = client.match(left, right)
        for bad in (None, left.astype(np.float32), np.zeros((3, 3, 4), np.uint8), np.zeros((0, 3), np.uint8)):
            with self.assertRaisesRegex(glint.InvalidArgument, "right: draw"):
                found.draw(left, bad)
            with self.assertRaisesRegex(glint.InvalidArgument, "image: draw"):
                found.query_features.draw(bad)


if __name__ == "__main__":
    unittest.main()
