"""ROS's CameraInfo as clients take it: the rules of the command line (ros/camera_info.h, calibration/formats/ros.cc).
"""
from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from glint.camera import Camera, RgbdCamera
from glint.errors import InvalidArgument, not_one_of
from glint.localization import StereoCamera
from glint.stereo_rig import StereoRig

# Names of models as drivers write them: that of glint.Camera, None: as cv2 has it; and its coefficients.
_OPENCV = ("plumb_bob", "rational_polynomial", "radtan", "brown_conrady")
_FISHEYE = ("equidistant", "fisheye", "kannala_brandt")
_LENSES = {
    **{name: (None, 14) for name in _OPENCV},
    **{name: ("kannala-brandt", 4) for name in _FISHEYE},
    **{name: ("fov", 1) for name in ("fov", "atan")},
    **{name: (None, 0) for name in ("none", "")},
}
_NEAR = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Info:
    """A CameraInfo. images: the topic. K, R, P: (3, 3), (3, 3), (3, 4); model and D: as of glint.Camera, D empty: no
    lens. has_projection: P is not all 0."""

    images: str
    size: Tuple[int, int]
    K: np.ndarray
    D: "list[float]"
    model: Optional[str]
    R: np.ndarray
    P: np.ndarray
    has_projection: bool


def info_topic(images: str) -> str:
    """Where the CameraInfo of a topic of images is: "/cam0/camera_info" of "/cam0/image_raw/compressed"."""
    name = _without_transport(images)
    return name[: name.rfind("/") + 1] + "camera_info"


def is_rectified(topics: Sequence[str]) -> bool:
    """By their names. InvalidArgument: one is, and another is not."""
    found = {_without_transport(name).rpartition("/")[2].startswith("image_rect") for name in topics}
    if len(found) > 1:
        raise InvalidArgument(f"{' and '.join(topics)}: by their names one is rectified and the other is not")
    return found.pop()


def read_info(message: Any, images: str) -> Info:
    """Errors name the fields of the message: of images that are a part of those calibrated, or binned, too."""
    roi = message.roi
    for name, value, whole in (
        ("binning_x", message.binning_x, 1),
        ("binning_y", message.binning_y, 1),
        ("roi.x_offset", roi.x_offset, 0),
        ("roi.y_offset", roi.y_offset, 0),
        ("roi.width", roi.width, message.width),
        ("roi.height", roi.height, message.height),
    ):
        if value not in (0, whole):
            why = "the images are not those of the calibration, of which binned and cropped ones are not taken"
            raise InvalidArgument(f"{name}: {value}: {why}", field=name)
    if not message.width or not message.height:
        raise InvalidArgument("width, height: are 0: the camera is not calibrated", field="width")
    k, r, p = (_numbers(message, name, shape) for name, shape in (("k", (3, 3)), ("r", (3, 3)), ("p", (3, 4))))
    if p.any() and not (p[0, 0] > 0 and p[1, 1] > 0):
        raise InvalidArgument("p: its focal lengths are not above 0", field="p")
    if not k.any():
        if not p.any():
            raise InvalidArgument("k: is all 0: the camera is not calibrated", field="k")
        k = p[:, :3] / p[2, 2] if p[2, 2] else p[:, :3]  # rectified images
        model, lens, r = None, [], np.eye(3)
    else:
        model, lens = _lens(message.distortion_model, _numbers(message, "d", (-1,)).tolist())
    return Info(images, (message.width, message.height), k, lens, model, r if r.any() else np.eye(3), p, bool(p.any()))


def camera_of(info: Info) -> Camera:
    """Of raw images."""
    return Camera(info.size, info.K, info.D or None, info.model)


def stereo_of(left: Info, right: Info, rectified: Optional[bool]) -> Union[StereoRig, StereoCamera]:
    """Of a pair."""
    for info in (left, right):
        if not info.has_projection:
            topic = info_topic(info.images)
            raise InvalidArgument(f"{topic}: p: is all 0: nothing says where the cameras are", field="p")
    if left.size != right.size:
        raise InvalidArgument(f"{left.images} is {left.size}, but {right.images} {right.size}", field="size")
    rotation = right.R.T @ left.R
    translation = right.R.T @ (_shift(right.P) - _shift(left.P))  # right from left
    if not np.linalg.norm(translation):
        raise InvalidArgument(f"{info_topic(right.images)}: p: has no baseline", field="p")
    if rectified is None:
        rectified = is_rectified((left.images, right.images)) or _are_rectified(left, right, rotation, translation)
    if rectified:
        return StereoCamera(*left.size, left_projection=left.P, right_projection=right.P)
    model = left.model if left.D else right.model
    if left.D and right.D and left.model != right.model:
        raise InvalidArgument(f"{left.images} and {right.images}: lenses of different models", field="model")
    lenses = [info.D or None for info in (left, right)]
    return StereoRig(left.size, left.K, lenses[0], right.K, lenses[1], rotation, translation, model)


def rgbd_of(info: Info, rectified: Optional[bool], baseline: float) -> Union[RgbdCamera, StereoCamera]:
    """Of a camera with depths of its pixels."""
    if rectified is None:
        plain = not info.D and info.K[0, 0] == info.K[1, 1]
        rectified = is_rectified((info.images,)) or plain
    if not rectified:
        return RgbdCamera(camera_of(info), baseline)
    projection = info.P if info.has_projection else np.column_stack((info.K, np.zeros(3)))
    return StereoCamera(*info.size, left_projection=projection, baseline=baseline)


def check_registered(info: Info, depth: Info) -> None:
    """InvalidArgument: the depths are not of the images' pixels."""
    if info.size != depth.size or (info.K != depth.K).any():
        topics = f"{info_topic(depth.images)} and {info_topic(info.images)}"
        why = f"the pixels of {depth.images} are not those of {info.images}, as {topics} say"
        raise InvalidArgument(f"depth: {why}: name a topic of registered depths", field="depth")


def _without_transport(images: str) -> str:
    return images[: -len("/compressed")] if images.endswith("/compressed") else images


def _numbers(message: Any, name: str, shape: "tuple[int, ...]") -> np.ndarray:
    """A field that ROS 1 has in capital letters."""
    values = getattr(message, name) if hasattr(message, name) else getattr(message, name.upper())
    numbers = np.asarray(values, np.float64).reshape(shape)
    if not np.isfinite(numbers).all():
        raise InvalidArgument(f"{name}: has what is no number", field=name)
    return numbers


def _lens(name: str, coefficients: "list[float]") -> "tuple[Optional[str], list[float]]":
    """Model and coefficients as glint.Camera takes them."""
    name = name.lower()
    if name not in _LENSES:
        raise not_one_of("distortion_model", name, [known for known in _LENSES if known])
    model, most = _LENSES[name]
    if not any(coefficients) and name not in _FISHEYE:
        return None, []
    if name in _OPENCV:
        if len(coefficients) not in (4, 5, 8, 12, 14):
            raise InvalidArgument(f"d: {len(coefficients)} coefficients are not 4, 5, 8, 12 or 14", field="d")
    elif len(coefficients) < most or any(coefficients[most:]):
        raise InvalidArgument(f'd: {len(coefficients)} coefficients, not the {most} of model "{name}"', field="d")
    return model, coefficients[:most]


def _shift(p: np.ndarray) -> np.ndarray:
    """Where the reference of projections is in the rectified camera's coordinates."""
    return np.array([(p[0, 3] - p[0, 2] * p[2, 3]) / p[0, 0], (p[1, 3] - p[1, 2] * p[2, 3]) / p[1, 1], p[2, 3]])


def _are_rectified(left: Info, right: Info, rotation: np.ndarray, translation: np.ndarray) -> bool:
    """Pinholes of one focal length, side by side without a rotation to each other."""
    f = left.K[0, 0]
    numbers = np.array([f, left.K[0, 2], f, left.K[1, 2]])
    same = all(
        np.abs(info.K[[0, 0, 1, 1], [0, 2, 1, 2]] - numbers).max() <= _NEAR * f and not info.D for info in (left, right)
    )
    aside = np.hypot(translation[1], translation[2])
    return bool(
        same and aside <= _NEAR * abs(translation[0]) + 1e-12 and np.abs(rotation - np.eye(3)).max() <= _NEAR
    )
