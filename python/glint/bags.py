"""Recordings of robots as sources: MCAP and SQLite files of ROS 2, folders of rosbag2, bags of ROS 1. Needs rosbags
(pip install glint[bags]), but no ROS.

    from glint import bags

    drive = bags.Recording("drive/")
    camera = drive.stereo_camera("/cam0/image_raw", "/cam1/image_raw")
    items = drive.localize_items("/cam0/image_raw", "/cam1/image_raw")
    for result in client.localize_stream(items, camera):
        ...

Times are those of the messages' headers, when something was captured, not when it was recorded. A recording that cannot
be read raises glint.InvalidArgument with its path; what is passed over on the way is a Python warning, BagWarning.
"""
from __future__ import annotations

import contextlib
import dataclasses
import warnings
from typing import Any, Iterator, Optional, Sequence, Tuple, Union

import numpy as np

from glint import bag_cameras, bag_imu
from glint.bag_images import file_of, pixels_of
from glint.bag_reader import Reader, Topic
from glint.camera import Camera, RgbdCamera
from glint.errors import InvalidArgument
from glint.image import ImageLike
from glint.inertial import ImuReadings
from glint.localization import LocalizePair, StereoCamera
from glint.options import nanoseconds
from glint.stereo_rig import StereoRig

_CAMERAS = ("image", "compressed_image")
_NAMES_SAID = 5

ImuTopics = Union[str, Tuple[str, str]]  # of a sensor; or of its gyroscope and its accelerometer
LocalizeItems = Iterator[Union[LocalizePair, ImuReadings]]


class BagWarning(UserWarning):
    """Something in a recording was passed over."""


@dataclasses.dataclass(frozen=True, eq=False)
class BagImage:
    """time_ns: when it was captured, since 1970; image: as clients take it, an array, glint.Raw, or the bytes of a JPEG
    or PNG file; frame_id: of its header."""

    time_ns: int
    image: ImageLike
    frame_id: str


class Recording(Reader):
    """A recording: a folder of rosbag2, or a .mcap, .db3 or .bag file. Holds no file open: what iterates opens it anew,
    so that any number of iterators can be used at once. Thread-safe apart from that.

    topics  of glint.bags.Topic, in the recording's order
    """

    # ---- images

    def images(self, topic: Optional[str] = None, depth: bool = False) -> Iterator[BagImage]:
        """The images of a topic, as they were recorded. None: of the only camera that there is.

        depth  they are depths: uint16, 0 where none was measured; of 32FC1, which are metres, in millimetres
        """
        return self._images(self.find(topic, _CAMERAS), depth)

    def _images(self, topic: str, depth: bool) -> Iterator[BagImage]:
        for message, kind in self.messages(topic, _CAMERAS):
            time_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            with _about(f"{self.path}: {topic}@{_stamp(time_ns)}"):
                image: ImageLike = pixels_of(message, depth) if kind == "image" else file_of(message, depth)
            yield BagImage(time_ns, image, message.header.frame_id)

    def pairs(
        self, left: str, right: str, max_time_difference: float = 0.005, depth: bool = False
    ) -> "Iterator[tuple[BagImage, BagImage]]":
        """Images of two topics that were captured within `max_time_difference`, seconds. What has no partner, no time,
        or one that is not after that of the image before is passed over with a BagWarning.

        depth  `right` is depths, as of images()
        """
        sides = [_in_order(self.images(left), left), _in_order(self.images(right, depth), right)]
        return self._pairs((left, right), sides, nanoseconds(max_time_difference, "max_time_difference"))

    def _pairs(self, names: "tuple[str, str]", sides: "list[Iterator[BagImage]]", most: int) -> Any:
        alone = _Names()
        held = [next(side, None) for side in sides]
        while held[0] is not None and held[1] is not None:
            ahead = held[0].time_ns - held[1].time_ns
            if abs(ahead) <= most:
                yield held[0], held[1]
                held = [next(side, None) for side in sides]
                continue
            earlier = 1 if ahead > 0 else 0
            alone.add(f"{names[earlier]}@{_stamp(held[earlier].time_ns)}")
            held[earlier] = next(sides[earlier], None)
        if alone.count:
            _warn(f"{self.path}: images that have no partner and are left out: {alone}")
        for name, image in zip(names, held):
            if image is not None:
                what = f"{name}@{_stamp(image.time_ns)}"
                _warn(f"{self.path}: {what} and what follows it have no partner: the other topic has ended")

    def localize_items(
        self,
        left: str,
        right: Optional[str] = None,
        *,
        depth: Optional[str] = None,
        imu: Optional[ImuTopics] = None,
        imu_time_minus_camera_time_ns: int = 0,
        max_time_difference: float = 0.005,
    ) -> LocalizeItems:
        """What Client.localize_stream() takes: a glint.LocalizePair for each of pairs(); with neither `right` nor
        `depth`, `left` has both images side by side.

        imu  a topic, or (gyroscope, accelerometer): the readings come with the pairs, and what no pair has room for in
             glint.ImuReadings of their own. imu_time_minus_camera_time_ns is then as that of glint.Imu
        """
        if right is not None and depth is not None:
            raise InvalidArgument("depth: is in place of right: one of them only", field="depth")
        readings = None if imu is None else bag_imu.Batches(self.imu(imu), imu_time_minus_camera_time_ns)
        partner = depth if right is None else right
        if partner is None:
            frames: Any = ((image, None) for image in _in_order(self.images(left), left))
        else:
            frames = self.pairs(left, partner, max_time_difference, depth is not None)
        return self._items(frames, "right" if depth is None else "depth", readings)

    def _items(self, frames: Any, name: str, readings: Optional[bag_imu.Batches]) -> LocalizeItems:
        for first, second in frames:
            field = {} if second is None else {name: second.image}
            if readings is not None:
                yield from readings.before(first.time_ns)
                field["imu"] = readings.of(first.time_ns)
            yield LocalizePair(first.image, time_ns=first.time_ns, **field)

    # ---- cameras

    def camera(self, topic: str) -> Camera:
        """The camera of a topic's images as they are, by its CameraInfo: the first one beside the images."""
        return bag_cameras.camera_of(self._info(topic))

    def stereo_camera(self, left: str, right: str, rectified: Optional[bool] = None) -> Union[StereoRig, StereoCamera]:
        """The cameras of two topics by their CameraInfo, as Client.localize_stream() and stereo_stream() take them: a
        glint.StereoCamera of rectified images, else a glint.StereoRig of raw ones.

        rectified  None: they are if the last word of the topics begins with "image_rect", or if neither camera has a
                   lens or a rotation
        """
        return bag_cameras.stereo_of(self._info(left), self._info(right), rectified)

    def rgbd_camera(
        self, topic: str, depth: str, rectified: Optional[bool] = None, baseline: float = 0.08
    ) -> Union[RgbdCamera, StereoCamera]:
        """The same of a camera with depths of its pixels, for glint.DepthCamera(unit=0.001) of depths in millimetres.
        `baseline` is as that of glint.RgbdCamera. InvalidArgument: the depths are those of another camera's pixels."""
        info = self._info(topic)
        if self._has_info(depth):
            bag_cameras.check_registered(info, self._info(depth))
        return bag_cameras.rgbd_of(info, rectified, baseline)

    # ---- inertial sensors

    def imu(self, topics: ImuTopics) -> ImuReadings:
        """All readings of a sensor, sorted by time: float64 (n, 3) each. More than a message to a server takes."""
        names = (topics,) if isinstance(topics, str) else tuple(topics)
        if len(names) not in (1, 2):
            raise InvalidArgument("imu: is not a topic or (gyroscope, accelerometer)", field="imu")
        found = []
        for name in names:
            name = self.find(name, ("imu",))
            with _about(f"{self.path}: {name}"):
                found.append(bag_imu.read(message for message, _ in self.messages(name, ("imu",))))
        return bag_imu.readings_of(found, names)

    def camera_from_imu(self, topic: str, imu: ImuTopics, rectified: Optional[bool] = None) -> Optional[np.ndarray]:
        """Where the sensor is to the camera of `topic`, for glint.Imu: float64 (4, 4) by /tf_static. None: it does not
        say. `rectified`: as that of stereo_camera(), whose left camera `topic` is."""
        transforms = bag_imu.Transforms()
        if any(found.name == "/tf_static" and found.kind == "transforms" for found in self.topics):
            for message, _ in self.messages("/tf_static", ("transforms",)):
                transforms.add(message)
        names = (imu,) if isinstance(imu, str) else tuple(imu)
        poses = [transforms.find(self._frame(topic, _CAMERAS), self._frame(name, ("imu",))) for name in names]
        if any(pose is None or np.abs(pose[:3, :3] - poses[0][:3, :3]).max() > 1e-6 for pose in poses):
            return None
        turn = np.eye(4)
        if bag_cameras.is_rectified((topic,)) if rectified is None else rectified:
            turn[:3, :3] = self._info(topic).R
        return turn @ poses[0]

    # ---- messages

    def _frame(self, name: str, kinds: Sequence[str]) -> str:
        return self.first(name, kinds).header.frame_id

    def _has_info(self, images: str) -> bool:
        name = bag_cameras.info_topic(images)
        return any(topic.name == name and topic.kind == "camera_info" and topic.messages for topic in self.topics)

    def _info(self, images: str) -> bag_cameras.Info:
        name = bag_cameras.info_topic(self.find(images, _CAMERAS))
        if not self._has_info(images):
            raise InvalidArgument(f"{self.path}: has no {name}, which would say what the camera of {images} is")
        with _about(f"{self.path}: {name}"):
            return bag_cameras.read_info(self.first(name, ("camera_info",)), images)


class _Names:
    """How many there were, and the first ones, for people."""

    def __init__(self) -> None:
        self.count = 0
        self._first: "list[str]" = []

    def add(self, name: str) -> None:
        self.count += 1
        if self.count <= _NAMES_SAID:
            self._first.append(name)

    def __str__(self) -> str:
        return f"{', '.join(self._first)}{', ...' if self.count > _NAMES_SAID else ''} ({self.count} in all)"


def _in_order(images: Iterator[BagImage], topic: str) -> Iterator[BagImage]:
    """Those that have a time, which is after that of the one before."""
    last = 0
    for image in images:
        if image.time_ns == 0:
            _warn(f"{topic}: an image is passed over: header.stamp is 0, by which no partner can be found")
        elif image.time_ns <= last:
            _warn(f"{topic}@{_stamp(image.time_ns)}: is passed over: not after that of an image before, {_stamp(last)}")
        else:
            last = image.time_ns
            yield image


def _warn(text: str) -> None:
    warnings.warn(text, BagWarning, stacklevel=3)


@contextlib.contextmanager
def _about(name: str) -> Iterator[None]:
    """Errors that begin with a name."""
    try:
        yield
    except InvalidArgument as error:
        about = {key: getattr(error, key) for key in ("field", "value", "allowed")}
        raise InvalidArgument(f"{name}: {error.message}", **about) from None


def _stamp(time_ns: int) -> str:
    """Seconds, with nine digits."""
    return f"{time_ns // 10**9}.{time_ns % 10**9:09}"
