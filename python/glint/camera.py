"""Cameras as they are, with their lenses, from OpenCV's matrices; and the camera that raw images are rectified to."""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from glint.errors import InternalError, invalid, not_one_of
from glint.image import LONGEST_SIDE
from glint.options import fill, numbers, whole
from glint.v1 import calibration_pb2 as pb

# Models of lenses by their names, with the field of glint.v1.Camera; its message has the coefficients in their order.
_LENSES = {field.name.replace("_", "-"): field for field in pb.Camera.DESCRIPTOR.oneofs_by_name["lens"].fields}
# OpenCV's models by the number of coefficients; what 4 and 12 lack is 0.
_OPENCV = {4: "radial-tangential", 5: "radial-tangential", 8: "rational", 12: "thin-prism", 14: "thin-prism"}
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
_NAMED = ("camera", "depth_camera", "R", "T")  # what a glint.RgbdCamera of the server's has by its name


@dataclasses.dataclass(frozen=True, eq=False)
class Camera:
    """A camera as it is: its images are neither undistorted nor rectified. cv2.calibrateCamera's K and D:

        camera = glint.Camera((640, 480), *cv2.calibrateCamera(...)[1:3])

    size   (width, height) of its images, pixels
    K      (3, 3), camera matrix; without skew
    D      coefficients of its lens in the model's order; None or empty: none
    model  "radial-tangential" (k1 k2 p1 p2 k3), "rational" (k1 k2 p1 p2 k3 k4 k5 k6), "thin-prism" (those of rational,
           s1 s2 s3 s4 tau_x tau_y), "kannala-brandt" (cv2.fisheye: k1 k2 k3 k4), "double-sphere" (xi alpha), "eucm"
           (alpha beta), "fov" (w), "omni" (xi k1 k2 p1 p2); None: cv2's, by the number of coefficients
    """

    size: Tuple[int, int]
    K: np.ndarray
    D: Optional[Sequence[float]] = None
    model: Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False)
class RgbdCamera:
    """A camera with a sensor of depth, as they are: images and depths are raw, and the server makes images without the
    lens and of one focal length, and depths of their pixels. By value, or a calibration that the server has
    (--calibration-directory), by its name:

        camera = glint.RgbdCamera(color, depth_camera=infrared, R=R, T=T)
        camera = glint.RgbdCamera(name="d435")

    camera        glint.Camera of the images
    baseline      metres, nominal, as that of glint.StereoCamera with glint.DepthCamera
    depth_camera  glint.Camera of the depths, if they are not registered; None: they are those of the camera's pixels
    R, T          with depth_camera: (3, 3) and 3 numbers, camera from depth camera, metres; R=None: without a turn
    rectified_size, focal_length, max_field
                  of the images that the server makes: (width, height), pixels, and degrees that they may be wide; None:
                  the server chooses (RectifyOptions of proto/glint/v1/calibration.proto)
    name          in place of camera, depth_camera, R and T: 1..64 letters, digits, "_", "-" and ".", which is not the
                  first; of a calibration of one camera, whose pixels depths are of, or of that of the images and then
                  that of the depths
    """

    camera: Optional[Camera] = None
    baseline: float = 0.08
    depth_camera: Optional[Camera] = None
    R: Optional[np.ndarray] = None
    T: Optional[Sequence[float]] = None
    rectified_size: Optional[Tuple[int, int]] = None
    focal_length: Optional[float] = None
    max_field: Optional[float] = None
    name: Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False)
class RectifiedCamera:
    """The cameras that rectified images are of, or the one of glint.RgbdCamera's; proto/glint/v1/calibration.proto has
    each field. rectified_from_left and rectified_from_right are float64 (3, 3)."""

    width: int
    height: int
    focal_length: float
    centre_x: float
    centre_y: float
    baseline: float
    rectified_from_left: np.ndarray
    rectified_from_right: np.ndarray
    uncovered: float


# ---- writing: messages, whose ranges are the server's to check


def camera_message(given: Camera, name: str, side: str = "") -> pb.Camera:
    """Errors name the fields NAME.size, NAME.K and so on; `side` is put behind K and D."""
    if not isinstance(given, Camera):
        raise invalid(name, given, "is not glint.Camera")
    fx, skew, cx, a, fy, cy, b, c, one = numbers(given.K, f"{name}.K{side}", 9)
    if (skew, a, b, c, one) != (0, 0, 0, 0, 1):
        raise invalid(f"{name}.K{side}", given.K, "is not fx 0 cx, 0 fy cy, 0 0 1")
    camera = pb.Camera(fx=fx, fy=fy, cx=cx, cy=cy)
    _set_size(given.size, f"{name}.size", camera)
    _set_lens(given.D, given.model, camera, f"{name}.D{side}", f"{name}.model")
    return camera


def optional_camera(given: Optional[Camera], name: str) -> Optional[pb.Camera]:
    """The same; None stays None."""
    return None if given is None else camera_message(given, name)


def rgbd_message(given: RgbdCamera, name: str) -> pb.RgbdCamera:
    """Errors name the fields NAME.baseline, NAME.camera.K and so on."""
    message = pb.RgbdCamera()
    if given.name is None:
        _set_cameras(given, message, name)
    else:
        set_name(given, _NAMED, message, name)
    fill({"baseline": given.baseline}, message, prefix=f"{name}.")
    set_rectify(given.rectified_size, given.focal_length, given.max_field, message.rectify, name)
    return message


def set_name(given: Any, replaced: Sequence[str], message: Any, name: str) -> None:
    """NAME.name, in whose place the fields `replaced` are."""
    if not isinstance(given.name, str) or not _NAME.fullmatch(given.name):
        why = 'is not 1..64 letters, digits, "_", "-" and ".", which is not the first'
        raise invalid(f"{name}.name", given.name, why)
    for field in replaced:
        if getattr(given, field) is not None:
            why = f"is given beside {name}.name, in whose place it is"
            raise invalid(f"{name}.{field}", getattr(given, field), why)
    message.name = given.name


def set_transform(rotation: Any, translation: Any, transform: pb.RigidTransform, name: str) -> None:
    """Of NAME.R and NAME.T; a rotation of None is none."""
    if rotation is not None:
        transform.rotation.extend(numbers(rotation, f"{name}.R", 9))
    fill(dict(zip("xyz", numbers(translation, f"{name}.T", 3))), transform, prefix=f"{name}.")


def set_rectify(size: Any, focal_length: Any, max_field: Any, options: pb.RectifyOptions, name: str) -> None:
    """Those that are not None, of NAME.rectified_size, NAME.focal_length and NAME.max_field."""
    if size is not None:
        _set_size(size, f"{name}.rectified_size", options)
    fill({"focal_length": focal_length, "max_field": max_field}, options, prefix=f"{name}.")


def _set_cameras(given: RgbdCamera, message: pb.RgbdCamera, name: str) -> None:
    message.camera.CopyFrom(camera_message(given.camera, f"{name}.camera"))  # type: ignore[arg-type]
    if given.depth_camera is not None:
        message.depth_camera.CopyFrom(camera_message(given.depth_camera, f"{name}.depth_camera"))
        set_transform(given.R, given.T, message.camera_from_depth, name)
        return
    for field, value in (("R", given.R), ("T", given.T)):
        if value is not None:
            raise invalid(f"{name}.{field}", value, f"is camera from depth camera, but {name}.depth_camera is None")


def _set_size(size: Any, name: str, message: Any) -> None:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise invalid(name, size, "is not (width, height)") from None
    message.width, message.height = (whole(side, name, LONGEST_SIDE) for side in (width, height))


def _set_lens(lens: Any, model: Optional[str], camera: pb.Camera, name: str, model_name: str) -> None:
    coefficients = numbers(lens, name)
    if model is None and len(coefficients) in (12, 14) and not any(coefficients[8:]):
        del coefficients[8:]  # which cv2.calibrateCamera gives with CALIB_RATIONAL_MODEL
    if model is None and coefficients:
        model = _OPENCV.get(len(coefficients))
        if model is None:
            raise invalid(name, coefficients, "is not the 4, 5, 8, 12 or 14 coefficients of cv2's models")
    if model is not None and model not in _LENSES:
        raise not_one_of(model_name, model, list(_LENSES))
    if model is None or not coefficients:
        return
    names = [field.name for field in _LENSES[model].message_type.fields]
    if len(coefficients) != len(names) and _OPENCV.get(len(coefficients)) != model:
        raise invalid(name, coefficients, f"is not the {len(names)} coefficients {' '.join(names)}")
    getattr(camera, _LENSES[model].name).SetInParent()
    fill(dict(zip(names, coefficients)), getattr(camera, _LENSES[model].name), prefix=f"{name}: ")


# ---- reading


def read_rectified(message: Optional[pb.RectifiedCamera]) -> Optional[RectifiedCamera]:
    """Of an answer that has one."""
    if message is None:
        return None
    fields = {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}
    for name in ("rectified_from_left", "rectified_from_right"):
        if len(fields[name]) != 9:
            raise InternalError(f"rectified: the server's {name} is not 9 numbers")
        fields[name] = np.array(fields[name]).reshape(3, 3)
    return RectifiedCamera(**fields)
