"""What a stream of localization takes, and what a server answers: pairs, requests about the map, poses."""
from __future__ import annotations

import dataclasses
import enum
from typing import Optional, Sequence, Union

import numpy as np

from glint.camera import RectifiedCamera
from glint.errors import invalid
from glint.features import Answer, Warning
from glint.image import ImageLike
from glint.inertial import ImuLike, ImuReadings, ImuReceived, Inertial


@dataclasses.dataclass(frozen=True, eq=False)
class StereoCamera:
    """A rectified stereo camera: focal length, centre and baseline, or both projections.

    width, height   of each image, pixels
    focal_length, centre_x, centre_y
                    of both images, pixels
    baseline        from the left camera to the right one, metres; with glint.DepthCamera a nominal one: from the
                    sensor's projector to its camera
    left_projection, right_projection
                    (3, 4) or 12 numbers: KITTI's P0 and P1, or P1 and P2 of cv2.stereoRectify; with
                    glint.DepthCamera the left one alone, and the baseline
    rig_rotation    rotation vector of the right camera, radians: what a run before found, for refine_rig="fixed"
    """

    width: int
    height: int
    focal_length: float = 0
    centre_x: float = 0
    centre_y: float = 0
    baseline: float = 0
    left_projection: Optional[np.ndarray] = None
    right_projection: Optional[np.ndarray] = None
    rig_rotation: Optional[Sequence[float]] = None


@dataclasses.dataclass(frozen=True)
class DepthCamera:
    """A sensor of depth in place of the right camera; its pixels are those of the left image, unless glint.RgbdCamera
    says otherwise.

    unit               metres in a sample of 1: 0.001 for millimetres, 0.0002 for the TUM RGB-D data sets
    nearest, farthest  metres: other samples are no depth; farthest=0: no limit
    """

    unit: float = 0.001
    nearest: float = 0
    farthest: float = 0


@dataclasses.dataclass(frozen=True, eq=False)
class LocalizePair:
    """A pair with what is its own. id: any number of 64 bits, returned as it is; None: its place.

    right       None if `left` has both images side by side
    time_ns     when both were captured, nanoseconds of any clock, not that of the pair before
    relocalize  find it in the map without knowing where the camera was; nothing changes, and times do not matter
    max_age     seconds, in place of the stream's
    depth       of a stream with glint.DepthCamera, in place of `right`: uint16 (height, width) or a grey PNG of 16
                bits, 0 where none was measured
    mask, right_mask
                in place of the stream's, for this pair
    imu         of a stream with glint.Imu: (times_ns, angular_velocity, acceleration) or glint.ImuReadings, up to the
                pair's time and one beyond; taken before the pair is located
    """

    left: ImageLike
    right: Optional[ImageLike] = None
    time_ns: int = 0
    relocalize: bool = False
    id: Optional[int] = None
    max_age: Optional[float] = None
    depth: Optional[ImageLike] = None
    mask: Optional[ImageLike] = None
    right_mask: Optional[ImageLike] = None
    imu: Optional[ImuLike] = None


@dataclasses.dataclass(frozen=True)
class GetMap:
    """A part of the map, beyond the ids of the last part's `next`; None: from the beginning."""

    start: "Optional[tuple[int, int]]" = None
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class SaveMap:
    """The map, into the server's map directory."""

    name: str
    id: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class LoadMap:
    """A saved map in place of the stream's. The camera is then LOST until a pair is found in it."""

    name: str
    id: Optional[int] = None


LocalizeItem = Union[LocalizePair, GetMap, SaveMap, LoadMap, ImuReadings]


class LocationStatus(enum.IntEnum):
    """Whether the camera is located; proto/glint/v1/localization.proto says what the pose is in each."""

    INITIALIZING = 1
    TRACKING = 2
    COASTING = 3
    LOST = 4
    RELOCALIZED = 5
    NEW_MAP = 6


@dataclasses.dataclass(eq=False)
class Location:
    """Where the left camera was.

    status              LocationStatus
    world_from_camera   float64 (4, 4): takes points of the left camera (x right, y down, z ahead, metres) to the world,
                        which is the left camera of the map's first keyframe; with an inertial sensor see
                        Inertial.level
    map_id              the map that this pose is in, from 0 on; poses of two maps say nothing of each other
    covariance          float64 (6, 6), rotation (rad^2) before translation (m^2), of a small motion in camera
                        coordinates; None unless TRACKING or RELOCALIZED, or COASTING on an inertial sensor
    keypoints, matches, inliers
                        of the left image; of these, with points of the map; and of these, that agree with the pose
    reprojection_error  mean of the inliers, pixels
    keyframe, loop_closed, map_full
                        what happened to the map
    rig_rotation, rig_uncertainty
                        float64 (3,), radians: of the right camera, and its standard deviations
    warnings            what is wrong with calibration or pair
    rectified           the camera whose pose it is, where the stream's images are raw; else None
    inertial            Inertial, of a stream with glint.Imu; else None
    level               the world's z points up, against gravity
    world_correction    float64 (4, 4): the world has moved since the last answer (keyframes that were adjusted, a loop,
                        gravity that was found): takes the poses that the answers before had, near the camera, to the
                        world as it is now, so that the rest is how the camera moved; else None
    """

    status: LocationStatus
    world_from_camera: np.ndarray
    covariance: Optional[np.ndarray]
    keypoints: int
    matches: int
    inliers: int
    reprojection_error: float
    keyframe: bool
    loop_closed: bool
    map_full: bool
    map_id: int
    rig_rotation: np.ndarray
    rig_uncertainty: np.ndarray
    warnings: "tuple[Warning, ...]"
    rectified: Optional[RectifiedCamera] = None
    inertial: Optional[Inertial] = None
    level: bool = False
    world_correction: Optional[np.ndarray] = None

    @property
    def located(self) -> bool:
        """Whether world_from_camera is a pose: TRACKING, RELOCALIZED or NEW_MAP. Otherwise it is the last one known, or
        goes on with the last motion or as an inertial sensor measured it, and belongs into no trajectory."""
        return self.status in (LocationStatus.TRACKING, LocationStatus.RELOCALIZED, LocationStatus.NEW_MAP)

    @property
    def position(self) -> np.ndarray:
        """float64 (3,): the camera in the world, metres."""
        return self.world_from_camera[:3, 3]


@dataclasses.dataclass(eq=False)
class MapPart:
    """Keyframes and points of map `map_id`, ascending by id. next: `start` of the GetMap for the part after it; None: the map ends.

    keyframe_ids, point_ids  uint64 (n,)
    frame_ids, times_ns      uint64 and int64 (n,), of the pairs that the keyframes were made of
    world_from_camera        float64 (n, 4, 4), of the keyframes
    points                   float32 (n, 3), in the world, metres
    """

    keyframe_ids: np.ndarray
    frame_ids: np.ndarray
    times_ns: np.ndarray
    world_from_camera: np.ndarray
    point_ids: np.ndarray
    points: np.ndarray
    map_id: int = 0
    next: "Optional[tuple[int, int]]" = None


@dataclasses.dataclass
class LocalizeResult(Answer):
    """The answer to one item of Client.localize_stream(). map_keyframes, map_points: what the map has after it."""

    found: Union[Location, MapPart, ImuReceived, None] = None
    map_keyframes: int = 0
    map_points: int = 0

    @property
    def location(self) -> Location:
        """Of a pair; raises the item's error. InvalidArgument for the answer to a request."""
        self.check()
        if not isinstance(self.found, Location):
            raise invalid("location", self.frame_id, "is a request about the map, not a pair")
        return self.found

    @property
    def map(self) -> MapPart:
        """Of a GetMap; raises the item's error. InvalidArgument for the answer to anything else."""
        self.check()
        if not isinstance(self.found, MapPart):
            raise invalid("map", self.frame_id, "is not a GetMap")
        return self.found

    @property
    def imu(self) -> ImuReceived:
        """Of an ImuReadings; raises the item's error. InvalidArgument for the answer to anything else."""
        self.check()
        if not isinstance(self.found, ImuReceived):
            raise invalid("imu", self.frame_id, "is not an ImuReadings")
        return self.found
