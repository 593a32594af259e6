"""cv2.BFMatcher's interface on a Glint server: the same matches of binary descriptors.

    matcher = glint.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)      # was: cv2.BFMatcher(cv2.NORM_HAMMING, ...)
    matches = matcher.match(descriptors1, descriptors2)

Indices, distances and their order are those of OpenCV 4.6. Needs OpenCV's Python module, for cv2.DMatch.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from glint.client import Client
from glint.errors import invalid
from glint.matching import Descriptors, Matches

if TYPE_CHECKING:
    import cv2

NORM_HAMMING = 6
_UNIT = 8  # bytes: the server's descriptors are a multiple of it


class BFMatcher:
    """All query descriptors against all train descriptors. Thread-safe.

    Not had here, InvalidArgument: norms other than NORM_HAMMING, masks, k above 8, matching without trainDescriptors
    (after add()). client: the connection to use; None: one to `address`, which is as in glint.Client.
    """

    def __init__(
        self,
        normType: int = NORM_HAMMING,
        crossCheck: bool = False,
        *,
        client: Optional[Client] = None,
        address: Optional[str] = None,
    ):
        if normType != NORM_HAMMING:
            raise invalid("normType", normType, "is not NORM_HAMMING (6), the distance of binary descriptors")
        self._cross_check = bool(crossCheck)
        self._client = client if client is not None else Client(address)

    def match(
        self, queryDescriptors: Optional[np.ndarray], trainDescriptors: np.ndarray, mask: None = None
    ) -> "tuple[cv2.DMatch, ...]":
        """The nearest train descriptor of each query; with crossCheck, of those that are each other's nearest."""
        return tuple(self._match(queryDescriptors, trainDescriptors, mask, 1).dmatches())

    def knnMatch(
        self,
        queryDescriptors: Optional[np.ndarray],
        trainDescriptors: np.ndarray,
        k: int,
        mask: None = None,
        compactResult: bool = False,
    ) -> "tuple[tuple[cv2.DMatch, ...], ...]":
        """The k nearest of each query, 1..8, best first. compactResult: without queries that have no match."""
        found = self._match(queryDescriptors, trainDescriptors, mask, k)
        matches = found.dmatches()
        bounds = np.searchsorted(found.query, np.arange(found.queries + 1)).tolist()
        lists = (tuple(matches[begin:end]) for begin, end in zip(bounds, bounds[1:]))
        return tuple(m for m in lists if m or not compactResult)

    def _match(self, query: Any, train: Any, mask: Any, k: int) -> Matches:
        if mask is not None:
            raise invalid("mask", mask, "is not had here: use windows or octaves of glint.Client.match()")
        train = _rows(train, "trainDescriptors")
        if query is None:  # what detectAndCompute() returns where there are no keypoints
            query = train[:0]
        query = _rows(query, "queryDescriptors")
        if query.shape[1] != train.shape[1]:
            why = f"bytes each, but queryDescriptors have {query.shape[1]}"
            raise invalid("trainDescriptors", train.shape[1], why)
        return self._client.match(_padded(query), _padded(train), k=k, cross_check=self._cross_check)

    def isMaskSupported(self) -> bool:
        return False


def BFMatcher_create(*args: Any, **kwargs: Any) -> BFMatcher:
    """As cv2.BFMatcher_create(), for programs that name the module once."""
    return BFMatcher(*args, **kwargs)


def _rows(descriptors: Any, name: str) -> np.ndarray:
    if not isinstance(descriptors, np.ndarray) or descriptors.dtype != np.uint8 or descriptors.ndim != 2:
        raise invalid(name, descriptors, "is not binary descriptors: uint8 of (n, bytes)")
    return descriptors


def _padded(rows: np.ndarray) -> Descriptors:
    """With bytes of 0 at the end of each row up to a whole unit; they change no distance."""
    return Descriptors(np.pad(rows, ((0, 0), (0, -rows.shape[1] % _UNIT))))
