"""glint.wire against protobuf's own classes: what it writes, and what it reads, however it is encoded."""
import random
import unittest

import numpy as np

import glint
from glint import calls, wire
from glint.v1 import envelope_pb2, image_pb2, localization_pb2, matching_pb2, tracking_pb2
from glint.v1 import feature_detection_pb2 as pb


def answer(count, descriptor_bytes=32, seed=0):
    rng = np.random.default_rng(seed)
    message = pb.DetectStreamResponse(frame_id=int(rng.integers(0, 1 << 62)))
    features = message.features
    for name in ("x", "y", "size", "angle", "response"):
        getattr(features, name).extend(rng.random(count, np.float32).tolist())
    features.octave.extend(rng.integers(0, 12, count).tolist())
    features.descriptor_bytes = descriptor_bytes
    features.descriptors = rng.bytes(count * descriptor_bytes)
    features.truncated = bool(seed % 2)
    message.timings.total_ns, message.timings.device = 123456789012, "cuda:0"
    return message


class ParseTest(unittest.TestCase):
    def check(self, message, data=None):
        result = wire.parse_result(message.SerializeToString() if data is None else data)
        self.assertEqual(result.frame_id, message.frame_id)
        for name in ("x", "y", "size", "angle", "response", "octave"):
            self.assertEqual(getattr(result.features, name).tolist(), list(getattr(message.features, name)))
        want = message.features.descriptors
        self.assertEqual(b"" if result.features.descriptors is None else result.features.descriptors.tobytes(), want)
        self.assertEqual(result.features.truncated, message.features.truncated)
        self.assertEqual(result.features.timings.total_ns, message.timings.total_ns)
        self.assertEqual(result.features.timings.device, message.timings.device)

    def test_sizes(self):
        for count in (0, 1, 31, 2000):
            for width in (0, 32):
                self.check(answer(count, width, seed=count))

    def test_octaves_of_two_bytes_and_negative_ones(self):
        for octave in (127, 128, 70000, -1):
            message = answer(3)
            message.features.octave[1] = octave
            self.check(message)

    def test_a_field_in_two_parts(self):
        first, second, both = answer(2), answer(3, seed=4), pb.DetectStreamResponse()
        data = first.SerializeToString() + second.SerializeToString()
        both.MergeFromString(data)
        both.features.descriptors = first.features.descriptors + second.features.descriptors
        # Bytes are replaced when messages are merged, so the arrays do not fit together any more.
        with self.assertRaises(glint.InternalError):
            wire.parse_result(data)

    def test_unknown_fields_are_passed_over(self):
        self.check(answer(5), answer(5).SerializeToString() + b"\xa0\x06\x01" + b"\xaa\x06\x03abc" + b"\xad\x06abcd")

    def test_status(self):
        message = pb.DetectStreamResponse(frame_id=7)
        message.status.code, message.status.message = 8, "max_in_flight: all 4 are taken"
        message.status.drop_reason, message.status.retry_after_ns = envelope_pb2.DROP_REASON_REJECTED, 1500000000
        result = wire.parse_result(message.SerializeToString())
        self.assertIsInstance(result.error, glint.ResourceExhausted)
        self.assertEqual((result.drop_reason, result.error.retry_after), ("rejected", 1.5))

    def test_all_times_are_there(self):
        names = [field.name for field in envelope_pb2.Timings.DESCRIPTOR.fields]
        self.assertEqual(sorted(glint.Timings.__dataclass_fields__), sorted(names))
        times = {name: "cpu" if name == "device" else number for number, name in enumerate(names, 1)}
        message = pb.DetectStreamResponse(timings=envelope_pb2.Timings(**times))
        message.features.SetInParent()
        found = wire.parse_result(message.SerializeToString())
        self.assertEqual(found.timings, glint.Timings(**times))
        self.assertIs(found.features.timings, found.timings)

    def test_an_answer_without_features_is_none(self):
        for data in (b"", pb.DetectStreamResponse(frame_id=7).SerializeToString()):
            with self.assertRaisesRegex(glint.InternalError, "no features"):
                wire.parse_result(data)
        self.assertEqual(len(wire.parse_result(b"\x22\x00").features), 0)

    def test_damaged_answers_raise_and_nothing_else(self):
        rng = random.Random(1)
        good = answer(20).SerializeToString()
        for _ in range(3000):
            data = bytearray(good[: rng.randrange(len(good) + 1)])
            for _ in range(rng.randrange(4)):
                if data:
                    data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                wire.parse_result(bytes(data))
                wire.parse_detect(bytes(data))
            except glint.GlintError:
                pass


class WriteTest(unittest.TestCase):
    def test_frames(self):
        image = np.arange(12, dtype=np.uint8).reshape(3, 4)
        region = image_pb2.ImageRegion(x=1, y=2, width=3, height=300)
        data = wire.stream_frame((1 << 64) - 1, image, mask=image + 1, region=region, max_age_ns=5)
        frame = pb.DetectStreamRequest.FromString(data).frame
        self.assertEqual((frame.frame_id, frame.max_age_ns), ((1 << 64) - 1, 5))
        self.assertEqual((frame.image.raw.width, frame.image.raw.height, frame.image.raw.data), (4, 3, image.tobytes()))
        self.assertEqual(frame.mask.raw.data, (image + 1).tobytes())
        self.assertEqual(frame.region, region)
        with self.assertRaises(glint.InvalidArgument):
            wire.stream_frame(1 << 64, image)

    def test_detect_and_options(self):
        options = glint.detector("orb", levels=3)
        request = pb.DetectRequest.FromString(wire.detect_request(options, b"\xff\xd8file", None, None))
        self.assertEqual((request.detector, request.image.encoded.data), (options, b"\xff\xd8file"))
        mask = np.ones((2, 2), np.uint8)
        made = calls.stream([], "orb", levels=3, mask=mask, region=(0, 0, 2, 1), max_age=9e-9)
        first = pb.DetectStreamRequest.FromString(made.first).options
        self.assertEqual((first.detector, first.max_age_ns, first.mask.raw.data), (options, 9, b"\1\1\1\1"))
        self.assertEqual(first.region, image_pb2.ImageRegion(width=2, height=1))

    def test_what_is_not_said_is_not_sent(self):
        rows = np.zeros((2, 8), np.uint8)
        detect = pb.DetectRequest.FromString(calls.detect(rows).message)
        match = matching_pb2.MatchRequest.FromString(calls.match(rows, rows).message)
        self.assertEqual(sorted(f.name for f, _ in detect.ListFields()), ["image"])
        self.assertEqual(sorted(f.name for f, _ in match.ListFields()), ["query", "train"])
        camera = glint.StereoCamera(320, 200, 200, baseline=0.1)
        for make, kind, given in (
            (calls.stream, pb.DetectStreamRequest, []),
            (calls.match_stream, matching_pb2.MatchStreamRequest, []),
            (calls.stereo_stream, matching_pb2.StereoStreamRequest, []),
            (calls.track_stream, tracking_pb2.TrackStreamRequest, []),
            (lambda items: calls.localize_stream(items, camera), localization_pb2.LocalizeStreamRequest, ["camera"]),
        ):
            first = kind.FromString(make([]).first)
            self.assertEqual(first.WhichOneof("message"), "options")
            self.assertEqual([f.name for f, _ in first.options.ListFields()], given, kind)
        self.assertTrue(pb.DetectRequest.FromString(calls.detect(rows, levels=0).message).detector.HasField("levels"))


if __name__ == "__main__":
    unittest.main()
