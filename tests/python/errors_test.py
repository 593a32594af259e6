"""What exceptions say to programs: those of a call, of a stream's options, of a frame, and of the package itself."""
import pickle
import threading
import unittest
from unittest import mock

import numpy as np
from google.protobuf.duration_pb2 import Duration

import glint
from glint import errors, wire
from glint.v1 import envelope_pb2
from glint.v1 import feature_detection_pb2 as pb
from support import Server, picture, rows

PIXELS = 320 * 240
NAMES = ("field", "value", "allowed", "limit", "flag", "retry_after")


def setUpModule():
    global server, client
    server = Server(f"--max-image-pixels={PIXELS}")
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()


def about(error):
    """All that an exception has beside code and text."""
    return tuple(getattr(error, name) for name in NAMES)


def info(**metadata):
    return envelope_pb2.ErrorInfo(reason=metadata.pop("reason", "OUT_OF_RANGE"), domain="glint", metadata=metadata)


def details(*parts):
    """The trailer of a status with these details, of types of google.rpc."""
    status = envelope_pb2.StatusDetails(code=3, message="wrong")
    for name, data in parts:
        status.details.add(type_url=f"type.googleapis.com/google.rpc.{name}", value=data)
    return (("grpc-status-details-bin", status.SerializeToString()),)


class ParseTest(unittest.TestCase):
    RANGE = info(field="depth.unit", value="2", lowest="1e-06", highest="1")
    LIMIT = info(reason="OVER_LIMIT", field="image", value="40000000", highest="33177600", flag="--max-image-pixels")
    CHOICE = info(reason="NOT_ONE_OF", field="detector.preset", value="sift", allowed="orb, pyca")

    def test_details_of_a_call(self):
        for given, want in (
            (self.RANGE, ("depth.unit", "2", (1e-6, 1.0), None, None, None)),
            (self.LIMIT, ("image", "40000000", None, 33177600, "--max-image-pixels", None)),
            (self.CHOICE, ("detector.preset", "sift", ("orb", "pyca"), None, None, None)),
            (info(reason="CONTRADICTION", field="match.k"), ("match.k", None, None, None, None, None)),
            (info(field="add", value="70000", highest="65536"), ("add", "70000", (-np.inf, 65536), *[None] * 3)),
            (info(reason="OVER_LIMIT", field="queue"), ("queue", *[None] * 5)),
        ):
            metadata = details(("ErrorInfo", given.SerializeToString()), ("Help", b"\x0a\x00"))
            error = errors.from_call(3, "wrong", "here", metadata)
            for one in (error, pickle.loads(pickle.dumps(error))):
                self.assertIsInstance(one, glint.InvalidArgument)
                self.assertEqual((one.code, one.message, str(one)), ("INVALID_ARGUMENT", "wrong", "wrong"))
                self.assertEqual(about(one), want)
            self.assertEqual(about(errors.from_call(3, "wrong", "here")), (None,) * 6)
        gone = pickle.loads(pickle.dumps(errors.from_call(14, "Socket closed", "here")))
        self.assertIsInstance(gone, glint.Unavailable)
        self.assertIn("went away", str(gone))

    def test_when_to_try_again(self):
        delay = Duration(seconds=2, nanos=500000000).SerializeToString()
        retry = b"\x0a" + bytes((len(delay),)) + delay
        retry = details(("ErrorInfo", self.LIMIT.SerializeToString()), ("RetryInfo", retry))
        error = errors.from_call(8, "busy", "here", (("grpc-retry-pushback-ms", "2500"), *retry))
        self.assertEqual(about(error), ("image", "40000000", None, 33177600, "--max-image-pixels", 2.5))

    def test_details_of_another_server_are_left_out(self):
        for metadata in (
            (("grpc-status-details-bin", b"\xff\xff"),),
            (("grpc-status-details-bin", b"\x1a\x05"),),
            details(("ErrorInfo", b"\xff")),
            details(("RetryInfo", b"\x0a\x7f")),
        ):
            error = errors.from_call(3, "levels: 13 is not in 1..12", "here", metadata)
            self.assertEqual(about(error), (None,) * 6)

        def read(odd):
            return errors.from_call(8, "x", "here", details(("ErrorInfo", odd.SerializeToString())))

        self.assertEqual(read(info(lowest="low", highest="2")).allowed, (-np.inf, 2))
        self.assertIsNone(read(info(reason="OVER_LIMIT", highest="many")).limit)

    def test_a_frame(self):
        status = envelope_pb2.FrameStatus(code=8, message="image: too many", retry_after_ns=5 * 10**8, error=self.LIMIT)
        error = wire.parse_result(pb.DetectStreamResponse(status=status).SerializeToString()).error
        self.assertEqual((error.code, error.message), ("RESOURCE_EXHAUSTED", "image: too many"))
        self.assertEqual(about(error), ("image", "40000000", None, 33177600, "--max-image-pixels", 0.5))
        plain = envelope_pb2.FrameStatus(code=5, message="no English: is looked at: limit of 3, is not in 1..2")
        self.assertEqual(about(errors.from_status(plain)), (None,) * 6)


class ServerTest(unittest.TestCase):
    def check(self, call, kind, *want):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual((caught.exception.code, *about(caught.exception)), (kind.code, *want, None), caught.exception)
        self.assertIn(f"{want[0]}: ", caught.exception.message)

    def test_calls(self):
        self.check(lambda: client.detect(picture(), levels=13), glint.InvalidArgument,
                   "detector.levels", "13", (1, 12), None, None)
        self.check(lambda: client.detect(picture(), harris_k=0.5), glint.InvalidArgument,
                   "detector.harris_k", "0.5", (0, 0.25), None, None)
        self.check(lambda: client.detect(picture(), "sift"), glint.InvalidArgument,
                   "detector.preset", "sift", client.info().presets, None, None)
        self.check(lambda: client.match(rows(3, 1), rows(3, 1), k=9), glint.InvalidArgument,
                   "match.k", "9", (1, 8), None, None)
        self.check(lambda: client.detect(picture(1, 320, 241)), glint.ResourceExhausted,
                   "image", "77120", None, PIXELS, "--max-image-pixels")

    def test_first_messages(self):
        camera = glint.StereoCamera(320, 200, focal_length=200, centre_x=159.5, centre_y=99.5, baseline=0.1)
        far = glint.StereoCamera(320, 200, focal_length=200, centre_x=159.5, centre_y=99.5, baseline=101)
        for call, *want in (
            (lambda: client.stream([picture()], levels=99), "detector.levels", "99", (1, 12)),
            (lambda: client.stream([picture()], max_features=0), "detector.max_features", "0", (1, 65536)),
            (lambda: client.match_stream([], ratio=1.5), "match.ratio", "1.5", (0, 1)),
            (lambda: client.stereo_stream([], band=17), "stereo.band", "17", (0, 16)),
            (lambda: client.track_stream([], track_levels=9), "track.levels", "9", (1, 8)),
            (lambda: client.track_stream([], target=0), "target", "0", (1, 65536)),
            (lambda: client.localize_stream([], far), "camera.baseline", "101", (0.001, 100)),
            (lambda: client.localize_stream([], camera, depth=glint.DepthCamera(unit=2)), "depth.unit", "2", (1e-6, 1)),
        ):
            self.check(lambda call=call: list(call()), glint.InvalidArgument, *want, None, None)

    def test_frames(self):
        frames = [picture(), picture(1, 320, 241), glint.Frame(picture(), region=(0, 0, 321, 9)), b"no picture"]
        good, large, region, data = client.stream(frames)
        self.assertTrue(good.ok)
        want = ("image", "77120", None, PIXELS, "--max-image-pixels", None)
        self.assertEqual((large.error.code, about(large.error)), ("RESOURCE_EXHAUSTED", want))
        self.assertEqual(about(region.error), ("region.width", "321", (1, 320), None, None, None))
        self.assertEqual(about(data.error), ("image.encoded.data", *[None] * 5))
        _, points = client.track_stream([picture(), glint.AddPoints([[5, 5], [320, 2]])])
        self.assertEqual(about(points.error), ("x[1]", "320", (0, 319), None, None, None))
        _, unknown = client.track_stream([picture(), glint.ForgetTracks([12345])])
        self.assertEqual((unknown.error.code, *about(unknown.error)), ("NOT_FOUND", "ids[0]", "12345", *[None] * 4))


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_the_same(self):
        want = ("detector.levels", "13", (1, 12), None, None, None)
        async with glint.aio.Client(server.address) as c:
            with self.assertRaises(glint.InvalidArgument) as caught:
                await c.detect(picture(), levels=13)
            self.assertEqual(about(caught.exception), want)
            with self.assertRaises(glint.InvalidArgument) as caught:
                async for _ in c.stream([picture()] * 50, levels=13):
                    pass
            self.assertEqual(about(caught.exception), want)


class HereTest(unittest.TestCase):
    """Before anything is sent."""

    def test_all(self):
        policies = ("block", "drop_oldest", "latest", "reject")
        for call, *want in (
            (lambda: client.stream([], window=0), "window", "0", (1, 4096)),
            (lambda: client.stream([], max_age=-1), "max_age", "-1.0", (0, 86400)),
            (lambda: client.stream([], policy="newest"), "policy", "newest", policies),
            (lambda: client.detect(picture(), ranking="best"), "ranking", "best", ("score", "harris")),
            (lambda: client.detect(picture(), levels=2.5), "levels", "2.5", None),
            (lambda: client.detect(picture(), lvels=3), "lvels", None, None),
            (lambda: client.detect("photo.png"), "image", "photo.png", None),
            (lambda: client.detect(np.zeros(4, np.uint8)), "image", "an array of uint8 and shape (4,)", None),
            (lambda: client.detect(glint.Encoded(b"x", "gif")), "image.encoding", "gif", ("jpeg", "png", "mjpeg")),
            (lambda: next(client.stream([glint.Frame(picture(), id=-1)])), "frame_id", "-1", (0, float((1 << 64) - 1))),
            (lambda: client.share_memory(slots=0), "slots", "0", (1, 4096)),
            (lambda: glint.Client("localhost"), "address", "localhost", None),
            (lambda: client.detect(picture(), levels="z" * 300), "levels", "z" * 197 + "...", None),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                call()
            self.assertEqual(about(caught.exception), (*want, None, None, None), caught.exception)
            self.assertTrue(caught.exception.message.startswith(want[0] + ": "))
            self.assertNotIn("\n", caught.exception.message)

    def test_a_stream_without_a_thread_is_an_error(self):
        refusal = RuntimeError("can't start new thread")
        with glint.Client(server.address) as fresh:
            for timeout in (None, 60):
                with mock.patch.object(threading.Thread, "start", side_effect=refusal):
                    with self.assertRaisesRegex(glint.ResourceExhausted, "can't start new thread.*ulimit -u"):
                        list(fresh.stream([picture()], timeout=timeout))
            self.assertEqual([result.ok for result in fresh.stream([picture()])], [True])


if __name__ == "__main__":
    unittest.main()
