"""cv2.ORB_create()'s interface on a Glint server: the same keypoints and descriptors.

    orb = glint.ORB(nfeatures=2000)                       # was: cv2.ORB_create(nfeatures=2000)
    keypoints, descriptors = orb.detectAndCompute(image, None)

The set of keypoints is that of OpenCV 4.6; their order is Glint's: octave, then response descending, then y, then x.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

import numpy as np

from glint.client import Client
from glint.errors import invalid, not_one_of
from glint.features import Features

if TYPE_CHECKING:
    import cv2

HARRIS_SCORE = 0
FAST_SCORE = 1


class ORB:
    """Oriented FAST and rotated BRIEF, with the arguments of cv2.ORB_create(). Thread-safe.

    Not had here, InvalidArgument: firstLevel other than 0, WTA_K other than 2.
    client: the connection to use; None: one to `address`, which is as in glint.Client.
    """

    HARRIS_SCORE = HARRIS_SCORE
    FAST_SCORE = FAST_SCORE

    def __init__(
        self,
        nfeatures: int = 500,
        scaleFactor: float = 1.2,
        nlevels: int = 8,
        edgeThreshold: int = 31,
        firstLevel: int = 0,
        WTA_K: int = 2,
        scoreType: int = HARRIS_SCORE,
        patchSize: int = 31,
        fastThreshold: int = 20,
        *,
        client: Optional[Client] = None,
        address: Optional[str] = None,
    ):
        if firstLevel != 0:
            raise invalid("firstLevel", firstLevel, "is not in 0..0: levels above the image are not made", (0.0, 0.0))
        if WTA_K != 2:
            raise invalid("WTA_K", WTA_K, "is not in 2..2: descriptors compare two pixels a bit", (2.0, 2.0))
        if scoreType not in (HARRIS_SCORE, FAST_SCORE):
            raise not_one_of("scoreType", scoreType, ("HARRIS_SCORE (0)", "FAST_SCORE (1)"))
        self._options = {
            "max_features": nfeatures,
            "scale_factor": scaleFactor,
            "levels": nlevels,
            "edge_threshold": edgeThreshold,
            "ranking": "harris" if scoreType == HARRIS_SCORE else "score",
            "patch_size": patchSize,
            "fast_threshold": fastThreshold,
        }
        self._client = client if client is not None else Client(address)

    def features(self, image: np.ndarray, mask: Optional[np.ndarray] = None, descriptors: bool = True) -> Features:
        """Keypoints and descriptors as numpy arrays, without cv2.KeyPoint objects."""
        if image is None:
            raise invalid("image", image, "is not an image: was the file read?")
        kind = "rbrief" if descriptors else "none"
        return self._client.detect(image, "orb", mask=mask, descriptor=kind, **self._options)

    def detect(self, image: np.ndarray, mask: Optional[np.ndarray] = None) -> "tuple[cv2.KeyPoint, ...]":
        """Keypoints."""
        return tuple(self.features(image, mask, descriptors=False).keypoints())

    def detectAndCompute(
        self,
        image: np.ndarray,
        mask: Optional[np.ndarray],
        descriptors: Any = None,
        useProvidedKeypoints: bool = False,
    ) -> "tuple[tuple[cv2.KeyPoint, ...], Optional[np.ndarray]]":
        """Keypoints, and a uint8 array (keypoints, 32) of their descriptors, None if there are no keypoints."""
        if useProvidedKeypoints:
            raise invalid("useProvidedKeypoints", True, "is not had here: use compute()")
        found = self.features(image, mask)
        return tuple(found.keypoints()), found.descriptors if len(found) else None

    def compute(
        self, image: np.ndarray, keypoints: "Sequence[cv2.KeyPoint]"
    ) -> "tuple[tuple[cv2.KeyPoint, ...], Optional[np.ndarray]]":
        """Descriptors of keypoints that detect() or detectAndCompute() of this object finds in this image.

        They are found again, without a mask, so it takes as long as detectAndCompute(). InvalidArgument for other
        keypoints: the server describes those that it finds.
        """
        found = self.features(image)
        columns = (found.x, found.y, found.octave)
        rows = {key: i for i, key in enumerate(zip(*(c.tolist() for c in columns)))}
        indices = []
        for number, point in enumerate(keypoints):
            row = rows.get((point.pt[0], point.pt[1], point.octave))
            if row is None:
                why = "is not a keypoint that these options find in this image; only those can be described"
                raise invalid(f"keypoints[{number}]", point.pt, f"of octave {point.octave} {why}")
            indices.append(row)
        assert found.descriptors is not None or not indices
        descriptors = found.descriptors[indices] if indices and found.descriptors is not None else None
        return tuple(keypoints), descriptors

    def getDefaultName(self) -> str:
        return "Feature2D.ORB"

    def descriptorSize(self) -> int:
        return 32

    def descriptorType(self) -> int:
        return 0  # cv2.CV_8U

    def defaultNorm(self) -> int:
        return 6  # cv2.NORM_HAMMING


def ORB_create(*args: Any, **kwargs: Any) -> ORB:
    """As cv2.ORB_create(), for programs that name the module once."""
    return ORB(*args, **kwargs)
