"""Tracking by glint.Client and glint.aio.Client against a real server: as by the C++ client, edits, errors, pictures."""
import csv
import os
import subprocess
import tempfile
import unittest

import numpy as np

import glint
from glint import tracking_messages
from glint.v1 import tracking_pb2
from support import Server, picture, pinhole_rays

try:
    import cv2
except ImportError:
    cv2 = None

TOOL = os.environ.get("GLINT_TOOL")
COLUMNS = ("ids", "age", "x", "y", "last_x", "last_y", "state", "residual", "gain", "offset", "template_age")
WIRE_NAMES = {"ids": "id"}


def setUpModule():
    global server, client
    server = Server()
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()


def camera(seed=3, count=6, step=2):
    """A window that moves over a picture: what is in it moves to the left, `step` pixels each frame."""
    wide = picture(seed, 320 + step * count)
    return [np.ascontiguousarray(wide[:, step * i : step * i + 320]) for i in range(count)]


def plain(tracks):
    return [getattr(tracks, name).tolist() for name in COLUMNS] + [tracks.camera, tracks.detected]


def response(count, kind="tracks"):
    rng = np.random.default_rng(count)
    message = tracking_pb2.TrackStreamResponse(frame_id=3)
    message.timings.track_ns = 4
    one = getattr(message, kind).cameras.add(camera=1, detected=True)
    one.id.extend(sorted(rng.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True).tolist()))
    one.age.extend(rng.integers(0, (1 << 31) - 1, count, endpoint=True).tolist())
    one.template_age.extend(rng.integers(0, (1 << 31) - 1, count, endpoint=True).tolist())
    one.state.extend(rng.integers(1, 12, count, endpoint=True).tolist())
    for name in ("x", "y", "last_x", "last_y", "residual", "gain", "offset"):
        getattr(one, name).extend(rng.random(count, np.float32).tolist())
    getattr(message, kind).cameras.add(camera=7)
    return message


class MessageTest(unittest.TestCase):
    def test_answers(self):
        for count, kind in ((0, "tracks"), (1, "edited"), (2, "tracks"), (300, "edited")):
            message = response(count, kind)
            for more in (b"", b"\xad\x06abcd"):  # an unknown field of four bytes is left to protobuf
                result = tracking_messages.parse_track_result(message.SerializeToString() + more)
                self.assertEqual((result.frame_id, result.timings.track_ns, len(result.cameras)), (3, 4, 2))
                found, empty = result.cameras
                for name in COLUMNS:
                    want = list(getattr(getattr(message, kind).cameras[0], WIRE_NAMES.get(name, name)))
                    self.assertEqual(getattr(found, name).tolist(), want, name)
                    self.assertEqual(getattr(empty, name).dtype, getattr(found, name).dtype)
                self.assertEqual((found.ids.dtype, found.age.dtype), (np.uint64, np.int32))
                self.assertEqual((found.camera, found.detected, empty.camera, len(empty)), (1, True, 7, 0))
                with self.assertRaisesRegex(glint.InvalidArgument, "2 cameras"):
                    result.tracks.ids.sort()

    def test_unequal_arrays(self):
        for name in ("x", "template_age"):
            message = response(4)
            getattr(message.tracks.cameras[0], name).append(1)
            with self.assertRaises(glint.InternalError):
                tracking_messages.parse_track_result(message.SerializeToString())
        with self.assertRaisesRegex(glint.InternalError, "no tracks"):
            tracking_messages.parse_track_result(tracking_pb2.TrackStreamResponse(frame_id=3).SerializeToString())

    def test_predictions_are_what_protobuf_writes(self):
        turn = np.arange(9).reshape(3, 3) / 8
        single = glint.TrackPrediction(ids=[7, 1 << 40], points=[[1, 2.5], [3, 4]], camera=1)
        frame = glint.TrackFrame(picture(1, 16, 12), predictions=[glint.TrackPrediction(turn), single])
        data = tracking_messages.track_item(5, frame)
        message = tracking_pb2.TrackStreamRequest.FromString(data)
        self.assertEqual(message.SerializeToString(), data)
        first, second = message.frame.predictions
        self.assertEqual((first.camera, list(first.homography), list(first.ids)), (0, turn.ravel().tolist(), []))
        self.assertEqual((second.camera, list(second.homography), list(second.ids)), (1, [], [7, 1 << 40]))
        self.assertEqual((list(second.x), list(second.y)), ([1, 3], [2.5, 4]))

    def test_items_are_what_protobuf_writes(self):
        image = picture(1, 16, 12)
        frame = glint.TrackFrame([image, image + 1], time_ns=1 << 40, detect=True, max_age=2)
        ids = [1, 127, 128, 1 << 40, (1 << 64) - 1]
        points = np.array([[1, 2.5], [3, 4]])
        resets = (glint.ResetTracks(), glint.ResetTracks(0))
        for number, item in enumerate((frame, glint.AddPoints(points, camera=3), glint.ForgetTracks(ids), *resets)):
            data = tracking_messages.track_item(number, item)
            message = tracking_pb2.TrackStreamRequest.FromString(data)
            self.assertEqual(message.SerializeToString(), data)
            self.assertEqual(getattr(message, message.WhichOneof("message")).frame_id, number)
            if isinstance(item, glint.TrackFrame):
                sent = message.frame
                self.assertEqual((sent.time_ns, sent.detect, sent.max_age_ns), (1 << 40, True, 2 * 10**9))
                self.assertEqual([i.raw.data for i in sent.images], [image.tobytes(), (image + 1).tobytes()])
            elif isinstance(item, glint.AddPoints):
                added = message.add_points
                self.assertEqual((added.camera, list(added.x), list(added.y)), (3, [1, 3], [2.5, 4]))
            elif isinstance(item, glint.ForgetTracks):
                self.assertEqual(list(message.forget_tracks.ids), ids)
            else:
                self.assertEqual(message.reset_tracks.HasField("camera"), item.camera is not None)


class TrackTest(unittest.TestCase):
    def test_a_known_motion(self):
        results = list(client.track_stream(camera(), target=80))
        self.assertEqual([r.frame_id for r in results], list(range(6)))
        first, last = results[0].tracks, results[-1].tracks
        self.assertGreater(len(first), 40)
        self.assertTrue(first.detected and (first.age == 0).all())
        old = last.live & (last.age == 5)
        self.assertGreater(old.sum(), 20)
        start = first.points[np.searchsorted(first.ids, last.ids[old])]
        np.testing.assert_allclose(np.median(last.points[old] - start, axis=0), (-10, 0), atol=0.05)
        np.testing.assert_allclose(np.median(last.points[old] - last.last_points[old], axis=0), (-2, 0), atol=0.05)
        self.assertTrue((last.gain == 1).all() and (last.offset == 0).all())
        self.assertGreater(results[1].timings.track_ns, 0)

    @unittest.skipUnless(TOOL, "GLINT_TOOL does not name the C++ tool")
    @unittest.skipIf(cv2 is None, "python3-opencv is not installed")
    def test_the_same_as_the_cpp_client(self):
        frames = [np.clip(f * (1 - 0.02 * i) + i, 0, 255).astype(np.uint8) for i, f in enumerate(camera(count=8))]
        options = ["--target=60", "--intensity=gain-and-offset", "--max-residual=20", "--track-levels=3"]
        options.append("--features=400")
        with tempfile.TemporaryDirectory() as folder:
            for index, frame in enumerate(frames):
                cv2.imwrite(f"{folder}/{index:03}.png", frame)
            command = [TOOL, "track", f"--server={server.address}", "--csv", *options, folder]
            text = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        rows = list(csv.DictReader(text.splitlines()))
        results = client.track_stream(
            frames, target=60, intensity="gain_and_offset", max_residual=20, track_levels=3, max_features=400
        )
        mine = []
        for result in results:
            t = result.tracks
            state = [glint.TrackState(s).name.lower().replace("_", "-") for s in t.state]
            columns = (t.ids, t.age, t.x, t.y, t.last_x, t.last_y, state, t.residual, t.gain, t.offset)
            mine += [(f"{folder}/{result.frame_id:03}.png", t.camera, *row) for row in zip(*columns)]
        self.assertGreater(len(mine), 200)
        self.assertEqual(len(rows), len(mine))
        for row, found in zip(rows, mine):
            self.check_row(row, found)

    def test_cameras_times_and_edits(self):
        left, right = camera(3), camera(4)[::-1]

        def items():
            yield glint.TrackFrame((left[0], right[0]), time_ns=1000, id=10)
            yield left[1], right[1]
            yield glint.AddPoints([[50, 60], [70.5, 80]], camera=1)
            yield glint.ForgetTracks([1, 2])
            yield glint.ForgetTracks([1])
            yield glint.TrackFrame([left[2], right[2]], time_ns=3000, detect=True)
            yield glint.ResetTracks(camera=0)
            yield glint.ResetTracks(id=99)
            yield glint.TrackFrame([left[3], right[3]], time_ns=1)

        results = list(client.track_stream(items(), cameras=2, target=30, predict=True))
        self.assertEqual([r.frame_id for r in results], [10, 1, 2, 3, 4, 5, 6, 99, 8])
        self.assertEqual([t.camera for t in results[0].cameras], [0, 1])
        added = results[2].tracks
        self.assertEqual((added.camera, added.points.tolist(), added.age.tolist()), (1, [[50, 60], [70.5, 80]], [0, 0]))
        self.assertEqual(results[3].tracks.state.tolist(), [glint.TrackState.FORGOTTEN] * 2)
        self.assertIsInstance(results[4].error, glint.NotFound)
        self.assertIn("ids[0]: ", results[4].error.message)
        self.assertTrue(np.isin(added.ids, results[5].cameras[1].ids).all())
        self.assertTrue((results[6].tracks.state == glint.TrackState.RESET).all())
        self.assertEqual([t.camera for t in results[7].cameras], [1])
        self.assertTrue(all((t.age == 0).all() and len(t) for t in results[8].cameras))

    def test_predictions_help_where_points_move_far(self):
        wide = picture(3, 320 + 40)
        frames = [np.ascontiguousarray(wide[:, 40 * i : 40 * i + 320]) for i in range(2)]
        shift = np.array([[1, 0, -40], [0, 1, 0], [0, 0, 1]])

        def found(**how):
            return list(client.track_stream([frames[0], glint.TrackFrame(frames[1], **how)], max_move=8))[1].tracks

        alone, helped = found(), found(predictions=[glint.TrackPrediction(shift)])
        moved = helped.live & (helped.age == 1)
        self.assertGreater(moved.sum(), 20)
        self.assertGreater(moved.sum(), 2 * (alone.live & (alone.age == 1)).sum())
        motion = np.median(helped.points[moved] - helped.last_points[moved], axis=0)
        np.testing.assert_allclose(motion, (-40, 0), atol=0.05)
        ids = [int(i) for i in helped.ids[moved]]
        each = found(predictions=[glint.TrackPrediction(ids=ids, points=helped.points[moved])])
        self.assertTrue(np.isin(ids, each.ids[each.live]).all())

    def test_template_of_the_first_frame(self):
        results = list(client.track_stream(camera(), track_template="first_frame", template_frames=2))
        last = results[-1].tracks
        self.assertEqual(len(last.template_age), len(last))
        self.assertTrue((last.template_age[last.live] <= last.age[last.live]).all())
        self.assertGreater(last.template_age.max(), 1)
        self.assertEqual(len(list(client.track_stream(camera()))[-1].tracks.template_age), 0)

    def test_masks_and_region(self):
        half = np.zeros((240, 320), bool)
        half[:, :160] = True
        frames = camera()[:3]
        frames[2] = glint.TrackFrame(frames[2], masks=~half)
        first, second, last = (r.tracks for r in client.track_stream(frames, masks=half, region=(0, 40, 300, 160)))
        self.assertGreater(len(first), 20)
        x, y = first.points.T
        self.assertTrue(((x < 162) & (y >= 38) & (y < 202)).all())
        self.assertGreater(second.live.sum(), 10)
        self.assertLess(second.x[second.live].max(), 162)
        masked = last.state == glint.TrackState.MASKED
        self.assertGreater(masked.sum(), 10)
        self.assertTrue(np.isin(last.ids[masked], second.ids).all())
        self.assertTrue((last.x[last.live] >= 158).all())
        both = [(camera()[0], camera(4)[0])]
        (result,) = client.track_stream(both, cameras=2, masks=(half, ~half))
        one, two = result.cameras
        self.assertTrue(len(one) and len(two) and (one.x < 162).all() and (two.x >= 158).all())
        (wrong,) = client.track_stream([glint.TrackFrame(camera()[0], masks=[half, half])])
        self.assertIsInstance(wrong.error, glint.InvalidArgument)

    def test_rays(self):
        one, two = np.diag([300, 290, 1]), np.diag([250, 310, 1])
        lenses = [glint.Camera((320, 240), matrix) for matrix in (one, two)]
        items = [(camera()[0], camera(4)[0]), glint.AddPoints([[50, 60.5]], camera=1), (camera()[1], camera(4)[1])]
        results = list(client.track_stream(items, cameras=2, calibrations=lenses))
        for result in results:
            for tracks in result.cameras:
                self.assertGreater(len(tracks), 0)
                want = pinhole_rays(tracks.points, (one, two)[tracks.camera])
                np.testing.assert_allclose(tracks.rays, want, atol=1e-7)
        plain = list(client.track_stream(items, cameras=2))
        self.assertIsNone(plain[0].cameras[0].rays)
        self.assertEqual(plain[2].cameras[1].x.tobytes(), results[2].cameras[1].x.tobytes())
        (small,) = client.track_stream([picture(2, 100, 80)], calibrations=lenses[0])
        self.assertIsInstance(small.error, glint.InvalidArgument)
        with self.assertRaises(glint.InvalidArgument):
            list(client.track_stream([], cameras=2, calibrations=lenses[:1]))

    def test_points_of_the_client_alone(self):
        frames = camera()
        items = [frames[0], glint.AddPoints(np.float32([[100, 100], [150, 120]])), *frames[1:]]
        results = list(client.track_stream(items, redetection="on_request", max_residual=30))
        self.assertEqual(len(results[0].tracks), 0)
        ids = results[1].tracks.ids
        for result in results[2:]:
            self.assertTrue(np.isin(result.tracks.ids, ids).all())

    def test_shared_memory(self):
        frames = camera()
        with client.share_memory(slots=3, slot_bytes=frames[0].size) as memory:

            def shared():
                for frame in frames:
                    slot = memory.acquire(timeout=10)
                    slot.array(frame.shape)[:] = frame
                    yield glint.Shared(slot, frame.shape[1], frame.shape[0])

            mine = [plain(r.tracks) for r in client.track_stream(shared(), window=2)]
            self.assertEqual(mine, [plain(r.tracks) for r in client.track_stream(frames)])

    def check_row(self, row, found):
        values = list(row.values())
        self.assertEqual(len(values), len(found), row)
        for (name, text), value in zip(row.items(), found):
            if isinstance(value, (float, np.floating)):
                self.assertAlmostEqual(float(text), float(value), delta=5e-4 * max(1, abs(float(value))), msg=name)
            else:
                self.assertEqual(text, str(value), name)


class BadInputTest(unittest.TestCase):
    def test_items_that_are_refused_here(self):
        good = picture()
        for field, item in (
            ("images[1]", (good, "file.png")),
            ("images[0]", None),
            ("time_ns", glint.TrackFrame(good, time_ns=-1)),
            ("max_age", glint.TrackFrame(good, max_age="soon")),
            ("frame_id", glint.TrackFrame(good, id=-3)),
            ("ids", glint.ForgetTracks([0.5])),
            ("ids", glint.ForgetTracks([[1]])),
            ("ids", glint.ForgetTracks([-1])),
            ("points", glint.AddPoints([1, 2])),
            ("homography", glint.TrackFrame(good, predictions=[glint.TrackPrediction(np.eye(2))])),
            ("points", glint.TrackFrame(good, predictions=[glint.TrackPrediction(ids=[1], points=[])])),
            ("points", glint.AddPoints([["a", "b"]])),
            ("camera", glint.AddPoints([[1, 2]], camera=-1)),
            ("camera", glint.ResetTracks(camera=1.5)),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                list(client.track_stream([good, item]))
            self.assertTrue(str(caught.exception).startswith(field + ":"), caught.exception)

    def test_items_that_fail_alone(self):
        good, small = picture(), picture(2, 100, 80)
        items = [
            glint.AddPoints([[1, 2]]),
            good,
            (good, good),
            glint.AddPoints([[5, 5], [320, 2]]),
            glint.AddPoints([[np.nan, 2]]),
            glint.ResetTracks(camera=4),
            small,
        ]
        results = list(client.track_stream(items))
        self.assertIsInstance(results[0].error, glint.FailedPrecondition)
        self.assertEqual([r.ok for r in results], [False, True, False, False, False, False, True])
        self.assertEqual(results[3].error.field, "x[1]")
        self.assertEqual(results[3].error.allowed, (0, 319))
        ended = results[6].tracks
        self.assertTrue((ended.state[~ended.live] == glint.TrackState.IMAGE_RESIZED).all())
        with self.assertRaises(glint.InvalidArgument):
            results[2].tracks.draw(good)

    def test_options(self):
        for field, fields in (
            ("cameras", {"cameras": 9}),
            ("target", {"target": 0}),
            ("min_share", {"min_share": 2}),
            ("redetection", {"redetection": "often"}),
            ("intensity", {"intensity": "bright"}),
            ("max_residul", {"max_residul": 3}),
            ("predict", {"predict": "yes"}),
            ("window", {"window": 0}),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                list(client.track_stream([picture()], **fields))
            self.assertEqual(caught.exception.field, field, caught.exception)
        for fields in ({"levels": 13}, {"track_levels": 9}, {"max_backward_error": -1}):
            with self.assertRaisesRegex(glint.InvalidArgument, "levels|max_backward_error"):
                list(client.track_stream([picture()], **fields))


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_same(self):
        want = [plain(r.tracks) for r in client.track_stream(camera())]

        async def frames():
            for frame in camera():
                yield frame

        async with glint.aio.Client(server.address) as c:
            self.assertEqual([plain(r.tracks) async for r in c.track_stream(frames(), window=2)], want)
            with self.assertRaises(glint.InvalidArgument):
                async for _ in c.track_stream([picture(), "no image"]):
                    pass
            with self.assertRaisesRegex(glint.InvalidArgument, "cameras"):
                async for _ in c.track_stream([picture()], cameras=9):
                    pass

    async def test_a_server_that_goes_away(self):
        mortal = Server()
        frames = camera()
        async with glint.aio.Client(mortal.address) as c:
            with self.assertRaises(glint.Unavailable):
                async for result in c.track_stream(frames[i % 6] for i in range(100000)):
                    if result.frame_id == 3:
                        mortal.kill()
        mortal.stop()


@unittest.skipIf(cv2 is None, "python3-opencv is not installed")
class DrawTest(unittest.TestCase):
    def test_tracks_and_trails(self):
        frames, trails, area = camera(count=10), glint.Trails(length=4), []
        for frame, result in zip(frames, client.track_stream(frames)):
            trails.add(result.tracks)
            changed = (trails.draw(frame) != frame[:, :, None]).any(axis=2)
            area.append(changed.sum())
            alone = (result.tracks.draw(frame) != frame[:, :, None]).any(axis=2)
            x, y = np.round(result.tracks.points[result.tracks.live]).astype(int).T
            near = np.pad(changed, 4)
            self.assertTrue(all(near[v : v + 9, u : u + 9].any() for u, v in zip(x, y)))
            self.assertTrue(0 < alone.sum() < changed.size)
        self.assertGreater(area[4], 1.1 * area[0])  # lines grow
        self.assertEqual(len(trails), result.tracks.live.sum())

    def test_tracks_that_ended_are_not_drawn(self):
        frames, trails = camera(), glint.Trails()
        for result in client.track_stream([*frames, glint.ResetTracks()]):
            trails.add(result.tracks)
        self.assertEqual(len(trails), 0)
        self.assertEqual(trails.draw(frames[0]).tolist(), np.stack([frames[0]] * 3, axis=2).tolist())

    def test_bad_arguments(self):
        trails = glint.Trails()
        with self.assertRaisesRegex(glint.InvalidArgument, "image: draw"):
            trails.draw(None)
        for length in (0, 2.5, True):
            with self.assertRaisesRegex(glint.InvalidArgument, "length: "):
                glint.Trails(length)
        both = next(iter(client.track_stream([(picture(), picture())], cameras=2)))
        trails.add(both.cameras[1])
        with self.assertRaisesRegex(glint.InvalidArgument, "camera 0"):
            trails.add(both.cameras[0])


if __name__ == "__main__":
    unittest.main()
