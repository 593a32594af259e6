"""Matching and stereo of glint.Client and glint.aio.Client against a real server."""
import asyncio
import gc
import inspect
import unittest

import numpy as np

import glint
from support import Server, columns, picture

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


def rows(count, seed, width=32):
    """Descriptors of few different bytes: many distances are equal."""
    return np.random.default_rng(seed).choice(np.array([0, 1, 255], np.uint8), (count, width))


def hamming(query, train):
    return np.unpackbits(query[:, None, :] ^ train[None, :, :], axis=2).sum(axis=2, dtype=np.int32)


def as_lists(matches):
    return list(zip(matches.query.tolist(), matches.train.tolist(), matches.distance.tolist()))


def nearest(distances, k=1):
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return [(q, t, int(distances[q, t])) for q in range(len(distances)) for t in order[q].tolist()]


def eyes(disparity=12):
    wide = picture(3, 320 + disparity)
    return wide[:, :320], wide[:, disparity:]


class MatchTest(unittest.TestCase):
    def test_nearest_of_all_pairs(self):
        query, train = rows(300, 1), rows(200, 2)
        distances = hamming(query, train)
        found = client.match(query, train)
        self.assertEqual(as_lists(found), nearest(distances))
        self.assertEqual((found.queries, found.trains), (300, 200))
        self.assertEqual(as_lists(client.match(query, train, k=3)), nearest(distances, 3))
        mutual = [(q, t, d) for q, t, d in nearest(distances) if distances[:, t].argmin() == q]
        self.assertEqual(as_lists(client.match(query, train, cross_check=True)), mutual)
        close = [m for m in nearest(distances) if m[2] <= 80]
        self.assertTrue(0 < len(close) < 300)
        self.assertEqual(as_lists(client.match(query, train, max_distance=80)), close)
        two = np.sort(distances, axis=1)[:, :2]
        telling = [m for m in nearest(distances) if np.float32(two[m[0], 0]) < np.float32(0.9) * two[m[0], 1]]
        self.assertTrue(0 < len(telling) < 300)
        self.assertEqual(as_lists(client.match(query, train, ratio=0.9)), telling)

    def test_images_features_and_arrays_agree(self):
        left, right = eyes()
        options = {"max_features": 400, "cross_check": True}
        of_images = client.match(left, right, **options)
        one, two = client.detect(left, max_features=400), client.detect(right, max_features=400)
        of_features = client.match(one, two, cross_check=True)
        self.assertGreater(len(of_images), 100)
        for other in (of_features, client.match(one.descriptors, two.descriptors, cross_check=True),
                      client.match(left, two, **options)):
            self.assertEqual(as_lists(other), as_lists(of_images))
        self.assertEqual(columns(of_images.query_features), columns(one))
        self.assertEqual(columns(of_images.train_features), columns(two))
        self.assertIs(of_features.train_features, two)
        moved = np.subtract(*of_features.points())
        self.assertGreater((np.abs(moved - [12, 0]).max(axis=1) < 2).mean(), 0.8)
        self.assertGreater(of_images.match_ns, 0)
        self.assertGreater(of_images.timings.total_ns, 0)
        with self.assertRaises(glint.InvalidArgument):
            client.match(one.descriptors, two.descriptors).points()

    def test_windows_octaves_and_angles(self):
        random = np.random.default_rng(5)
        query, train = rows(150, 6), rows(150, 7)
        x, y = random.integers(0, 300, (2, 150)).astype(np.float32)
        octave = random.integers(0, 8, 150)
        there = glint.Descriptors(train, x, y, octave)
        distances = hamming(query, train)
        allowed = (np.abs(x - x[:, None] - 5) < 60) & (np.abs(y - y[:, None]) < 60)
        found = client.match(query, there, windows=(x + 5, y, 60))
        want = [m for m in nearest(np.where(allowed, distances, 9999)) if m[2] < 9999]
        self.assertTrue(as_lists(found) == want and len(want) > 50)
        allowed = (octave >= octave[:, None] - 1) & (octave <= octave[:, None])
        found = client.match(query, there, octaves=(octave - 1, octave))
        want = [m for m in nearest(np.where(allowed, distances, 9999)) if m[2] < 9999]
        self.assertTrue(as_lists(found) == want and len(want) > 50)
        left, right = eyes()
        one, two = client.detect(left, max_features=400), client.detect(right, max_features=400)
        near = client.match(one, two, window_radius=20, max_octave_difference=0)
        a, b = near.points()
        self.assertLess(np.abs(a - b).max(), 20)
        self.assertTrue((one.octave[near.query] == two.octave[near.train]).all())
        alike = client.match(one, two, max_angle_difference=10)
        turn = np.abs(one.angle[alike.query] - two.angle[alike.train])
        self.assertLessEqual(np.minimum(turn, 360 - turn).max(), 10)
        usual = client.match(one, two, rotation_histogram=True)
        self.assertTrue(0 < len(usual) <= len(client.match(one, two)))

    def test_arrays_of_any_layout(self):
        query, train = rows(40, 8, 64), rows(50, 9, 64)
        want = as_lists(client.match(query[:, ::2], train[::2, :32]))
        copies = client.match(np.ascontiguousarray(query[:, ::2]), np.ascontiguousarray(train[::2, :32]))
        self.assertEqual(want, as_lists(copies))
        fortran = client.match(np.asfortranarray(query), np.asfortranarray(train))
        self.assertEqual(as_lists(fortran), as_lists(client.match(query, train)))

    def test_nothing_to_match(self):
        empty = np.empty((0, 32), np.uint8)
        self.assertEqual(len(client.match(empty, rows(3, 1))), 0)
        self.assertEqual(len(client.match(rows(3, 1), empty, cross_check=True)), 0)
        flat = np.full((200, 200), 9, np.uint8)
        found = client.match(flat, picture())
        self.assertEqual((len(found), found.queries, len(found.query_features)), (0, 0, 0))
        self.assertEqual(len(client.match(client.detect(flat), client.detect(picture()))), 0)

    def test_signatures_are_those_of_both_clients(self):
        for name in ("detect", "stream", "match", "match_stream", "stereo_stream"):
            one, other = getattr(glint.Client, name), getattr(glint.aio.Client, name)
            self.assertEqual(inspect.signature(one), inspect.signature(other))
            self.assertEqual(list(inspect.signature(one).parameters)[0], "self")
            self.assertIn("timeout", inspect.signature(getattr(client, name)).parameters)
            self.assertTrue(one.__doc__ and one.__doc__ == other.__doc__)


class MatchStreamTest(unittest.TestCase):
    def test_results_are_those_of_match_in_order(self):
        sets = [rows(50 + i, i) for i in range(9)]
        pairs = [(sets[i], sets[i + 1]) for i in range(7)] + [glint.Pair(sets[7], sets[8], id=1 << 63)]
        results = list(client.match_stream(pairs, window=3, k=2))
        self.assertEqual([r.frame_id for r in results], [*range(7), 1 << 63])
        for i, result in enumerate(results):
            self.assertEqual(as_lists(result.matches), as_lists(client.match(sets[i], sets[i + 1], k=2)))

    def test_sets_of_the_stream(self):
        left, right = eyes()
        seen, map_rows = client.detect(right, max_features=200), rows(100, 4)
        items = [
            glint.SetEdit("map", seen),
            (left, "map"),
            glint.SetEdit("map", remove=np.arange(len(seen) - 50)),
            glint.Pair("map", "map"),
            glint.SetEdit("other", map_rows),
            (map_rows[:7], "other"),
            glint.SetEdit("map", forget=True),
            (left, "map"),
            glint.SetEdit("other", np.zeros((4, 64), np.uint8)),
            (map_rows[:7], "other"),
        ]
        results = list(client.match_stream(items, max_features=200))
        self.assertEqual([r.ok for r in results], [True] * 7 + [False, False, True])
        self.assertEqual(results[0].set_size, len(seen))
        direct = client.match(left, seen, max_features=200)
        self.assertEqual(as_lists(results[1].matches), as_lists(direct))
        self.assertEqual(results[2].set_size, 50)
        self.assertEqual(results[3].matches.query.tolist(), list(range(50)))
        self.assertEqual(results[5].matches.distance.tolist(), [0] * 7)
        with self.assertRaisesRegex(glint.NotFound, "other"):
            results[7].matches
        self.assertIsInstance(results[8].error, glint.InvalidArgument)
        with self.assertRaisesRegex(glint.InvalidArgument, "set_size"):
            results[0].matches

    def test_a_bad_pair_fails_alone(self):
        good, narrow = rows(20, 1), rows(20, 2, 16)
        results = list(client.match_stream([(good, good), (good, narrow), (good, b"no file"), (good, good)]))
        self.assertEqual([r.ok for r in results], [True, False, False, True])
        with self.assertRaises(glint.InvalidArgument) as caught:
            results[1].matches
        self.assertRegex(str(caught.exception), "32.*16|16.*32")

    def test_windows_of_a_pair(self):
        good = rows(30, 1)
        x = np.arange(30, dtype=np.float32)
        pair = glint.Pair(good, glint.Descriptors(good, x, x), windows=(x + 1, x, np.full(30, 1.5)))
        (result,) = client.match_stream([pair])
        self.assertTrue(set(result.matches.train - result.matches.query) <= {0, 1})

    def test_pixels_in_shared_memory(self):
        left, right = eyes()
        want = as_lists(client.match(left, right))
        with client.share_memory(2, left.size) as memory:

            def pairs():
                for _ in range(4):
                    one, two = memory.acquire(20), memory.acquire(20)
                    one.array(left.shape)[:], two.array(left.shape)[:] = left, right
                    yield glint.Shared(one, 320, 240), glint.Shared(two, 320, 240)

            for result in client.match_stream(pairs()):
                self.assertEqual(as_lists(result.matches), want)

    def test_a_server_that_goes_away(self):
        mortal = Server()
        with glint.Client(mortal.address) as c:
            for stream in (
                c.match_stream(((rows(9, 1), rows(9, 2)) for _ in range(100000)), window=2),
                c.stereo_stream((eyes() for _ in range(100000)), window=2),
            ):
                self.assertTrue(next(stream).ok)
                mortal.kill()
                with self.assertRaises(glint.Unavailable) as caught:
                    for _ in stream:
                        pass
                self.assertIn("start it again", str(caught.exception))
                mortal.start()
        mortal.stop()


class StereoTest(unittest.TestCase):
    def test_known_disparity(self):
        left, right = eyes(12)
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
        left, right = eyes(12)
        late = glint.StereoPair(left, right, left_time_ns=10**9, right_time_ns=10**9 + 20000000)
        swapped, late = client.stereo_stream([(right, left), late], min_disparity=-40)
        self.assertEqual([w.kind for w in swapped.matches.warnings], ["swapped"])
        self.assertEqual([w.kind for w in late.matches.warnings], ["out_of_sync"])
        self.assertEqual(late.matches.warnings[0].figure, 20)
        (patient,) = client.stereo_stream(
            [glint.StereoPair(left, right, left_time_ns=1, right_time_ns=20000001)], max_time_difference_ns=10**8
        )
        self.assertEqual(patient.matches.warnings, ())

    def test_a_bad_pair_fails_alone_and_no_matches_have_depths(self):
        left, right = eyes()
        flat = np.zeros((240, 320), np.uint8)
        results = list(client.stereo_stream([(left, right[:-1]), (flat, flat)], focal_length=1, baseline=1))
        self.assertEqual(results[0].error.field, "right")
        self.assertEqual((len(results[1].matches), len(results[1].matches.depth)), (0, 0))


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
        self.check("k", lambda: client.match(good, good, k=9))
        self.check("ratio", lambda: client.match(good, good, ratio=1.5))
        self.check("cross_check", lambda: client.match(good, good, cross_check=True, k=2))
        for name, value in (("k", 2.5), ("ratio", "low"), ("ratio", [1, 2]), ("cross_check", "yes"), ("cros_check", 1),
                            ("band", 2)):
            self.check(name, lambda n=name, v=value: client.match(good, good, **{n: v}))
        with self.assertRaisesRegex(glint.InvalidArgument, "did you mean cross_check"):
            client.match(good, good, cros_check=True)
        with self.assertRaises(glint.InvalidArgument) as caught:
            list(client.match_stream([(good, good)], k=9))
        self.assertEqual((caught.exception.field, caught.exception.allowed), ("k", (1, 8)))
        self.check("focal_length", lambda: list(client.stereo_stream([eyes()], focal_length=-1, baseline=1)))
        self.check("levels", lambda: list(client.stereo_stream([eyes()], levels=99)))
        self.check("window", lambda: client.match_stream([], window=0))
        self.check("policy", lambda: client.stereo_stream([], policy="newest"))
        self.check("windows", lambda: client.match(good, good, windows=([1], [2])))
        self.check("windows", lambda: client.match(good, good, windows=([1, 2], [1, 2, 3], 4)))
        self.check("octaves", lambda: client.match(good, good, octaves=3))

    def test_items(self):
        good = rows(3, 1)
        for item in (good, (good,), (good, good, good), None):
            self.check("pairs", lambda item=item: list(client.match_stream([item])))
        self.check("pairs", lambda: list(client.stereo_stream([eyes() + eyes()])))
        self.check("left", lambda: list(client.stereo_stream([("l.png", "r.png")])))
        self.check("right", lambda: list(client.stereo_stream([(picture(), np.zeros((2, 2)))])))
        self.check("left_time_ns", lambda: list(client.stereo_stream([glint.StereoPair(picture(), left_time_ns=0.5)])))
        self.check("int", lambda: client.match_stream(5))
        self.check("frame_id", lambda: list(client.match_stream([glint.Pair(good, good, id=-1)])))
        self.check("set", lambda: list(client.match_stream([glint.SetEdit(None)])))
        self.check("add", lambda: list(client.match_stream([glint.SetEdit("a", [1, 2])])))
        for remove in ([-1], [0.5], [[1]]):
            self.check("remove", lambda r=remove: list(client.match_stream([glint.SetEdit("a", remove=r)])))
        with self.assertRaises(glint.GlintError):
            list(client.match_stream([glint.SetEdit("a", remove=[1])]))[0].check()

    def test_no_server(self):
        with glint.Client("127.0.0.1:1") as nobody:
            for call in (
                lambda: nobody.match(rows(1, 1), rows(1, 1)),
                lambda: list(nobody.match_stream([(rows(1, 1), rows(1, 1))])),
                lambda: list(nobody.stereo_stream([eyes()])),
            ):
                with self.assertRaises(glint.Unavailable) as caught:
                    call()
                self.assertIn("127.0.0.1:1", str(caught.exception))
                self.assertIn("glint-server", str(caught.exception))


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def test_all(self):
        left, right = eyes()
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


@unittest.skipIf(cv2 is None, "OpenCV's Python module is not installed")
class DrawTest(unittest.TestCase):
    def test_matches(self):
        left, right = eyes()
        found = client.match(left, right, cross_check=True)
        colored = np.stack([right[:200]] * 3, axis=2)
        drawn = found.draw(left, colored)
        self.assertEqual(drawn.shape, (240, 640, 3))
        changed = (drawn[:, :320] != left[:, :, None]).any(axis=2)
        x, y = np.round(found.points()[0]).astype(int).T
        self.assertGreater(changed[y, x].mean(), 0.9)
        self.assertLess(changed.mean(), 0.9)

    def test_stereo(self):
        left, right = eyes()
        (result,) = client.stereo_stream([(left, right)])
        drawn = result.matches.draw(left)
        self.assertEqual(drawn.shape, (240, 320, 3))
        changed = (drawn != left[:, :, None]).any(axis=2)
        self.assertTrue(0.01 < changed.mean() < 0.9)
        (nothing,) = client.stereo_stream([(left * 0, left * 0)])
        self.assertEqual(nothing.matches.draw(left).tolist(), np.stack([left] * 3, axis=2).tolist())

    def test_bad_pictures(self):
        left, right = eyes()
        found = client.match(left, right)
        for bad in (None, left.astype(np.float32), np.zeros((3, 3, 4), np.uint8), np.zeros((0, 3), np.uint8)):
            with self.assertRaisesRegex(glint.InvalidArgument, "right: draw"):
                found.draw(left, bad)
            with self.assertRaisesRegex(glint.InvalidArgument, "image: draw"):
                found.query_features.draw(bad)


if __name__ == "__main__":
    unittest.main()
