"""Messages of matching against protobuf's own classes: what it writes, and what it reads, however it is encoded."""
import random
import unittest

import numpy as np

import glint
from glint import encoding, matching_messages
from glint.v1 import envelope_pb2, matching_pb2
from wire_test import answer


def match_answer(count, seed=0):
    rng = np.random.default_rng(seed)
    message = matching_pb2.MatchStreamResponse(frame_id=seed + 1)
    m = message.result.matches
    m.query.extend(range(count))
    m.train.extend(rng.integers(0, 1 << 18, count).tolist())
    m.distance.extend(rng.integers(0, 4096, count).tolist())
    m.queries, m.trains = count, 262143
    message.result.query.CopyFrom(answer(count, seed=seed).features)
    message.timings.total_ns, message.timings.match_ns = 70005, 70000
    return message


def stereo_answer(count):
    rng = np.random.default_rng(count)
    message = matching_pb2.StereoStreamResponse(frame_id=9)
    result = message.result
    message.timings.match_ns, result.right_keypoints = 7, 1000
    result.left.CopyFrom(answer(count).features)
    m = result.matches
    m.left.extend(range(count))
    m.distance.extend(rng.integers(0, 200, count).tolist())
    for name in ("right_x", "disparity", "depth"):
        getattr(m, name).extend(rng.random(count, np.float32).tolist())
    result.warnings.add(kind=envelope_pb2.WARNING_KIND_SWAPPED, figure=0.75, unit="1", text="swapped")
    result.warnings.add(kind=envelope_pb2.WARNING_KIND_DIFFERENT_SCENES, figure=0.25, unit="1", text="different")
    result.warnings.add(kind=99, text="of a newer server")
    return message


PAIR = glint.Pair("one", "two")


class ReadTest(unittest.TestCase):
    def check_matches(self, message, data):
        result = matching_messages.parse_match_result(data, PAIR)
        self.assertEqual(result.frame_id, message.frame_id)
        matches = message.result.matches
        for name in ("query", "train", "distance"):
            self.assertEqual(getattr(result.matches, name).tolist(), list(getattr(matches, name)))
            self.assertEqual(getattr(result.matches, name).dtype, np.int32)
        self.assertEqual((result.matches.queries, result.matches.trains), (matches.queries, 262143))
        self.assertEqual(result.matches.query_features.x.tolist(), list(message.result.query.x))
        self.assertIsNone(result.matches.train_features)
        self.assertEqual((result.matches.timings.match_ns, result.matches.timings.total_ns), (70000, 70005))

    def test_matches(self):
        for count in (0, 1, 127, 128, 3000):
            message = match_answer(count, seed=count)
            data = message.SerializeToString()
            self.check_matches(message, data)
            self.check_matches(message, data + b"\xad\x06abcd")  # an unknown field
            again = matching_pb2.MatchStreamResponse(frame_id=message.frame_id).SerializeToString()
            self.check_matches(message, data + again)  # frame_id twice

    def test_unpacked_numbers(self):
        fields = b"\x08\x05" + b"\x10\x85\x01" + b"\x18\x07" + b"\x20\x06" + b"\x28\x09"
        data = b"\x22" + bytes((len(fields) + 2,)) + b"\x0a" + bytes((len(fields),)) + fields
        found = matching_messages.parse_match(data, "", "")
        self.assertEqual([a.tolist() for a in (found.query, found.train, found.distance)], [[5], [133], [7]])
        self.assertEqual((found.queries, found.trains), (6, 9))

    def test_stereo(self):
        for count in (0, 1, 500):
            message = stereo_answer(count)
            found = matching_messages.parse_stereo_result(message.SerializeToString(), True).matches
            matches = message.result.matches
            self.assertEqual(found.index.tolist(), list(matches.left))
            for name in ("right_x", "disparity", "depth", "distance"):
                self.assertEqual(getattr(found, name).tolist(), list(getattr(matches, name)))
            self.assertEqual((len(found.left), found.right_keypoints, found.timings.match_ns), (count, 1000, 7))
            self.assertEqual([w.kind for w in found.warnings], ["swapped", "different_scenes", "99"])
            self.assertEqual(found.warnings[0], glint.Warning("swapped", 0.75, "1", "swapped"))
            self.assertEqual([str(w) for w in found.warnings], ["swapped", "different", "of a newer server"])
        matches.ClearField("depth")
        self.assertIsNone(matching_messages.parse_stereo_result(message.SerializeToString(), False).matches.depth)

    def test_errors_and_unequal_arrays(self):
        status = envelope_pb2.FrameStatus(code=5, message='set: "map" is not there')
        data = matching_pb2.MatchStreamResponse(frame_id=4, status=status).SerializeToString()
        result = matching_messages.parse_match_result(data, PAIR)
        self.assertIsInstance(result.error, glint.NotFound)
        with self.assertRaises(glint.NotFound):
            result.matches
        for message in (match_answer(3), stereo_answer(3)):
            message.result.matches.distance.pop()
            with self.assertRaises(glint.InternalError):
                if isinstance(message, matching_pb2.MatchStreamResponse):
                    matching_messages.parse_match_result(message.SerializeToString(), PAIR)
                else:
                    matching_messages.parse_stereo_result(message.SerializeToString(), True)

    def test_answers_to_edits(self):
        for edit, count in ((glint.UpdateSet("map", remove=[1]), 300), (glint.ForgetSet("map"), 0)):
            message = matching_pb2.MatchStreamResponse(frame_id=4, set=matching_pb2.SetState(descriptors=count))
            result = matching_messages.parse_match_result(message.SerializeToString(), edit)
            self.assertEqual((result.frame_id, result.ok, result.set_size, result.found), (4, True, count, None))
            with self.assertRaisesRegex(glint.InvalidArgument, "set_size"):
                result.matches
            with self.assertRaises(glint.InternalError):
                matching_messages.parse_match_result(match_answer(2).SerializeToString(), edit)

    def test_damaged_answers_raise_and_nothing_else(self):
        rng = random.Random(2)
        for good in (match_answer(20).SerializeToString(), stereo_answer(20).SerializeToString()):
            for _ in range(2000):
                data = bytearray(good[: rng.randrange(len(good) + 1)])
                for _ in range(rng.randrange(4)):
                    if data:
                        data[rng.randrange(len(data))] = rng.randrange(256)
                for read in (
                    lambda d: matching_messages.parse_match_result(d, PAIR),
                    lambda d: matching_messages.parse_stereo_result(d, True),
                    lambda d: matching_messages.parse_match(d, "", ""),
                ):
                    try:
                        read(bytes(data))
                    except glint.GlintError:
                        pass


class WriteTest(unittest.TestCase):
    def test_varints(self):
        values = np.array([0, 1, 127, 128, 300, 16383, 16384, (1 << 31) - 1, -1, -(1 << 31)], np.int32)
        message = matching_pb2.MatchConditions(min_octave=values.tolist())
        data = encoding.pack_varints(values)
        self.assertEqual(message.SerializeToString(), b"\x22" + bytes((len(data),)) + data)
        np.testing.assert_array_equal(encoding.read_integers(data, 0, len(data)), values)
        for end in (0, 3):
            np.testing.assert_array_equal(encoding.read_integers(data, 0, end), values[:end])
        rng = np.random.default_rng(3)
        for count in range(200):
            values = (rng.integers(-(1 << 31), 1 << 31, count % 40) >> rng.integers(0, 32, count % 40)).astype(np.int32)
            data = encoding.pack_varints(values)
            message = matching_pb2.MatchConditions(min_octave=values.tolist())
            self.assertTrue(message.SerializeToString().endswith(data))
            np.testing.assert_array_equal(encoding.read_integers(b"\xff" + data + b"\x80", 1, 1 + len(data)), values)
        for data in (b"\x80", b"\x05\x80", b"\x80" * 10 + b"\x01", b"\x01" + b"\xff" * 11 + b"\x01"):
            with self.assertRaises(encoding.Unusual):
                encoding.read_integers(data, 0, len(data))

    def test_pairs(self):
        rows = np.arange(96, dtype=np.uint8).reshape(3, 32)
        numbers = {"x": [1.5, 2, 3], "y": np.arange(3), "octave": [0, 7, 200], "angle": [0, 359.5, 3]}
        train = glint.Descriptors(rows[:, ::-1], **numbers)
        windows = (np.array([1, 2, 3]), [4, 5, 6], 7.5)
        octaves = (0, [1, 2, 3])
        pair = glint.Pair(rows, train, max_age=2, windows=windows, octaves=octaves)
        sent = matching_pb2.MatchStreamRequest.FromString(matching_messages.match_item(77, pair)).pair
        self.assertEqual((sent.frame_id, sent.max_age_ns), (77, 2000000000))
        self.assertEqual((sent.query.descriptors.data, sent.query.descriptors.descriptor_bytes), (rows.tobytes(), 32))
        self.assertEqual(list(sent.query.descriptors.x), [])
        self.assertEqual(sent.train.descriptors.data, rows[:, ::-1].tobytes())
        for name, values in numbers.items():
            self.assertEqual(list(getattr(sent.train.descriptors, name)), list(values), name)
        c = sent.conditions
        self.assertEqual((list(c.x), list(c.y), list(c.radius)), ([1, 2, 3], [4, 5, 6], [7.5] * 3))
        self.assertEqual((list(c.min_octave), list(c.max_octave)), ([0, 0, 0], [1, 2, 3]))

    def test_what_an_array_is(self):
        def content(side):
            data = matching_messages.match_item(0, glint.Pair(side, side))
            return matching_pb2.MatchStreamRequest.FromString(data).pair.query.WhichOneof("content")

        rows = np.zeros((40, 64), np.uint8)
        self.assertEqual(content(rows), "descriptors")
        self.assertEqual(content(glint.Raw(rows, "gray8")), "image")
        self.assertEqual(content(np.zeros((40, 72), np.uint8)), "image")
        self.assertEqual(content(glint.Descriptors(np.zeros((40, 72), np.uint8))), "descriptors")
        self.assertEqual(content(np.zeros((40, 40, 3), np.uint8)), "image")
        self.assertEqual(content(b"\xff\xd8"), "image")
        self.assertEqual(content("map"), "set")

    def test_edits(self):
        edit = glint.UpdateSet("map", np.ones((2, 16), np.uint8), remove=[1, 5, 300])
        sent = matching_pb2.MatchStreamRequest.FromString(matching_messages.match_item(3, edit)).update_set
        self.assertEqual((sent.frame_id, sent.set, list(sent.remove)), (3, "map", [1, 5, 300]))
        self.assertEqual((sent.add.descriptor_bytes, len(sent.add.data)), (16, 32))
        only = matching_messages.match_item(3, glint.UpdateSet("map", remove=[1]))
        self.assertFalse(matching_pb2.MatchStreamRequest.FromString(only).update_set.HasField("add"))
        sent = matching_pb2.MatchStreamRequest.FromString(matching_messages.match_item(9, glint.ForgetSet("map")))
        self.assertEqual(sent.forget_set, matching_pb2.ForgetSet(frame_id=9, set="map"))

    def test_stereo_pairs(self):
        image = np.arange(12, dtype=np.uint8).reshape(3, 4)
        pair = glint.StereoPair(image, image + 1, left_time_ns=10**18, right_time_ns=5)
        sent = matching_pb2.StereoStreamRequest.FromString(matching_messages.stereo_pair(1, pair)).pair
        self.assertEqual((sent.left.raw.data, sent.right.raw.data), (image.tobytes(), (image + 1).tobytes()))
        self.assertEqual((sent.left_time_ns, sent.right_time_ns), (10**18, 5))
        both = matching_messages.stereo_pair(1, glint.StereoPair(image))
        sent = matching_pb2.StereoStreamRequest.FromString(both).pair
        self.assertFalse(sent.HasField("right"))


if __name__ == "__main__":
    unittest.main()
