"""What a stream of tracking takes, and what a server answers: frames, edits, tracks as numpy arrays, trails."""
from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Deque, Optional, Sequence, Union

import numpy as np

from glint import drawing
from glint.errors import InvalidArgument, invalid
from glint.features import Answer, Warning
from glint.image import ImageLike, Images

_OLDEST = 60  # frames; the colours of ages end there


class TrackState(enum.IntEnum):
    """Whether a track lives (TRACKED), or why it ended; proto/glint/v1/tracking.proto has each state."""

    TRACKED = 1
    FLAT = 2
    OUT_OF_IMAGE = 3
    MOVED_TOO_FAR = 4
    NOT_CONVERGED = 5
    HIGH_RESIDUAL = 6
    BACKWARD_ERROR = 7
    IMAGE_RESIZED = 8
    LAST_FRAME_LOST = 9
    RESET = 10
    FORGOTTEN = 11
    MASKED = 12


@dataclasses.dataclass(frozen=True, eq=False)
class TrackPrediction:
    """Where the points of one camera are expected in a frame, from a gyroscope for instance.

    homography  (3, 3) of finite numbers, from pixels of the last good frame to those of this one; K R K^-1 for a camera
                that turned by R. None: points without one of `ids` are expected as without a prediction
    ids         of single tracks, each once; those that no live track has are left out
    points      (n, 2) pixels within +-32768, where these are expected, in place of the homography's
    """

    homography: Optional[np.ndarray] = None
    ids: Sequence[int] = ()
    points: Union[np.ndarray, Sequence[Sequence[float]]] = ()
    camera: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class TrackFrame:
    """Images of one moment with what is their own. id: any number of 64 bits, returned as it is; None: its place.

    images   one image, or a list or tuple with one of each camera, in the order of the cameras
    time_ns  when they were captured, nanoseconds of any clock, above that of the frame before; 0: unknown
    detect   look for new points in cells without a track
    max_age  seconds, in place of the stream's
    predictions  of each camera at most one, in place of what `predict` of the stream says
    masks    in place of the stream's, for this frame: one, or a list or tuple with one of each camera
    """

    images: Union[ImageLike, Sequence[ImageLike]]
    time_ns: int = 0
    detect: bool = False
    id: Optional[int] = None
    max_age: Optional[float] = None
    predictions: Sequence[TrackPrediction] = ()
    masks: Images = None


@dataclasses.dataclass(frozen=True, eq=False)
class AddPoints:
    """Tracks begin at `points`, (n, 2) pixels of the camera's last frame. The answer has their ids, in this order."""

    points: np.ndarray
    camera: int = 0
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True, eq=False)
class ForgetTracks:
    """The tracks of these ids end."""

    ids: Sequence[int]
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True, eq=False)
class ResetTracks:
    """All tracks end, of one camera or (None) of all."""

    camera: Optional[int] = None
    id: Optional[int] = None


TrackItem = Union[TrackFrame, AddPoints, ForgetTracks, ResetTracks]


@dataclasses.dataclass(eq=False)
class Tracks:
    """Tracks of one camera, ascending by id; arrays with an element for each. One that ended is here for the last time.

    ids             uint64, from 1 on; no other track of the stream, of any camera, has the same one
    age             int32, frames in which it was found again; 0: it begins with this one
    x, y            float32, pixels; of a track that ended: the last position that no rule refused
    last_x, last_y  float32, in the frame before
    state           int32, of glint.TrackState
    residual        float32, root mean square of image - gain * template - offset, grey levels
    gain, offset    float32, of the patch's brightness; 1 and 0 unless they are estimated
    template_age    int32, with track_template="first_frame", else empty: how many good frames before this one the
                    template is; 0: it is this one from now on
    camera          counted from 0
    detected        new points were looked for
    rays            float32 (n, 3), with calibrations: what (x, y) sees, as of glint.Features; else None
    """

    ids: np.ndarray
    age: np.ndarray
    x: np.ndarray
    y: np.ndarray
    last_x: np.ndarray
    last_y: np.ndarray
    state: np.ndarray
    residual: np.ndarray
    gain: np.ndarray
    offset: np.ndarray
    template_age: np.ndarray
    camera: int = 0
    detected: bool = False
    rays: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def live(self) -> np.ndarray:
        """bool (n,): tracks that did not end."""
        return self.state == TrackState.TRACKED

    @property
    def points(self) -> np.ndarray:
        """float32 (n, 2): x and y."""
        return np.stack((self.x, self.y), axis=1)

    @property
    def last_points(self) -> np.ndarray:
        """float32 (n, 2): last_x and last_y."""
        return np.stack((self.last_x, self.last_y), axis=1)

    def draw(self, image: np.ndarray) -> np.ndarray:
        """A copy of `image` (grey or BGR, uint8) in BGR, a ring for each live track and a line from where it was, blue
        (new) to red (60 frames and more). glint.Trails draws longer lines."""
        canvas = drawing.in_bgr(image, "image")
        live = self.live
        moved = live & (self.age > 0)
        drawing.lines(canvas, self.last_points[moved], self.points[moved], self.age[moved], (0, _OLDEST))
        drawing.rings(canvas, self.points[live], self.age[live], scale=(0, _OLDEST))
        return canvas


class Trails:
    """Where the live tracks of one camera have been, for pictures. For one thread at a time.

    trails = glint.Trails()
    for frame, result in zip(frames, client.track_stream(frames)):
        trails.add(result.tracks)
        cv2.imshow("tracks", trails.draw(frame))
    """

    def __init__(self, length: int = 32):
        """length: moves of each track that are drawn, 1 and more."""
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise invalid("length", length, "is not a whole number from 1 on")
        self._moves: Deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = collections.deque(maxlen=length)
        self._camera: Optional[int] = None
        self._ids = np.empty(0, np.uint64)
        self._ages = np.empty(0, np.int32)
        self._points = np.empty((0, 2), np.float32)

    def __len__(self) -> int:
        """Live tracks."""
        return len(self._ids)

    def add(self, tracks: Tracks) -> None:
        """After each answer, also those to edits. InvalidArgument for the tracks of another camera."""
        if self._camera not in (None, tracks.camera):
            raise InvalidArgument(
                f"tracks: of camera {tracks.camera}, these trails are of camera {self._camera}", field="tracks"
            )
        self._camera = tracks.camera
        live = tracks.live
        moved = live & (tracks.age > 0)
        if len(tracks):
            self._moves.append((tracks.ids[moved], tracks.last_points[moved], tracks.points[moved]))
        kept = ~np.isin(self._ids, tracks.ids)
        ids = np.concatenate((self._ids[kept], tracks.ids[live]))
        order = np.argsort(ids)
        self._ids = ids[order]
        self._ages = np.concatenate((self._ages[kept], tracks.age[live]))[order]
        self._points = np.concatenate((self._points[kept], tracks.points[live]))[order]

    def draw(self, image: np.ndarray) -> np.ndarray:
        """A copy of `image` (grey or BGR, uint8) in BGR with the moves of each live track, coloured by its age: blue
        (new) to red (60 frames and more)."""
        canvas = drawing.in_bgr(image, "image")
        if self._moves:
            ids, starts, ends = (np.concatenate(column) for column in zip(*self._moves))
            live = np.isin(ids, self._ids)
            ages = self._ages[np.searchsorted(self._ids, ids[live])]
            drawing.lines(canvas, starts[live], ends[live], ages, (0, _OLDEST))
        drawing.rings(canvas, self._points, self._ages, scale=(0, _OLDEST))
        return canvas


@dataclasses.dataclass
class TrackResult(Answer):
    """The answer to one frame or edit of Client.track_stream()."""

    found: "Optional[tuple[Tracks, ...]]" = None
    warnings: "tuple[Warning, ...]" = ()  # what makes the images doubtful

    @property
    def cameras(self) -> "tuple[Tracks, ...]":
        """Of a frame one Tracks for each camera; of an edit those that it changed. Raises the item's error."""
        self.check()
        assert self.found is not None
        return self.found

    @property
    def tracks(self) -> Tracks:
        """The tracks of the only camera. InvalidArgument if the answer has none or several: see `cameras`."""
        if len(self.cameras) != 1:
            raise InvalidArgument(f"tracks: the answer has {len(self.cameras)} cameras: use `cameras`", field="tracks")
        return self.cameras[0]
