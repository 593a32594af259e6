"""glint.wire against protobuf's own classes: what it writes, and what it reads, however it is encoded."""
import pickle
import random
import unittest

import numpy as np

import glint
from glint import wire
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
        message.status.drop_reason, message.status.retry_after_ns = pb.DROP_REASON_REJECTED, 1500000000
        result = wire.parse_result(message.SerializeToString())
        self.assertIsInstance(result.error, glint.ResourceExhausted)
        self.assertEqual((result.drop_reason, result.error.retry_after), ("rejected", 1.5))
        self.assertEqual(pickle.loads(pickle.dumps(result.error)).message, result.error.message)

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
        region = pb.Region(x=1, y=2, width=3, height=300)
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
        self.assertEqual((request.options, request.image.encoded.data), (options, b"\xff\xd8file"))
        mask = np.ones((2, 2), np.uint8)
        stream = pb.StreamOptions(detector=options, max_age_ns=9)
        first = pb.DetectStreamRequest.FromString(wire.stream_options(stream, mask)).options
        self.assertEqual((first.detector, first.max_age_ns, first.mask.raw.data), (options, 9, b"\1\1\1\1"))


if __name__ == "__main__":
    unittest.main()
