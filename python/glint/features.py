"""What a server answers: keypoints as numpy arrays, stage times, warnings, the fate of a frame."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Optional

import numpy as np

from glint import drawing
from glint.errors import GlintError

if TYPE_CHECKING:
    import cv2


@dataclasses.dataclass(frozen=True)
class Timings:
    """Where the time of one frame went on the server, in nanoseconds; proto/glint/v1/envelope.proto has each field."""

    receive_ns: int = 0
    queue_ns: int = 0
    decode_ns: int = 0
    upload_ns: int = 0
    detect_ns: int = 0
    match_ns: int = 0
    track_ns: int = 0
    locate_ns: int = 0
    adjust_ns: int = 0
    download_ns: int = 0
    serialize_ns: int = 0
    order_ns: int = 0
    total_ns: int = 0
    pyramid_ns: int = 0
    corners_ns: int = 0
    select_ns: int = 0
    orient_ns: int = 0
    describe_ns: int = 0
    lane: int = 0
    device: str = ""
    queue_depth: int = 0


@dataclasses.dataclass(frozen=True)
class Warning:
    """What makes a result doubtful; the result is given all the same. str() of it is the text.

    kind    "unrectified", "swapped", "out_of_sync" ...: WarningKind of proto/glint/v1/envelope.proto in lower case
    figure  what the kind says, in `unit`
    text    in words, with the figure
    """

    kind: str
    figure: float
    unit: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(eq=False)
class Features:
    """Keypoints of one image: element i of every array belongs to keypoint i, with the meaning of cv2.KeyPoint.

    Sorted by octave, then response descending, then y, then x.

    x, y          float32, pixels of the image that was sent
    size          float32, diameter of the patch in pixels of the image
    angle         float32, degrees in [0, 360), clockwise as y points down; -1 without orientation
    response      float32
    octave        int32, pyramid level
    descriptors   uint8 (n, bytes), or None if none were asked for
    truncated     more keypoints tied than the server returns
    warnings      what makes the image or its mask doubtful; of a pair in its result instead
    rays          float32 (n, 3), with glint.Camera: what each keypoint sees, a unit vector in camera coordinates (x to
                  the right, y down, z ahead), the lens undone; (0, 0, 0) where the lens has no ray. Else None
    """

    x: np.ndarray
    y: np.ndarray
    size: np.ndarray
    angle: np.ndarray
    response: np.ndarray
    octave: np.ndarray
    descriptors: Optional[np.ndarray] = None
    truncated: bool = False
    timings: Timings = dataclasses.field(default_factory=Timings)
    warnings: "tuple[Warning, ...]" = ()
    rays: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def points(self) -> np.ndarray:
        """float32 (n, 2): x and y."""
        return np.stack((self.x, self.y), axis=1)

    def keypoints(self) -> "list[cv2.KeyPoint]":
        """The same as cv2.KeyPoint objects, in the same order. Needs OpenCV's Python module."""
        make = drawing.cv2().KeyPoint
        columns = (self.x, self.y, self.size, self.angle, self.response, self.octave)
        return [make(x, y, s, a, r, o) for x, y, s, a, r, o in zip(*(c.tolist() for c in columns))]

    def draw(self, image: np.ndarray, color: tuple[int, int, int] = (0, 255, 0)) -> np.ndarray:
        """A copy of `image` (grey or BGR, uint8) in BGR, with size and direction of each keypoint as a circle and a line."""
        canvas = drawing.in_bgr(image, "image")
        flags = drawing.cv2().DRAW_MATCHES_FLAGS_DRAW_RICH_KEYPOINTS
        return drawing.cv2().drawKeypoints(canvas, self.keypoints(), None, color=color, flags=flags)


@dataclasses.dataclass
class Answer:
    """What the answers of all streams have.

    frame_id     as it was sent
    error        why this frame, and only this one, has no result; None if it has
    drop_reason  "superseded", "expired" or "rejected" of a good frame that the stream's policy dropped; else None
    """

    frame_id: int
    error: Optional[GlintError] = None
    drop_reason: Optional[str] = None
    timings: Timings = dataclasses.field(default_factory=Timings)

    @property
    def ok(self) -> bool:
        return self.error is None

    def check(self) -> None:
        """Raises the error, if there is one."""
        if self.error is not None:
            raise self.error


@dataclasses.dataclass
class Result(Answer):
    """The answer to one frame of Client.stream()."""

    found: Optional[Features] = None

    @property
    def features(self) -> Features:
        """The features; raises the frame's error if it has none."""
        self.check()
        assert self.found is not None
        return self.found
