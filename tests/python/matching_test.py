"""Matching by glint.Client against a real server."""
import inspect
import unittest

import numpy as np

import glint
from support import Server, as_lists, columns, picture, pinhole_rays, rows, stereo_pair


def setUpModule():
    global server, client
    server = Server()
    client = glint.Client(server.address)


def tearDownModule():
    client.close()
    server.stop()


def hamming(query, train):
    return np.unpackbits(query[:, None, :] ^ train[None, :, :], axis=2).sum(axis=2, dtype=np.int32)


def nearest(distances, k=1):
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return [(q, t, int(distances[q, t])) for q in range(len(distances)) for t in order[q].tolist()]


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

    def test_rays_of_sides_that_are_images(self):
        left, right = stereo_pair()
        one, two = np.diag([300, 290, 1]), np.diag([250, 310, 1])
        cameras = {"query_camera": glint.Camera((320, 240), one), "train_camera": glint.Camera((320, 240), two)}
        plain, found = client.match(left, right), client.match(left, right, **cameras)
        self.assertEqual(as_lists(found), as_lists(plain))
        self.assertIsNone(plain.query_features.rays)
        for features, matrix in ((found.query_features, one), (found.train_features, two)):
            np.testing.assert_allclose(features.rays, pinhole_rays(features.points, matrix), atol=1e-7)
        pairs = [(left, right), (client.detect(left), right), (left[:200], right)]
        both, half, small = client.match_stream(pairs, **cameras)
        self.assertEqual(both.matches.train_features.rays.tobytes(), found.train_features.rays.tobytes())
        self.assertIsNone(half.matches.query_features.rays)
        self.assertEqual(half.matches.train_features.rays.tobytes(), found.train_features.rays.tobytes())
        self.assertIsInstance(small.error, glint.InvalidArgument)

    def test_images_features_and_arrays_agree(self):
        left, right = stereo_pair()
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
        self.assertGreater(of_images.timings.match_ns, 0)
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
        left, right = stereo_pair()
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
        left, right = stereo_pair()
        seen, map_rows = client.detect(right, max_features=200), rows(100, 4)
        items = [
            glint.UpdateSet("map", seen),
            (left, "map"),
            glint.UpdateSet("map", remove=np.arange(len(seen) - 50)),
            glint.Pair("map", "map"),
            glint.UpdateSet("other", map_rows),
            (map_rows[:7], "other"),
            glint.ForgetSet("map"),
            (left, "map"),
            glint.UpdateSet("other", np.zeros((4, 64), np.uint8)),
            (map_rows[:7], "other"),
            glint.ForgetSet("map"),
        ]
        results = list(client.match_stream(items, max_features=200))
        self.assertEqual([r.ok for r in results], [True] * 7 + [False, False, True, False])
        self.assertEqual(results[0].set_size, len(seen))
        direct = client.match(left, seen, max_features=200)
        self.assertEqual(as_lists(results[1].matches), as_lists(direct))
        self.assertEqual(results[2].set_size, 50)
        self.assertEqual(results[3].matches.query.tolist(), list(range(50)))
        self.assertEqual(results[5].matches.distance.tolist(), [0] * 7)
        self.assertEqual(results[6].set_size, 0)
        with self.assertRaisesRegex(glint.NotFound, "other"):
            results[7].matches
        self.assertIsInstance(results[8].error, glint.InvalidArgument)
        self.assertIsInstance(results[10].error, glint.NotFound)
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
        left, right = stereo_pair()
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
                c.stereo_stream((stereo_pair() for _ in range(100000)), window=2),
            ):
                self.assertTrue(next(stream).ok)
                mortal.kill()
                with self.assertRaises(glint.Unavailable) as caught:
                    for _ in stream:
                        pass
                self.assertIn("start it again", str(caught.exception))
                mortal.start()
        mortal.stop()


if __name__ == "__main__":
    unittest.main()
