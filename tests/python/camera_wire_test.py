"""Messages of cameras, rigs, masks and rays, without a server: what is written, what is refused, and what is read."""
import unittest

import numpy as np

import glint
from glint import calls, localization_messages, matching_messages, tracking_messages, wire
from glint.v1 import calibration_pb2, image_pb2, localization_pb2, matching_pb2, tracking_pb2
from glint.v1 import feature_detection_pb2 as pb
from matching_wire_test import match_answer
from wire_test import answer

K = np.array([[500, 0, 320.5], [0, 501, 239.5], [0, 0, 1]])
PLAIN = {"width": 640, "height": 480, "fx": 500, "fy": 501, "cx": 320.5, "cy": 239.5}
IMAGE = np.zeros((4, 6), np.uint8)
SENSOR = glint.DepthCamera(unit=0.001)


def camera(*args, **fields):
    return glint.Camera((640, 480), K, *args, **fields)


def sent(camera):
    return pb.DetectRequest.FromString(calls.detect(IMAGE, camera=camera).message).camera


def localize_options(*args, **fields):
    made = calls.localize_stream([], *args, **fields)
    return localization_pb2.LocalizeStreamRequest.FromString(made.first).options


def stereo_options(**fields):
    return matching_pb2.StereoStreamRequest.FromString(calls.stereo_stream([], **fields).first).options


def track_options(**fields):
    return tracking_pb2.TrackStreamRequest.FromString(calls.track_stream([], **fields).first).options


class RefusedTest(unittest.TestCase):
    """Base of tests of arguments that are refused before anything is sent."""

    def refused(self, field, call, *parts):
        with self.subTest(field), self.assertRaises(glint.InvalidArgument) as caught:
            call()
        self.assertEqual(caught.exception.field, field)
        for part in (f"{field}: ", *parts):
            self.assertIn(part, str(caught.exception))


class CameraTest(RefusedTest):
    def test_lenses(self):
        """By cv2's numbers of coefficients, and by name; each number is where its name is."""
        numbers = [0.01 * i for i in range(1, 15)]
        opencv = "k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 tau_x tau_y".split()
        for model, lens, names in (
            *((None, field, opencv[:count]) for count, field in (
                (4, "radial_tangential"), (5, "radial_tangential"), (8, "rational"), (12, "thin_prism"),
                (14, "thin_prism"))),
            ("thin-prism", "thin_prism", opencv),
            ("thin-prism", "thin_prism", opencv[:12]),
            ("kannala-brandt", "kannala_brandt", ["k1", "k2", "k3", "k4"]),
            ("double-sphere", "double_sphere", ["xi", "alpha"]),
            ("eucm", "eucm", ["alpha", "beta"]),
            ("fov", "fov", ["w"]),
            ("omni", "omni", ["xi", "k1", "k2", "p1", "p2"]),
        ):
            with self.subTest(model=model, count=len(names)):
                message = calibration_pb2.Camera(**PLAIN, **{lens: dict(zip(names, numbers))})
                given = np.array([numbers[: len(names)]])  # as cv2 has it
                self.assertEqual(sent(camera(given, model)), message)
                self.assertEqual(sent(camera(given.tolist()[0], model=model)), message)

    def test_no_lens(self):
        for none in (None, [], np.zeros((0, 5))):
            self.assertEqual(sent(camera(none)), calibration_pb2.Camera(**PLAIN))
        self.assertEqual(sent(camera(None, "fov")), calibration_pb2.Camera(**PLAIN))

    def test_a_prism_of_zeros_is_none(self):
        for count in (12, 14):
            message = calibration_pb2.Camera(**PLAIN, rational={"k1": 0.5, "k6": 0.25})
            self.assertEqual(sent(camera([0.5, *[0] * 6, 0.25, *[0] * (count - 8)])), message)
            self.assertEqual(sent(camera([0.5, *[0] * (count - 1)], "thin-prism")).thin_prism.k1, 0.5)

    def test_what_is_no_camera(self):
        for field, bad, *parts in (
            ("camera", K, "is not glint.Camera"),
            ("camera", "rig1", '"rig1"', "is not glint.Camera"),
            ("camera.K", glint.Camera((640, 480), K.T), "is not fx 0 cx, 0 fy cy, 0 0 1"),
            ("camera.K", glint.Camera((640, 480), K[:2]), "is not 9 numbers"),
            ("camera.K", glint.Camera((640, 480), None), "None is not 9 numbers"),
            ("camera.K", glint.Camera((640, 480), [["f", 0, 0], [0] * 3, [0] * 3]), "is not 9 numbers"),
            ("camera.size", glint.Camera(640, K), "640 is not (width, height)"),
            ("camera.D", camera([0.1] * 6), "is not the 4, 5, 8, 12 or 14 coefficients"),
            ("camera.D", camera(["a"]), "is not numbers"),
            ("camera.D", camera([0.1] * 13, "thin-prism"), "is not the 14 coefficients k1 k2 p1 p2 k3 k4"),
            ("camera.D", camera([0.1] * 4, "rational"), "is not the 8 coefficients"),
            ("camera.D", camera([0.1] * 5, "kannala-brandt"), "is not the 4 coefficients k1 k2 k3 k4"),
            ("camera.model", camera([0.1], "fisheye"), '"fisheye" is not one of radial-tangential, rational'),
            ("camera.model", camera(None, "fisheye"), "thin-prism"),
        ):
            self.refused(field, lambda bad=bad: calls.detect(IMAGE, camera=bad), *parts)
        for size, why in (
            ((-1, 480), "-1 is not in 0..16384"),
            ((640, 16385), "16385 is not in 0..16384"),
            (("wide", 480), '"wide" is not a whole number'),
            ((640.5, 480), "640.5 is not a whole number"),
            ((640, 480, 1), "is not (width, height)"),
        ):
            self.refused("camera.size", lambda size=size: calls.detect(IMAGE, camera=glint.Camera(size, K)), why)

    def test_where_cameras_go(self):
        one, two = camera([0.1, 0, 0, 0]), camera([0.2], "fov")
        messages = sent(one), sent(two)
        first = pb.DetectStreamRequest.FromString(calls.stream([], camera=one).first).options
        self.assertEqual(first.camera, messages[0])
        match = matching_pb2.MatchRequest.FromString(calls.match(IMAGE, IMAGE, query_camera=one).message)
        self.assertEqual((match.query_camera, match.HasField("train_camera")), (messages[0], False))
        made = calls.match_stream([], query_camera=one, train_camera=two)
        first = matching_pb2.MatchStreamRequest.FromString(made.first).options
        self.assertEqual((first.query_camera, first.train_camera), messages)
        self.assertEqual(tuple(track_options(cameras=2, calibrations=[one, two]).calibrations), messages)
        self.assertEqual(tuple(track_options(calibrations=one).calibrations), messages[:1])
        for field, call in (
            ("camera", lambda: calls.stream([], camera=K)),
            ("query_camera", lambda: calls.match(IMAGE, IMAGE, query_camera=K)),
            ("train_camera.K", lambda: calls.match_stream([], train_camera=glint.Camera((640, 480), np.eye(2)))),
            ("calibrations[1]", lambda: calls.track_stream([], cameras=2, calibrations=(one, None))),
            ("calibrations[0].D", lambda: calls.track_stream([], calibrations=camera([1, 2, 3]))),
        ):
            self.refused(field, call)

    def test_all_states_of_tracks(self):
        names = {value.number: value.name for value in tracking_pb2.TrackState.DESCRIPTOR.values if value.number}
        self.assertEqual({state.value: f"TRACK_STATE_{state.name}" for state in glint.TrackState}, names)


class RigTest(RefusedTest):
    def test_both_cameras_are_made_as_one_is(self):
        lenses = [0.01 * i for i in range(14)], [0.02 * i for i in range(14)]
        rig = glint.StereoRig((640, 480), K, lenses[0], K, lenses[1], np.eye(3), [-0.1, 0, 0], max_field=90)
        message = stereo_options(rig=rig).rig
        self.assertEqual((message.left, message.right), tuple(sent(camera(lens)) for lens in lenses))
        self.assertEqual(list(message.right_from_left.rotation), np.eye(3).ravel().tolist())
        self.assertEqual((message.right_from_left.x, message.rectify.max_field), (-0.1, 90))
        self.assertEqual(localize_options(rig).rig, message)

    def test_by_name(self):
        for name in ("rig1", "a" * 64, "-_.9"):
            message = calibration_pb2.StereoRig(name=name)
            self.assertEqual(stereo_options(rig=glint.StereoRig(name=name)).rig, message)
        rig = glint.StereoRig(name="rig1", rectified_size=(320, 240), focal_length=200.5, max_field=100)
        message.name = "rig1"
        rectify = calibration_pb2.RectifyOptions(width=320, height=240, focal_length=200.5, max_field=100)
        message.rectify.CopyFrom(rectify)
        self.assertEqual(localize_options(rig).rig, message)
        self.assertFalse(localize_options(rig).HasField("camera"))

    def test_what_is_no_rig(self):
        for bad in ("", ".rig", "a" * 65, "a/b", "rig 1", "rig\n", "\u00e4", 5):
            allowed = '1..64 letters, digits, "_", "-" and ".", which is not the first'
            self.refused("rig.name", lambda bad=bad: calls.stereo_stream([], rig=glint.StereoRig(name=bad)), allowed)
        for field, value in (("size", (640, 480)), ("K1", K), ("T", [-0.1, 0, 0]), ("model", "fov")):
            rig = glint.StereoRig(name="rig1", **{field: value})
            self.refused(f"rig.{field}", lambda rig=rig: calls.localize_stream([], rig), "rig.name")
        good = {"size": (640, 480), "K1": K, "K2": K, "R": np.eye(3), "T": [-0.1, 0, 0]}
        for field in good:
            rig = glint.StereoRig(**{**good, field: None})
            self.refused(f"rig.{field}", lambda rig=rig: calls.stereo_stream([], rig=rig))
        rig = glint.StereoRig(**good, D2=[1, 2, 3])
        self.refused("rig.D2", lambda: calls.stereo_stream([], rig=rig), "4, 5, 8, 12 or 14")


class RgbdTest(RefusedTest):
    def test_registered(self):
        one = camera([0.1, 0, 0, 0])
        options = localize_options(glint.RgbdCamera(one), depth=SENSOR)
        self.assertEqual(options.raw_camera, calibration_pb2.RgbdCamera(camera=sent(one), baseline=0.08))
        self.assertEqual((options.depth.unit, options.HasField("camera")), (0.001, False))

    def test_a_depth_camera_of_its_own(self):
        one, two = camera([0.1, 0, 0, 0]), glint.Camera((320, 240), K)
        turn = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
        given = glint.RgbdCamera(one, 0.05, two, turn, (0.025, 0, 0.01), (600, 400), 450, 100)
        message = calibration_pb2.RgbdCamera(camera=sent(one), depth_camera=sent(two), baseline=0.05)
        message.camera_from_depth.rotation.extend([0, 0, 1, 1, 0, 0, 0, 1, 0])
        message.camera_from_depth.x, message.camera_from_depth.z = 0.025, 0.01
        rectify = calibration_pb2.RectifyOptions(width=600, height=400, focal_length=450, max_field=100)
        message.rectify.CopyFrom(rectify)
        self.assertEqual(localize_options(given, depth=SENSOR).raw_camera, message)
        unturned = glint.RgbdCamera(one, depth_camera=two, T=[0.025, 0, 0])
        transform = calibration_pb2.RigidTransform(x=0.025)
        self.assertEqual(localize_options(unturned, depth=SENSOR).raw_camera.camera_from_depth, transform)

    def test_by_name(self):
        for name in ("d435", "a" * 64, "-_.9"):
            options = localize_options(glint.RgbdCamera(name=name), depth=SENSOR)
            self.assertEqual(options.raw_camera, calibration_pb2.RgbdCamera(name=name, baseline=0.08))
            self.assertFalse(options.HasField("camera"))
        given = glint.RgbdCamera(None, 0.05, rectified_size=(320, 240), focal_length=200.5, max_field=100, name="d435")
        message = calibration_pb2.RgbdCamera(name="d435", baseline=0.05)
        rectify = calibration_pb2.RectifyOptions(width=320, height=240, focal_length=200.5, max_field=100)
        message.rectify.CopyFrom(rectify)
        self.assertEqual(localize_options(given, depth=SENSOR).raw_camera, message)

    def test_what_is_no_camera_with_depth(self):
        one = camera()
        for bad in ("", ".rig", "a" * 65, "a/b", "rig 1", "rig\n", "\u00e4", 5):
            allowed = '1..64 letters, digits, "_", "-" and ".", which is not the first'
            given = glint.RgbdCamera(name=bad)
            self.refused("camera.name", lambda given=given: calls.localize_stream([], given, depth=SENSOR), allowed)
        for field, value in (("camera", one), ("depth_camera", one), ("R", np.eye(3)), ("T", [0, 0, 0])):
            given = glint.RgbdCamera(name="d435", **{field: value})
            why = "is given beside camera.name"
            self.refused(f"camera.{field}", lambda given=given: calls.localize_stream([], given, depth=SENSOR), why)
        for field, bad in (
            ("camera.camera", glint.RgbdCamera()),
            ("camera.camera", glint.RgbdCamera(K)),
            ("camera.camera.D", glint.RgbdCamera(camera([1, 2, 3]))),
            ("camera.baseline", glint.RgbdCamera(one, "wide")),
            ("camera.depth_camera", glint.RgbdCamera(one, depth_camera=K, T=[0, 0, 0])),
            ("camera.depth_camera.K", glint.RgbdCamera(one, depth_camera=glint.Camera((1, 1), K.T), T=[0, 0, 0])),
            ("camera.T", glint.RgbdCamera(one, depth_camera=one)),
            ("camera.T", glint.RgbdCamera(one, depth_camera=one, T=[0, 0])),
            ("camera.R", glint.RgbdCamera(one, depth_camera=one, R=np.eye(4), T=[0, 0, 0])),
            ("camera.T", glint.RgbdCamera(one, T=[0, 0, 0])),
            ("camera.R", glint.RgbdCamera(one, R=np.eye(3))),
            ("camera.rectified_size", glint.RgbdCamera(one, rectified_size=640)),
            ("camera.max_field", glint.RgbdCamera(one, max_field="wide")),
            ("camera", one),
        ):
            self.refused(field, lambda bad=bad: calls.localize_stream([], bad, depth=SENSOR))
        self.refused("depth", lambda: calls.localize_stream([], glint.RgbdCamera(one)), "None is not glint.DepthCamera")


class MaskTest(RefusedTest):
    WHERE = np.arange(24).reshape(4, 6) % 3 == 0
    WHITE = WHERE.astype(np.uint8) * np.uint8(255)
    REGION = image_pb2.ImageRegion(x=1, y=2, width=3, height=4)

    def grey(self, data):
        raw = image_pb2.RawImage(format=image_pb2.PIXEL_FORMAT_GRAY8, width=6, height=4, data=data.tobytes())
        return image_pb2.Image(raw=raw)

    def test_of_pairs(self):
        rectified = glint.StereoCamera(6, 4, 5, baseline=0.1)
        for make in (stereo_options, lambda **fields: localize_options(rectified, **fields)):
            options = make(mask=self.WHERE, right_mask=self.WHITE // 5, region=(1, 2, 3, 4))
            self.assertEqual(options.mask, self.grey(self.WHITE))
            self.assertEqual(options.right_mask, self.grey(self.WHITE // 5))
            self.assertEqual(options.region, self.REGION)
            only = make(right_mask=self.WHERE)
            self.assertEqual([only.HasField(name) for name in ("mask", "right_mask", "region")], [False, True, False])
        fields = {"mask": self.WHITE // 5, "right_mask": self.WHERE}
        pair = matching_messages.stereo_pair(1, glint.StereoPair(IMAGE, IMAGE, **fields))
        relocalized = localization_messages.localize_item(1, glint.LocalizePair(IMAGE, relocalize=True, **fields))
        for message in (
            matching_pb2.StereoStreamRequest.FromString(pair).pair,
            localization_pb2.LocalizeStreamRequest.FromString(relocalized).relocalize,
        ):
            self.assertEqual(message.mask, self.grey(self.WHITE // 5))
            self.assertEqual(message.right_mask, self.grey(self.WHITE))
        for name in ("mask", "right_mask"):
            bad = {name: "mask.png"}
            self.refused(name, lambda bad=bad: calls.stereo_stream([], **bad), "mask.png")
            self.refused(name, lambda bad=bad: calls.localize_stream([], rectified, **bad))
            stereo, localize = glint.StereoPair(IMAGE, **bad), glint.LocalizePair(IMAGE, **bad)
            self.refused(name, lambda pair=stereo: matching_messages.stereo_pair(0, pair))
            self.refused(name, lambda pair=localize: localization_messages.localize_item(0, pair))
        self.refused("region", lambda: calls.stereo_stream([], region=(1, 2, 3)), "(x, y, width, height)")
        self.refused("region", lambda: calls.localize_stream([], rectified, region=(-1, 0, 3, 3)))

    def test_of_tracks(self):
        options = track_options(masks=self.WHERE, region=(1, 2, 3, 4))
        self.assertEqual((list(options.masks), options.region), ([self.grey(self.WHITE)], self.REGION))
        both = [self.grey(self.WHITE), self.grey(self.WHITE // 5)]
        self.assertEqual(list(track_options(cameras=2, masks=(self.WHERE, self.WHITE // 5)).masks), both)
        for masks, want in ((None, []), (self.WHERE, both[:1]), ([self.WHERE, self.WHITE // 5], both)):
            data = tracking_messages.track_item(0, glint.TrackFrame(IMAGE, masks=masks))
            message = tracking_pb2.TrackStreamRequest.FromString(data)
            self.assertEqual((list(message.frame.masks), message.SerializeToString()), (want, data))
        for field, bad in (("masks[0]", "mask.png"), ("masks[1]", (self.WHERE, None)), ("masks[0]", np.zeros(3))):
            self.refused(field, lambda bad=bad: calls.track_stream([], cameras=2, masks=bad))
            self.refused(field, lambda bad=bad: tracking_messages.track_item(0, glint.TrackFrame(IMAGE, masks=bad)))
        self.refused("region", lambda: calls.track_stream([], region="all"))

    def test_shared_masks_are_held_as_long_as_their_images(self):
        class Memory:
            """As much of a slot as a message wants."""

            region, offset, nbytes = "memory", 0, 24

            def __init__(self):
                self.released = 0

            def release(self):
                self.released += 1

        rectified = glint.StereoCamera(6, 4, 5, baseline=0.1)
        slots = [Memory() for _ in range(3)]
        image, one, two = (glint.Shared(slot, 6, 4) for slot in slots)
        for stream, item, used in (
            (calls.stereo_stream([]), glint.StereoPair(image, mask=one, right_mask=two), 3),
            (calls.localize_stream([], rectified), glint.LocalizePair(image, mask=one, right_mask=two), 3),
            (calls.track_stream([]), glint.TrackFrame(image, masks=one), 2),
            (calls.track_stream([], cameras=2), glint.TrackFrame((image, IMAGE), masks=[one, two]), 3),
        ):
            before = [slot.released for slot in slots]
            stream.send(item, 0).release()
            self.assertEqual([s.released - b for s, b in zip(slots, before)], [1] * used + [0] * (3 - used))


class RaysTest(unittest.TestCase):
    RAYS = np.array([[0, 0, 1], [0.6, 0, 0.8], [0, 0, 0]], np.float32)

    def fill(self, message, count=3):
        for axis, values in zip("xyz", self.RAYS[:count].T.tolist()):
            getattr(message, f"ray_{axis}").extend(values)

    def check(self, found):
        self.assertEqual((found.dtype, found.shape), (np.float32, (3, 3)))
        np.testing.assert_array_equal(found, self.RAYS)

    def test_of_keypoints(self):
        message = answer(3)
        plain = wire.parse_result(message.SerializeToString())
        self.assertIsNone(plain.features.rays)
        self.fill(message.features)
        lens = camera()
        data = message.SerializeToString()
        for more in (b"", b"\xad\x06abcd"):  # an unknown field of four bytes is left to protobuf
            self.check(calls.stream([], camera=lens).parse(data + more, None).features.rays)
        one = pb.DetectResponse(features=message.features)
        self.check(calls.detect(IMAGE, camera=lens).parse(one.SerializeToString()).rays)
        none = calls.detect(IMAGE, camera=lens).parse(pb.DetectResponse(features={}).SerializeToString())
        self.assertEqual((len(none), none.rays.shape, none.rays.dtype), (0, (0, 3), np.float32))

    def test_of_matches(self):
        message = match_answer(3)
        message.result.train.CopyFrom(message.result.query)
        pair = glint.Pair(IMAGE, IMAGE)
        self.fill(message.result.train)
        found = calls.match_stream([], train_camera=camera()).parse(message.SerializeToString(), pair).matches
        self.assertIsNone(found.query_features.rays)
        self.check(found.train_features.rays)
        self.fill(message.result.query)
        one = matching_pb2.MatchResponse(result=message.result).SerializeToString()
        found = calls.match(IMAGE, IMAGE, query_camera=camera(), train_camera=camera()).parse(one)
        self.check(found.query_features.rays)

    def test_of_tracks(self):
        for kind in ("tracks", "edited"):
            message = tracking_pb2.TrackStreamResponse(frame_id=1)
            one = getattr(message, kind).cameras.add(id=[1, 2, 3], age=[0] * 3, state=[1] * 3)
            for name in ("x", "y", "last_x", "last_y", "residual", "gain", "offset"):
                getattr(one, name).extend([0.5] * 3)
            stream = calls.track_stream([], calibrations=camera())
            self.assertIsNone(calls.track_stream([]).parse(message.SerializeToString(), None).tracks.rays)
            self.fill(one)
            self.check(stream.parse(message.SerializeToString(), None).tracks.rays)

    def test_answers_that_lack_rays(self):
        """Of a server that does not know cameras, for instance."""
        message = answer(3)
        for count in (0, 2):
            message.features.ClearField("ray_x")
            self.fill(message.features, count)
            with self.assertRaisesRegex(glint.InternalError, "^features.rays: "):
                calls.stream([], camera=camera()).parse(message.SerializeToString(), None)
        tracks = tracking_pb2.TrackStreamResponse(tracks={"cameras": [{"id": [5]}]}).SerializeToString()
        with self.assertRaisesRegex(glint.InternalError, "^tracks.rays: "):
            calls.track_stream([], calibrations=camera()).parse(tracks, None)


if __name__ == "__main__":
    unittest.main()
