"""Bad input of matching and stereo: one line that names the field, against a real server."""
import unittest

import numpy as np

import glint
from support import Server, picture, rows, stereo_pair


def setUpModule():
    global server, client
    server = Server()
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()


class BadInputTest(unittest.TestCase):
    def check(self, field, call, kind=glint.InvalidArgument):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(caught.exception.field, field, caught.exception)
        self.assertNotIn("\n", str(caught.exception))

    def test_sides(self):
        good = rows(3, 1)
        bad = [None, 7, [1, 2], "photo.png", np.zeros((3, 32), np.float32), np.zeros(32, np.uint8), b"",
               np.zeros((3, 32), np.int64), glint.Descriptors(np.zeros((3, 32), np.float32)), glint.Descriptors(None),
               glint.Descriptors(np.zeros(32, np.uint8))]
        for side in bad:
            self.check("query", lambda side=side: client.match(side, good))
            self.check("train", lambda side=side: client.match(good, side))
        plain = client.detect(picture(), descriptor="none")
        self.check("query", lambda: client.match(plain, good))
        for column in ("x", "octave", "angle"):
            for values in (np.zeros((3, 2)), np.array(["a", "b", "c"]), 5):
                side = glint.Descriptors(good, **{column: values})
                self.check(f"train.{column}", lambda side=side: client.match(good, side))
        self.check("train.octave", lambda: client.match(good, glint.Descriptors(good, octave=[0.5, 1, 2])))

    def test_what_the_server_refuses(self):
        good = rows(3, 1)
        for call in (
            lambda: client.match(good, rows(3, 1, 16)),
            lambda: client.match(rows(3, 1, 12), rows(3, 1, 12)),
            lambda: client.match(good, glint.Descriptors(good, x=[1, 2], y=[1, 2])),
            lambda: client.match(good, good, windows=([1, 2, 3], [1, 2, 3], 5)),
            lambda: client.match(good, good, max_angle_difference=5),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                call()
            self.assertIsNotNone(caught.exception.field, caught.exception)

    def test_options(self):
        good = rows(3, 1)
        self.check("match.k", lambda: client.match(good, good, k=9))
        self.check("match.ratio", lambda: client.match(good, good, ratio=1.5))
        self.check("match.cross_check", lambda: client.match(good, good, cross_check=True, k=2))
        for name, value in (("k", 2.5), ("ratio", "low"), ("ratio", [1, 2]), ("cross_check", "yes"), ("cros_check", 1),
                            ("band", 2)):
            self.check(name, lambda n=name, v=value: client.match(good, good, **{n: v}))
        with self.assertRaisesRegex(glint.InvalidArgument, "did you mean cross_check"):
            client.match(good, good, cros_check=True)
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.match_stream([(good, good)], k=9))
        self.assertEqual((caught.exception.field, caught.exception.allowed), ("match.k", (1, 8)))
        depths = {"focal_length": -1, "baseline": 1}
        self.check("stereo.focal_length", lambda: list(client.stereo_stream([stereo_pair()], **depths)))
        self.check("detector.levels", lambda: list(client.stereo_stream([stereo_pair()], levels=99)))
        self.check("window", lambda: client.match_stream([], window=0))
        self.check("policy", lambda: client.stereo_stream([], policy="newest"))
        self.check("windows", lambda: client.match(good, good, windows=([1], [2])))
        self.check("windows", lambda: client.match(good, good, windows=([1, 2], [1, 2, 3], 4)))
        self.check("octaves", lambda: client.match(good, good, octaves=3))

    def test_items(self):
        good = rows(3, 1)
        for item in (good, (good,), (good, good, good), None):
            self.check("pairs", lambda item=item: list(client.match_stream([item])))
        self.check("pairs", lambda: list(client.stereo_stream([stereo_pair() + stereo_pair()])))
        self.check("left", lambda: list(client.stereo_stream([("l.png", "r.png")])))
        self.check("right", lambda: list(client.stereo_stream([(picture(), np.zeros((2, 2)))])))
        self.check("left_time_ns", lambda: list(client.stereo_stream([glint.StereoPair(picture(), left_time_ns=0.5)])))
        self.check("int", lambda: client.match_stream(5))
        self.check("frame_id", lambda: list(client.match_stream([glint.Pair(good, good, id=-1)])))
        for edit in (glint.UpdateSet(None), glint.ForgetSet(None)):
            self.check("set", lambda edit=edit: list(client.match_stream([edit])))
        self.check("add", lambda: list(client.match_stream([glint.UpdateSet("a", [1, 2])])))
        for remove in ([-1], [0.5], [[1]]):
            self.check("remove", lambda r=remove: list(client.match_stream([glint.UpdateSet("a", remove=r)])))
        with self.assertRaises(glint.GlintError):
            list(client.match_stream([glint.UpdateSet("a", remove=[1])]))[0].check()

    def test_no_server(self):
        with glint.Client("127.0.0.1:1") as nobody:
            for call in (
                lambda: nobody.match(rows(1, 1), rows(1, 1)),
                lambda: list(nobody.match_stream([(rows(1, 1), rows(1, 1))])),
                lambda: list(nobody.stereo_stream([stereo_pair()])),
            ):
                with self.assertRaises(glint.Unavailable) as caught:
                    call()
                self.assertIn("127.0.0.1:1", str(caught.exception))
                self.assertIn("glint-server", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
