"""glint.BFMatcher beside cv2.BFMatcher: the same lists of cv2.DMatch, alone and in the steps of OpenCV's tutorial."""
import types
import unittest

import numpy as np

import glint
from support import Server, picture, rows

try:
    import cv2
except ImportError:
    cv2 = None


def setUpModule():
    global server, client, glint_orb_and_matcher
    if cv2 is None:
        raise unittest.SkipTest("python3-opencv is not installed")
    server = Server()
    client = glint.Client(server.address)
    glint_orb_and_matcher = types.SimpleNamespace(
        ORB_create=lambda *a, **k: glint.ORB(*a, client=client, **k),
        BFMatcher=lambda *a, **k: glint.BFMatcher(*a, client=client, **k),
    )


def tearDownModule():
    client.close()
    server.stop()


def plain(matches):
    """What there is to compare in cv2.DMatch, in tuples as they are nested."""
    if isinstance(matches, tuple):
        return tuple(plain(m) for m in matches)
    return (matches.queryIdx, matches.trainIdx, matches.imgIdx, matches.distance)


class EqualToOpenCvTest(unittest.TestCase):
    def check(self, query, train, k=2, cross_check=False, **more):
        mine = glint.BFMatcher(cv2.NORM_HAMMING, crossCheck=cross_check, client=client)
        theirs = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=cross_check)
        self.assertEqual(plain(mine.match(query, train)), plain(theirs.match(query, train)))
        want = plain(theirs.knnMatch(query, train, k=k, **more))
        self.assertEqual(plain(mine.knnMatch(query, train, k=k, **more)), want)

    def test_lists(self):
        for width in (16, 32, 61, 64):
            query, train = rows(150, 1, width), rows(130, 2, width)
            self.check(query, train)
            self.check(query, train, k=8)
            self.check(query, train, k=1, cross_check=True)
            self.check(query, train, k=1, cross_check=True, compactResult=True)
        self.check(rows(5, 1), rows(3, 2), k=4)
        self.check(rows(40, 3)[::2], np.asfortranarray(rows(30, 4)))

    def test_nothing_to_match(self):
        empty = np.empty((0, 32), np.uint8)
        self.check(empty, rows(3, 1))
        self.check(rows(3, 1), empty)
        self.check(rows(3, 1), empty, compactResult=True)
        self.check(None, rows(3, 1))

    def test_types(self):
        matcher = glint.BFMatcher(client=client)
        found = matcher.match(rows(9, 1), rows(9, 2))
        self.assertIsInstance(found, tuple)
        self.assertIsInstance(found[0], cv2.DMatch)
        self.assertIsInstance(matcher.knnMatch(rows(9, 1), rows(9, 2), 2)[0], tuple)
        self.assertFalse(matcher.isMaskSupported())

    def test_what_is_not_had(self):
        for norm in (cv2.NORM_L2, cv2.NORM_HAMMING2):
            with self.assertRaises(glint.InvalidArgument) as caught:
                glint.BFMatcher_create(norm, client=client)
            self.assertEqual(caught.exception.field, "normType")
        matcher, mutual = glint.BFMatcher(client=client), glint.BFMatcher(crossCheck=True, client=client)
        good = rows(3, 1)
        for field, call in (
            ("mask", lambda: matcher.match(good, good, np.ones((3, 3), np.uint8))),
            ("match.k", lambda: matcher.knnMatch(good, good, 9)),
            ("match.k", lambda: matcher.knnMatch(good, good, 0)),
            ("match.cross_check", lambda: mutual.knnMatch(good, good, 2)),
            ("trainDescriptors", lambda: matcher.match(good, None)),
            ("trainDescriptors", lambda: matcher.match(good, rows(3, 1, 16))),
            ("trainDescriptors", lambda: matcher.match(good, good.astype(np.float32))),
            ("queryDescriptors", lambda: matcher.match(good[0], good)),
        ):
            with self.assertRaises(glint.InvalidArgument) as caught:
                call()
            self.assertEqual(caught.exception.field, field, caught.exception)


class TutorialTest(unittest.TestCase):
    """The steps of OpenCV's tutorial on feature matching, by modules that differ in two names."""

    def setUp(self):
        if not cv2.__version__.startswith("4.6."):
            self.skipTest(f"preset orb is OpenCV 4.6's, here is {cv2.__version__}")
        self.object = picture(4)
        turn = cv2.getRotationMatrix2D((160, 120), 25, 0.9)
        self.scene = cv2.warpAffine(self.object, turn, (320, 240), borderValue=90)

    @staticmethod
    def seen(matches, one, two):
        """By position, since the order of keypoints is not OpenCV's."""
        return {(one[m.queryIdx].pt, two[m.trainIdx].pt, m.distance) for m in matches}

    def cross_checked(self, module):
        orb = module.ORB_create()
        kp1, des1 = orb.detectAndCompute(self.object, None)
        kp2, des2 = orb.detectAndCompute(self.scene, None)
        matcher = module.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
        matches = sorted(matcher.match(des1, des2), key=lambda m: m.distance)
        drawn = cv2.drawMatches(self.object, kp1, self.scene, kp2, matches[:10], None, flags=2)
        self.assertEqual(drawn.shape, (240, 640, 3))
        distances = np.unpackbits(des1[:, None] ^ des2[None], axis=2).sum(axis=2)
        rows, columns = distances.min(axis=1)[:, None], distances.min(axis=0)[None]
        alone = ((distances == rows).sum(axis=1) == 1)[:, None] & ((distances == columns).sum(axis=0) == 1)[None]
        unique = [m for m in matches if alone[m.queryIdx, m.trainIdx]]
        return self.seen(matches, kp1, kp2), self.seen(unique, kp1, kp2)

    def by_ratio(self, module):
        orb = module.ORB_create(nfeatures=800)
        kp1, des1 = orb.detectAndCompute(self.object, None)
        kp2, des2 = orb.detectAndCompute(self.scene, None)
        good = [m for m, n in module.BFMatcher(cv2.NORM_HAMMING).knnMatch(des1, des2, k=2)
                if m.distance < 0.75 * n.distance]
        source = np.float32([kp1[m.queryIdx].pt for m in good])
        target = np.float32([kp2[m.trainIdx].pt for m in good])
        homography, inliers = cv2.findHomography(source, target, cv2.RANSAC, 5.0)
        return self.seen(good, kp1, kp2), homography, int(inliers.sum())

    def test_cross_checked(self):
        """Where two are equally near, the first counts: the order of keypoints, which differs, then decides."""
        (mine, unique), (theirs, others) = self.cross_checked(glint_orb_and_matcher), self.cross_checked(cv2)
        self.assertGreater(len(unique), 50)
        self.assertEqual(unique, others)
        self.assertLess(len(mine ^ theirs), 0.02 * len(theirs))

    def test_by_ratio(self):
        mine, homography, inliers = self.by_ratio(glint_orb_and_matcher)
        theirs, other, other_inliers = self.by_ratio(cv2)
        self.assertGreater(len(theirs), 50)
        self.assertEqual(mine, theirs)
        corners = np.float32([[[0, 0]], [[319, 0]], [[319, 239]], [[0, 239]]])
        moved = [cv2.perspectiveTransform(corners, h) for h in (homography, other)]
        self.assertLess(np.abs(moved[0] - moved[1]).max(), 3)
        self.assertGreater(min(inliers, other_inliers), 0.7 * len(mine))


if __name__ == "__main__":
    unittest.main()
