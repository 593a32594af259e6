"""What is matched, and what a server finds: pairs, sets that a stream keeps, matches and stereo matches."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Optional, Sequence, Union

import numpy as np

from glint import drawing
from glint.camera import RectifiedCamera
from glint.errors import InvalidArgument, invalid
from glint.features import Answer, Features, Timings, Warning
from glint.image import ImageLike

if TYPE_CHECKING:
    import cv2


@dataclasses.dataclass(frozen=True, eq=False)
class Descriptors:
    """Descriptors, and what some options ask of their keypoints: arrays with an element for each descriptor, or None.

    rows     uint8 (n, bytes); bytes is a multiple of 8, 8..512
    x, y     pixels, for windows
    octave   whole numbers, for octave ranges
    angle    degrees in [0, 360), for max_angle_difference and rotation_histogram
    """

    rows: np.ndarray
    x: Optional[np.ndarray] = None
    y: Optional[np.ndarray] = None
    octave: Optional[np.ndarray] = None
    angle: Optional[np.ndarray] = None

    @classmethod
    def of(cls, features: Features, name: str = "features") -> "Descriptors":
        """Those of an image, with all arrays; without angles if the keypoints have none."""
        rows = features.descriptors
        if rows is None:
            if len(features):
                raise InvalidArgument(f'{name}: has no descriptors: detect with descriptor="rbrief"', field=name)
            rows = np.empty((0, 32), np.uint8)
        angle = features.angle if (features.angle >= 0).all() else None
        return cls(rows, features.x, features.y, features.octave, angle)


# One side of a match: an image whose features the server finds; features or descriptors; or the name of a set of the
# stream. A uint8 array of (n, bytes) with at most 64 columns is descriptors, a wider one is a grey image; Descriptors
# and Raw(array, "gray8") say which it is for others.
Side = Union[ImageLike, Features, Descriptors, np.ndarray, str]


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two sides to match, with what is their own. id: any number of 64 bits, returned as it is; None: its place.

    windows  (x, y, radius), arrays with an element for each query, or one radius for all: a query's partner has
             |dx| < radius and |dy| < radius from (x, y)
    octaves  (lowest, highest), arrays with an element for each query: the partner's octave, both ends included
    max_age  seconds, in place of the stream's
    """

    query: Side
    train: Side
    id: Optional[int] = None
    windows: Optional[Sequence] = None
    octaves: Optional[Sequence] = None
    max_age: Optional[float] = None


@dataclasses.dataclass(frozen=True, eq=False)
class UpdateSet:
    """Changes or begins a set that the stream keeps, for the pairs that come after it.

    add      Features, Descriptors or a uint8 array of (n, bytes), put at the end
    remove   indices, ascending, of descriptors that go first
    """

    set: str
    add: "Union[Features, Descriptors, np.ndarray, None]" = None
    remove: Sequence[int] = ()
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True, eq=False)
class ForgetSet:
    """A set that the stream keeps goes. Its answer is glint.NotFound if there is none."""

    set: str
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True, eq=False)
class StereoPair:
    """A pair. right: None if `left` has both images side by side. left_time_ns, right_time_ns: when they were
    captured, nanoseconds of any clock; 0: unknown. mask, right_mask: in place of the stream's, for this pair."""

    left: ImageLike
    right: Optional[ImageLike] = None
    id: Optional[int] = None
    max_age: Optional[float] = None
    left_time_ns: int = 0
    right_time_ns: int = 0
    mask: Optional[ImageLike] = None
    right_mask: Optional[ImageLike] = None


@dataclasses.dataclass(eq=False)
class Matches:
    """Matches of two sets, in the order of queries, the best of each first.

    query, train     int32, indices of the two descriptors
    distance         int32, bits that differ
    queries, trains  descriptors of the two sides
    query_features, train_features
                     what was found in a side that is an image, or the Features that were given; else None
    warnings         what makes the images doubtful
    """

    query: np.ndarray
    train: np.ndarray
    distance: np.ndarray
    queries: int
    trains: int
    query_features: Optional[Features] = None
    train_features: Optional[Features] = None
    timings: Timings = dataclasses.field(default_factory=Timings)
    warnings: "tuple[Warning, ...]" = ()

    def __len__(self) -> int:
        return len(self.query)

    def points(self) -> "tuple[np.ndarray, np.ndarray]":
        """float32 (n, 2) of query and train: where the keypoints of each match are; cv2.findHomography takes them."""
        if self.query_features is None or self.train_features is None:
            side = "query" if self.query_features is None else "train"
            raise InvalidArgument(f"{side}: was given without keypoints: match images or Features", field=side)
        return self.query_features.points[self.query], self.train_features.points[self.train]

    def dmatches(self) -> "list[cv2.DMatch]":
        """The same as cv2.DMatch objects, in the same order. Needs OpenCV's Python module."""
        make = drawing.cv2().DMatch
        columns = (self.query.tolist(), self.train.tolist(), self.distance.tolist())
        return [make(q, t, 0, d) for q, t, d in zip(*columns)]

    def draw(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Both images (query and train; grey or BGR, uint8) side by side in BGR, a line for each match. Lines of the
        same colour start in the same columns, so that a wrong match is seen."""
        query, train = self.points()
        one, two = drawing.in_bgr(left, "left"), drawing.in_bgr(right, "right")
        canvas = drawing.side_by_side(one, two)
        drawing.lines(canvas, query, train + np.float32([one.shape[1], 0]), query[:, 0])
        return canvas


@dataclasses.dataclass
class MatchResult(Answer):
    """The answer to one pair or edit of Client.match_stream(). set_size: after an edit, descriptors of the set."""

    found: Optional[Matches] = None
    set_size: int = 0

    @property
    def matches(self) -> Matches:
        """The matches; raises the pair's error if it has none."""
        self.check()
        if self.found is None:
            raise invalid("matches", self.frame_id, "is the edit of a set, which has set_size instead")
        return self.found


@dataclasses.dataclass(eq=False)
class StereoMatches:
    """Left keypoints with a partner in the right image; arrays of equal length, in the order of left keypoints.

    left             Features of the left image, those without a partner, too
    index            int32, of the left keypoint
    right_x          float32, where it is in the right image, pixels; its row is the left keypoint's
    disparity        float32, left x - right x
    depth            float32, in the unit of the baseline, 0 where the disparity is not above 0; None without
                     focal_length and baseline
    distance         int32, bits that differ
    right_keypoints  keypoints of the right image
    warnings         what makes the pair doubtful
    rectified        the camera that all of it is of, where the stream's images are raw; else None
    """

    left: Features
    index: np.ndarray
    right_x: np.ndarray
    disparity: np.ndarray
    depth: Optional[np.ndarray]
    distance: np.ndarray
    right_keypoints: int = 0
    warnings: "tuple[Warning, ...]" = ()
    rectified: Optional[RectifiedCamera] = None
    timings: Timings = dataclasses.field(default_factory=Timings)

    def __len__(self) -> int:
        return len(self.index)

    @property
    def points(self) -> np.ndarray:
        """float32 (n, 2): x and y of the matched keypoints in the left image."""
        return self.left.points[self.index]

    def draw(self, left: np.ndarray) -> np.ndarray:
        """A copy of the left image (grey or BGR, uint8) in BGR, a ring for each match: blue far away, red near."""
        canvas = drawing.in_bgr(left, "left")
        drawing.rings(canvas, self.points, self.disparity)
        return canvas


@dataclasses.dataclass
class StereoResult(Answer):
    """The answer to one pair of Client.stereo_stream()."""

    found: Optional[StereoMatches] = None

    @property
    def matches(self) -> StereoMatches:
        """The matches; raises the pair's error if it has none."""
        self.check()
        assert self.found is not None
        return self.found
