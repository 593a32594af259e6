"""glint.Client, glint.aio.Client and glint.ORB against a real server."""
import asyncio
import concurrent.futures
import dataclasses
import socket
import time
import unittest

import grpc
import numpy as np

import glint
from glint.v1 import server_pb2
from support import Recorder, Server, columns, picture, pinhole_rays

try:
    import cv2
except ImportError:
    cv2 = None


def setUpModule():
    global server, client
    server = Server()
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()


class DetectTest(unittest.TestCase):
    def test_arrays_fit_together(self):
        found = client.detect(picture(), max_features=100, descriptor="rbrief")
        self.assertGreater(len(found), 50)
        self.assertEqual(found.descriptors.shape, (len(found), 32))
        self.assertEqual(found.points.shape, (len(found), 2))
        self.assertTrue((np.diff(found.octave) >= 0).all())
        self.assertGreater(found.timings.total_ns, 0)
        self.assertEqual(found.timings.device, "cpu")
        self.assertIsNone(client.detect(picture(), descriptor="none").descriptors)

    def test_every_preset_and_choice_by_name(self):
        for preset in client.info().presets:
            self.assertGreater(len(client.detect(picture(), preset)), 0, preset)
        options = glint.detector("orb", score="sad_circle", ranking="SCORE", orientation="none", descriptor="none")
        self.assertGreater(len(client.detect(picture(), options)), 0)

    def test_formats_agree_with_grey(self):
        grey = picture()
        want = columns(client.detect(grey))
        bgr = np.stack([grey] * 3, axis=2)
        for image in (
            bgr,
            np.dstack([bgr, grey]),
            grey.astype(np.uint16) << 8,
            (grey.astype(np.uint16) << 8).astype(">u2"),
            glint.Raw(bgr, "rgb8"),
            glint.Raw(np.stack([grey, 255 - grey], axis=2), "yuyv"),
            glint.Raw(np.vstack([grey, grey[:120]]), "nv12"),
            np.asfortranarray(grey),
            np.repeat(grey, 2, axis=1)[:, ::2],
            grey[:, :, None],
        ):
            self.assertEqual(columns(client.detect(image)), want)

    @unittest.skipIf(cv2 is None, "python3-opencv is not installed")
    def test_files(self):
        want = columns(client.detect(picture()))
        png = cv2.imencode(".png", picture())[1].tobytes()
        self.assertEqual(columns(client.detect(png)), want)
        self.assertEqual(columns(client.detect(glint.Encoded(png, "png"))), want)

    def test_mask_and_region(self):
        mask = np.zeros((240, 320), np.uint8)
        mask[:, :160] = 1
        masked = client.detect(picture(), mask=mask)
        self.assertGreater(len(masked), 0)
        self.assertLess(masked.x.max(), 160)
        part = client.detect(picture(), region=(100, 40, 150, 150))
        self.assertTrue(len(part) > 0 and part.x.min() >= 100 and part.y.min() >= 40)

    def test_mask_of_bool(self):
        where = np.zeros((240, 320), bool)
        where[:, :160] = True
        white = where.astype(np.uint8) * np.uint8(255)
        want = client.detect(picture(), mask=white)
        self.assertEqual(columns(client.detect(picture(), mask=where)), columns(want))
        self.assertEqual(want.warnings, ())
        [warning] = client.detect(picture(), mask=where.astype(np.uint8)).warnings
        self.assertEqual((warning.kind, warning.figure, warning.unit), ("mask_values", 0.5, "1"))
        for frame in (glint.Frame(picture(), mask=where), picture()):
            stream_mask = None if isinstance(frame, glint.Frame) else where
            [result] = client.stream([frame], mask=stream_mask)
            self.assertEqual(columns(result.features), columns(want))

    def test_rays(self):
        """Of a pinhole, and of a lens whose inverse is written down: the rest of the answer is the same."""
        k = np.array([[300, 0, 150.25], [0, 290, 125], [0, 0, 1]])
        plain, found = client.detect(picture()), client.detect(picture(), camera=glint.Camera((320, 240), k))
        self.assertIsNone(plain.rays)
        self.assertEqual(columns(found), columns(plain))
        np.testing.assert_allclose(found.rays, pinhole_rays(found.points, k), atol=1e-7)
        w, camera = 0.9, glint.Camera((320, 240), k, [0.9], "fov")
        good, small = client.stream([picture(), picture(width=300)], camera=camera)
        a, b = ((good.features.points - [150.25, 125]) / [300, 290]).T
        g = np.hypot(a, b)
        slope = np.tan(g * w) / (2 * np.tan(w / 2))  # of the ray to the axis
        rays = np.column_stack((a / g * slope, b / g * slope, np.ones(len(g)))) / np.hypot(slope, 1)[:, None]
        np.testing.assert_allclose(good.features.rays, rays, atol=1e-6)
        self.assertIsInstance(small.error, glint.InvalidArgument)
        self.assertEqual(client.detect(picture() * 0, camera=camera).rays.shape, (0, 3))
        prism = glint.Camera((320, 240), k, [*[0] * 8, 0.01, 0, 0, 0])
        self.assertGreater(np.abs(client.detect(picture(), camera=prism).rays - found.rays).max(), 1e-3)
        with self.assertRaises(glint.InvalidArgument) as caught:
            client.detect(picture(), camera=glint.Camera((320, 240), k, [*[0] * 8, 7, 0, 0, 0]))
        self.assertEqual(caught.exception.field, "camera.thin_prism.s1")

    def test_range_of_grey(self):
        want = columns(client.detect(picture()))
        samples = ((picture().astype(np.uint32) * 4095 + 127) // 255).astype(np.uint16)
        [warning] = client.detect(samples).warnings
        self.assertEqual(warning.kind, "narrow_range")
        self.assertLess(warning.figure, 1 / 16)
        found = client.detect(samples, gray_range=(0, 4095))
        self.assertEqual((columns(found), found.warnings), (want, ()))
        [result] = client.stream([samples], gray_range=(0, 4095))
        self.assertEqual(columns(result.features), want)
        self.assertGreater(len(client.detect(samples, gray_range="percentile:1")), 100)
        matches = client.match(samples, samples, gray_range=(0, 4095))
        self.assertEqual(columns(matches.query_features), columns(client.match(picture(), picture()).query_features))
        [tracked] = client.track_stream([samples], gray_range="percentile")
        self.assertGreater(len(tracked.tracks), 10)
        [stereo] = client.stereo_stream([(samples, samples)], gray_range=(0, 4095))
        self.assertEqual(stereo.matches.right_keypoints, len(stereo.matches.left))
        equal = client.detect(samples, gray_range=glint.gray_range((0, 4095), equalize=True))
        self.assertNotEqual(columns(equal), want)
        self.assertGreater(len(equal), 100)
        for bad in ("mean", "percentile:x", (5, 5), (1, 2, 3), (-1, 4), 7):
            with self.assertRaises(glint.InvalidArgument) as caught:
                client.detect(samples, gray_range=bad)
            self.assertIn("gray_range", caught.exception.field)

    def test_empty_answer(self):
        found = client.detect(np.zeros((64, 64), np.uint8), descriptor="rbrief")
        self.assertEqual(len(found), 0)

    def test_no_memory_of_the_message_is_kept(self):
        found = client.detect(picture())
        found.x[0] = 7  # a copy of its own: writable
        self.assertEqual(found.x[0], 7)


class InfoTest(unittest.TestCase):
    def test_all_that_the_server_says(self):
        found = client.info()
        for kind, message in (
            (glint.ServerInfo, server_pb2.GetServerInfoResponse), (glint.ServerLimits, server_pb2.ServerLimits)
        ):
            names = [field.name for field in message.DESCRIPTOR.fields]
            self.assertEqual([field.name for field in dataclasses.fields(kind)], names)
        self.assertEqual((found.backend, found.lanes, found.devices), ("cpu", 1, ("cpu",)))
        self.assertEqual(found.shared_memory_socket, str(server.path) + ".shm")
        self.assertIn("orb", found.presets)
        self.assertLessEqual(
            {"glint.v1.FeatureDetection/DetectStream", "glint.v1.FeatureMatching/Match"}, set(found.methods)
        )
        has = (found.has_cuda, found.has_map_directory, found.has_calibration_directory)
        self.assertEqual([type(b) for b in has], [bool] * 3)
        self.assertFalse(found.has_map_directory)
        self.assertFalse(found.has_calibration_directory)
        for field in dataclasses.fields(glint.ServerLimits):
            self.assertGreater(getattr(found.limits, field.name), 0, field.name)

    def test_limits_are_those_of_the_flags(self):
        flags = ("--max-features=1000", "--max-track-cameras=3", "--max-map-points=5000", "--stream-idle-timeout=7s")
        other = Server(*flags)
        try:
            with glint.Client(other.address) as c:
                limits = c.info().limits
        finally:
            other.stop()
        self.assertEqual((limits.max_features, limits.max_track_cameras, limits.max_map_points), (1000, 3, 5000))
        self.assertEqual(limits.stream_idle_timeout_ns, 7 * 10**9)


class BadInputTest(unittest.TestCase):
    def check(self, kind, field, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(caught.exception.field, field, caught.exception)
        self.assertNotIn("\n", str(caught.exception))

    def test_images(self):
        bad = [
            np.zeros((0, 4), np.uint8),
            np.zeros((4, 4, 2), np.uint8),
            np.zeros(16, np.uint8),
            np.zeros((4, 4), np.float32),
            np.zeros((4, 4), bool),
            "photo.png",
            None,
            b"",
            glint.Raw(np.zeros((4, 4), np.uint8), "bgr8"),
            glint.Raw(np.zeros((4, 4), np.uint8), "nv12"),
            glint.Raw([[1]], "gray8"),
        ]
        for image in bad:
            self.check(glint.InvalidArgument, "image", lambda image=image: client.detect(image))
        self.check(
            glint.InvalidArgument, "image.format", lambda: client.detect(glint.Raw(picture(), "grey"))
        )
        self.check(glint.InvalidArgument, "image.encoding", lambda: client.detect(glint.Encoded(b"x", "gif")))
        self.check(glint.InvalidArgument, "image.encoded.data", lambda: client.detect(b"no file"))

    def test_options(self):
        for name, value in (("levels", 13), ("levels", 0), ("scale_factor", 9.0), ("max_features", 0)):
            field = f"detector.{name}"
            self.check(glint.InvalidArgument, field, lambda n=name, v=value: client.detect(picture(), **{n: v}))
        for name, value in (("levels", "three"), ("levels", 2.5), ("score", "best"), ("lvels", 3), ("levels", 1 << 40)):
            self.check(glint.InvalidArgument, name, lambda n=name, v=value: client.detect(picture(), **{n: v}))
        self.check(glint.InvalidArgument, "detector.preset", lambda: client.detect(picture(), "sift"))
        self.check(glint.InvalidArgument, "preset", lambda: client.detect(picture(), 3))
        self.check(glint.InvalidArgument, "region", lambda: client.detect(picture(), region=(1, 2, 3)))
        self.check(glint.InvalidArgument, "region", lambda: client.detect(picture(), region=(-1, 0, 3, 3)))
        with self.assertRaises(glint.InvalidArgument) as caught:
            client.detect(picture(), levels=13)
        self.assertEqual(caught.exception.allowed, (1, 12))
        self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        self.assertIsInstance(caught.exception, ValueError)

    def test_stream_arguments(self):
        for field, fields in (
            ("window", {"window": 0}),
            ("policy", {"policy": "newest"}),
            ("max_age", {"max_age": -1}),
            ("region", {"region": "all"}),
        ):
            self.check(glint.InvalidArgument, field, lambda f=fields: client.stream([], **f))

    def test_no_server(self):
        with glint.Client("127.0.0.1:1") as nobody:
            with self.assertRaises(glint.Unavailable) as caught:
                nobody.detect(picture())
        self.assertIn("127.0.0.1:1", str(caught.exception))
        self.assertIn("glint-server", str(caught.exception))
        with self.assertRaises(glint.Unavailable):
            glint.Client("unix:/nowhere/socket", wait=0.2)
        for address in ("localhost", "a b:1", "host:port", "host:70000"):
            with self.assertRaises(glint.InvalidArgument):
                glint.Client(address)

    def test_a_port_of_something_else(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            with glint.Client(f"127.0.0.1:{listener.getsockname()[1]}") as wrong:
                with self.assertRaises((glint.Unavailable, glint.DeadlineExceeded)):
                    wrong.detect(picture(), timeout=1)

    def test_a_server_that_is_not_glint_s(self):
        def refuse(_, call):
            call.abort(grpc.StatusCode.UNIMPLEMENTED, "")  # as gRPC's C++ server answers an unknown method

        class Nothing(grpc.GenericRpcHandler):
            def service(self, _):
                return grpc.unary_unary_rpc_method_handler(refuse)

        other = grpc.server(concurrent.futures.ThreadPoolExecutor(1), (Nothing(),))
        port = other.add_insecure_port("127.0.0.1:0")
        other.start()
        try:
            with glint.Client(f"127.0.0.1:{port}") as wrong, self.assertRaises(glint.Unimplemented) as caught:
                wrong.detect(picture())
        finally:
            other.stop(None)
        self.assertIn(f"127.0.0.1:{port}", str(caught.exception))

    def test_timeout(self):
        with self.assertRaises(glint.DeadlineExceeded) as caught:
            client.detect(picture(1, 4000, 3000), timeout=0.001)
        self.assertIsInstance(caught.exception, TimeoutError)


class StreamTest(unittest.TestCase):
    def test_results_are_those_of_detect_in_order(self):
        frames = [picture(i) for i in range(12)]
        results = list(client.stream(frames, window=3, descriptor="rbrief"))
        self.assertEqual([r.frame_id for r in results], list(range(12)))
        for frame, result in zip(frames, results):
            self.assertEqual(columns(result.features), columns(client.detect(frame, descriptor="rbrief")))

    def test_window_bounds_what_is_taken(self):
        taken = 0

        def frames():
            nonlocal taken
            for i in range(10):
                taken += 1
                yield picture(i)

        for answered, _ in enumerate(client.stream(frames(), window=2), 1):
            self.assertLessEqual(taken, answered + 3)
        self.assertEqual(answered, 10)

    def test_a_bad_frame_fails_alone(self):
        frames = [picture(), glint.Frame(b"no image", id=70), glint.Frame(picture(), region=(0, 0, 999, 9)), picture()]
        results = list(client.stream(frames))
        self.assertEqual([r.ok for r in results], [True, False, False, True])
        self.assertEqual(results[1].frame_id, 70)
        self.assertIsNone(results[1].drop_reason)
        with self.assertRaises(glint.InvalidArgument):
            results[1].features

    def test_what_the_frames_raise_comes_after_the_results_before_it(self):
        def frames():
            yield picture()
            raise RuntimeError("camera unplugged")

        stream = client.stream(frames())
        self.assertTrue(next(stream).ok)
        with self.assertRaisesRegex(RuntimeError, "unplugged"):
            next(stream)
        with self.assertRaises(glint.InvalidArgument):
            list(client.stream([picture(), "not an image"]))

    def test_says_that_it_is_done_when_all_is_answered(self):
        seen = []
        with Recorder(seen) as address, glint.Client(address) as c:
            self.assertEqual(len(list(c.stream([picture()] * 3))), 3)
        self.assertEqual(seen, ["options"] + ["frame"] * 3 + ["answer"] * 3 + ["done"])

    def test_bad_options_end_the_stream(self):
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.stream([picture()], levels=99))
        self.assertEqual(caught.exception.field, "detector.levels")

    def test_leaving_early_cancels(self):
        taken = 0

        def frames():
            nonlocal taken
            while True:
                taken += 1
                yield picture()

        stream = client.stream(frames(), window=2)
        self.assertTrue(next(stream).ok)
        stream.close()
        for _ in range(20):  # frames that were on their way
            after = taken
            time.sleep(0.3)
            if taken == after:
                break
        self.assertEqual(taken, after)
        self.assertGreater(len(client.detect(picture())), 0)

    def test_dropped_frames_are_answered(self):
        frames = [picture(i, 1280, 960) for i in range(30)]
        results = list(client.stream(frames, window=30, policy="latest"))
        self.assertEqual([r.frame_id for r in results], list(range(30)))
        reasons = {r.drop_reason for r in results if not r.ok}
        self.assertLessEqual(reasons, {"superseded"})
        self.assertTrue(results[-1].ok)

    def test_a_server_that_goes_away(self):
        mortal = Server()
        with glint.Client(mortal.address) as c:
            stream = c.stream((picture(i) for i in range(100000)), window=2)
            next(stream)
            mortal.kill()
            with self.assertRaises(glint.Unavailable) as caught:
                for _ in stream:
                    pass
            self.assertIn(mortal.address, str(caught.exception))
            self.assertIn("start it again", str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
            mortal.start()
            self.assertGreater(len(c.detect(picture())), 0)
        mortal.stop()


class SharedMemoryTest(unittest.TestCase):
    def test_same_features_and_slots_come_back(self):
        want = columns(client.detect(picture()))
        with client.share_memory(2, 320 * 240) as memory:

            def frames():
                for i in range(8):
                    slot = memory.acquire(timeout=20)
                    slot.array((240, 320))[:] = picture()
                    yield glint.Shared(slot, 320, 240)

            for result in client.stream(frames(), window=2):
                self.assertEqual(columns(result.features), want)
            with memory.acquire(timeout=20) as slot:
                slot.array((240, 320))[:] = picture()
                self.assertEqual(columns(client.detect(glint.Shared(slot, 320, 240))), want)

    def test_rows_with_gaps(self):
        wide = np.zeros((240, 400), np.uint8)
        wide[:, :320] = picture()
        with client.share_memory(1, wide.size) as memory, memory.acquire() as slot:
            slot.array(wide.shape)[:] = wide
            found = client.detect(glint.Shared(slot, 320, 240, stride=400))
        self.assertEqual(columns(found), columns(client.detect(picture())))

    def test_other_clients_read_what_is_shared(self):
        want = columns(client.detect(picture()))
        with client.share_memory(2, 320 * 240, shared_with=["*"]) as memory, glint.Client(server.address) as other:
            memory.acquire(timeout=20)
            slot = memory.acquire(timeout=20)
            slot.array((240, 320))[:] = picture()
            self.assertTrue(memory.shared_name.endswith("/" + slot.region))
            there = glint.OtherSlot(memory.shared_name, slot.offset, slot.nbytes)
            self.assertEqual(columns(other.detect(glint.Shared(there, 320, 240))), want)
            unknown = glint.OtherSlot("user 4294967295/" + slot.region, slot.offset, slot.nbytes)
            with self.assertRaises(glint.NotFound):
                other.detect(glint.Shared(unknown, 320, 240))
        with self.assertRaises(glint.InvalidArgument) as caught:
            client.share_memory(1, 4096, shared_with=["someone"])
        self.assertIn("shared_with[0]", str(caught.exception))

    def test_bad_input(self):
        for arguments in ({"slots": 0}, {"slot_bytes": 0}, {"slots": 5000}):
            with self.assertRaises(glint.InvalidArgument):
                client.share_memory(**arguments)
        with self.assertRaises(glint.Unavailable):
            client.share_memory(1, 4096, socket="/nowhere/socket.shm")
        with glint.Client("127.0.0.1:1") as tcp, self.assertRaises(glint.InvalidArgument):
            tcp.share_memory()
        with client.share_memory(1, 4096) as memory:
            slot = memory.acquire()
            with self.assertRaises(TimeoutError):
                memory.acquire(timeout=0.05)
            with self.assertRaises(glint.InvalidArgument):
                slot.array((100, 100))
            with self.assertRaises(glint.InvalidArgument):
                client.detect(glint.Shared(slot, 100, 100))
            with self.assertRaises(glint.InvalidArgument):
                client.detect(glint.Shared(slot, 0, 10))
            slot.release()
            slot.release()
            self.assertIsNotNone(memory.acquire(timeout=1))

    def test_closed_memory_is_unknown_to_the_server(self):
        memory = client.share_memory(1, 4096)
        slot = memory.acquire()
        memory.close()
        deadline = time.monotonic() + 20
        while True:  # the server notices the end of the connection soon
            try:
                client.detect(glint.Shared(slot, 64, 64))
            except glint.NotFound:
                break
            self.assertLess(time.monotonic(), deadline)


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = glint.aio.Client(server.address)
        await self.client.wait(30)

    async def asyncTearDown(self):
        await self.client.close()

    async def test_detect_and_stream(self):
        want = columns(client.detect(picture()))
        self.assertEqual(columns(await self.client.detect(picture())), want)
        self.assertEqual((await self.client.info()).backend, "cpu")

        async def frames():
            for _ in range(6):
                yield picture()

        seen = []
        with Recorder(seen) as address:
            async with glint.aio.Client(address) as recorded:
                self.assertEqual(len([r async for r in recorded.stream([picture()] * 3)]), 3)
        self.assertEqual(seen, ["options"] + ["frame"] * 3 + ["answer"] * 3 + ["done"])
        for source in (frames(), [picture()] * 6):
            results = [r async for r in self.client.stream(source, window=2)]
            self.assertEqual([r.frame_id for r in results], list(range(6)))
            self.assertTrue(all(columns(r.features) == want for r in results))

    async def test_errors(self):
        with self.assertRaises(glint.InvalidArgument):
            await self.client.detect(picture(), levels=13)
        with self.assertRaises(glint.InvalidArgument):
            async for _ in self.client.stream([picture()], levels=13):
                pass

        async def frames():
            yield picture()
            raise RuntimeError("camera unplugged")

        seen = 0
        with self.assertRaisesRegex(RuntimeError, "unplugged"):
            async for _ in self.client.stream(frames()):
                seen += 1
        self.assertEqual(seen, 1)
        async with glint.aio.Client("127.0.0.1:1") as nobody:
            with self.assertRaises(glint.Unavailable):
                await nobody.detect(picture())

    async def test_many_calls_at_once(self):
        # They wait for their turn; and none is taken for an attack, which would end the connection and all.
        small = picture()[:64, :64].copy()
        want = columns(client.detect(small))
        answers = await asyncio.gather(*(self.client.detect(small, timeout=None) for _ in range(2000)))
        self.assertTrue(all(columns(a) == want for a in answers))

    async def test_shared_memory(self):
        with await self.client.share_memory(1, 320 * 240, shared_with=["*"]) as memory, memory.acquire() as slot:
            slot.array((240, 320))[:] = picture()
            found = await self.client.detect(glint.Shared(slot, 320, 240))
            there = glint.OtherSlot(memory.shared_name, 0, slot.nbytes)
            self.assertEqual(columns(client.detect(glint.Shared(there, 320, 240))), columns(found))
        self.assertEqual(columns(found), columns(client.detect(picture())))

    async def test_cancelled_task(self):
        async def endless():
            while True:
                yield picture()

        async def consume():
            async for _ in self.client.stream(endless()):
                pass

        task = asyncio.ensure_future(consume())
        await asyncio.sleep(0.2)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertGreater(len(await self.client.detect(picture())), 0)


@unittest.skipIf(cv2 is None, "python3-opencv is not installed")
class OrbTest(unittest.TestCase):
    def as_set(self, keypoints, descriptors):
        fields = lambda k: (k.pt, k.octave, k.size, k.angle, k.response, k.class_id)  # noqa: E731
        return {(fields(k), bytes(d)) for k, d in zip(keypoints, descriptors)}

    def test_equal_to_opencv(self):
        if not cv2.__version__.startswith("4.6."):
            self.skipTest(f"preset orb is OpenCV 4.6's, here is {cv2.__version__}")
        few_levels, by_score = {"nfeatures": 900, "scaleFactor": 1.5, "nlevels": 4}, {"scoreType": 1, "fastThreshold": 7}
        for arguments in ({}, few_levels, by_score):
            mine = glint.ORB(client=client, **arguments).detectAndCompute(picture(), None)
            theirs = cv2.ORB_create(**arguments).detectAndCompute(picture(), None)
            self.assertEqual(self.as_set(*mine), self.as_set(*theirs), arguments)
            self.assertGreater(len(mine[0]), 100)

    def test_the_matching_tutorial(self):
        if not cv2.__version__.startswith("4.6."):
            self.skipTest(f"preset orb is OpenCV 4.6's, here is {cv2.__version__}")
        turned = np.ascontiguousarray(np.rot90(picture()))

        def matches(orb):
            one, first = orb.detectAndCompute(picture(), None)
            two, second = orb.detectAndCompute(turned, None)
            found = cv2.BFMatcher(cv2.NORM_HAMMING).knnMatch(first, second, k=2)
            good = [a for a, b in found if a.distance < 0.7 * b.distance]
            return {(one[m.queryIdx].pt, two[m.trainIdx].pt, m.distance) for m in good}

        self.assertEqual(matches(glint.ORB(client=client)), matches(cv2.ORB_create()))

    def test_detect_compute_draw(self):
        orb = glint.ORB(300, client=client)
        keypoints, descriptors = orb.detectAndCompute(picture(), None)
        some = orb.detect(picture(), None)[10:40]
        again, described = orb.compute(picture(), some)
        self.assertEqual(len(again), 30)
        np.testing.assert_array_equal(described, descriptors[10:40])
        with self.assertRaises(glint.InvalidArgument):
            orb.compute(picture(), [cv2.KeyPoint(1.5, 2.5, 31.0)])
        drawn = orb.features(picture()).draw(picture())
        self.assertEqual(drawn.shape, (240, 320, 3))
        self.assertTrue((drawn != picture()[:, :, None]).any())
        self.assertEqual(orb.descriptorSize(), 32)
        self.assertEqual((orb.descriptorType(), orb.defaultNorm()), (cv2.CV_8U, cv2.NORM_HAMMING))

    def test_what_is_not_had(self):
        for arguments in ({"firstLevel": 1}, {"WTA_K": 3}, {"scoreType": 5}):
            with self.assertRaises(glint.InvalidArgument):
                glint.ORB(client=client, **arguments)
        with self.assertRaises(glint.InvalidArgument):
            glint.ORB(client=client).detectAndCompute(None, None)
        with self.assertRaises(glint.InvalidArgument):
            glint.ORB(client=client).detectAndCompute(picture(), None, useProvidedKeypoints=True)


if __name__ == "__main__":
    unittest.main()
