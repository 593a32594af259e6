"""Stereo rigs, whose raw images a server rectifies, from OpenCV's matrices; and the camera that they become."""
from __future__ import annotations

import dataclasses
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from glint.errors import InternalError, invalid, not_one_of
from glint.options import fill
from glint.v1 import calibration_pb2 as pb

# Models of lenses by their names, with the field of glint.v1.Camera; its message has the coefficients in their order.
_LENSES = {field.name.replace("_", "-"): field for field in pb.Camera.DESCRIPTOR.oneofs_by_name["lens"].fields}
_OPENCV = {4: "radial-tangential", 5: "radial-tangential", 8: "rational"}  # by the number of coefficients


@dataclasses.dataclass(frozen=True, eq=False)
class StereoRig:
    """Two cameras as they are: their images are raw, and the server rectifies them.

    cv2.stereoCalibrate's (K1, D1, K2, D2, R, T), T in metres:

        rig = glint.StereoRig((640, 480), *cv2.stereoCalibrate(...)[1:7])

    size          (width, height) of each raw image, pixels
    K1, K2        (3, 3), camera matrices of the left and the right camera; without skew
    D1, D2        coefficients of their lenses in the model's order; None or empty: none
    R, T          (3, 3) and 3 numbers: right from left, metres
    model         "radial-tangential" (k1 k2 p1 p2 k3), "rational" (k1 k2 p1 p2 k3 k4 k5 k6), "kannala-brandt"
                  (cv2.fisheye: k1 k2 k3 k4), "double-sphere" (xi alpha), "eucm" (alpha beta), "fov" (w), "omni"
                  (xi k1 k2 p1 p2); None: cv2's, by the number of coefficients
    rectified_size, focal_length, max_field
                  of the rectified images: (width, height), pixels, and degrees that they may be wide; None: the server
                  chooses (RectifyOptions of proto/glint/v1/calibration.proto)
    """

    size: Tuple[int, int]
    K1: np.ndarray
    D1: Optional[Sequence[float]]
    K2: np.ndarray
    D2: Optional[Sequence[float]]
    R: np.ndarray
    T: Sequence[float]
    model: Optional[str] = None
    rectified_size: Optional[Tuple[int, int]] = None
    focal_length: Optional[float] = None
    max_field: Optional[float] = None


@dataclasses.dataclass(frozen=True, eq=False)
class RectifiedCamera:
    """The cameras that rectified images are of; proto/glint/v1/calibration.proto has each. rectified_from_left and
    rectified_from_right are float64 (3, 3)."""

    width: int
    height: int
    focal_length: float
    centre_x: float
    centre_y: float
    baseline: float
    rectified_from_left: np.ndarray
    rectified_from_right: np.ndarray
    uncovered: float


def rig_message(given: StereoRig) -> pb.StereoRig:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, StereoRig):
        raise invalid("rig", given, "is not glint.StereoRig")
    rig = pb.StereoRig(
        left=_camera(given.size, given.K1, given.D1, given.model, "1"),
        right=_camera(given.size, given.K2, given.D2, given.model, "2"),
    )
    rig.right_from_left.rotation.extend(_numbers(given.R, "rig.R", 9))
    fill(dict(zip("xyz", _numbers(given.T, "rig.T", 3))), rig.right_from_left, prefix="rig.")
    if given.rectified_size is not None:
        _set_size(given.rectified_size, "rig.rectified_size", rig.rectify)
    fill({"focal_length": given.focal_length, "max_field": given.max_field}, rig.rectify, prefix="rig.")
    return rig


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


def _numbers(values: Any, name: str, count: Optional[int] = None) -> list:
    """Numbers, flat; `count` of them, unless that is None."""
    try:
        array = np.asarray(() if values is None else values, np.float64)
    except (TypeError, ValueError):
        raise invalid(name, values, "is not numbers") from None
    if count is not None and array.size != count:
        raise invalid(name, array, f"is not {count} numbers")
    return array.ravel().tolist()


def _set_size(size: Any, name: str, message: Any) -> None:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise invalid(name, size, "is not (width, height)") from None
    fill({"width": width, "height": height}, message, prefix=f"{name}: ")


def _camera(size: Any, matrix: Any, lens: Any, model: Optional[str], side: str) -> pb.Camera:
    fx, skew, cx, a, fy, cy, b, c, one = _numbers(matrix, f"rig.K{side}", 9)
    if (skew, a, b, c, one) != (0, 0, 0, 0, 1):
        raise invalid(f"rig.K{side}", matrix, "is not fx 0 cx, 0 fy cy, 0 0 1")
    camera = pb.Camera(fx=fx, fy=fy, cx=cx, cy=cy)
    _set_size(size, "rig.size", camera)
    coefficients = _numbers(lens, f"rig.D{side}")
    if model is None and len(coefficients) in (12, 14) and not any(coefficients[8:]):
        del coefficients[8:]  # thin prism and tilt, which cv2.calibrateCamera gives with CALIB_RATIONAL_MODEL
    if model is None and coefficients:
        model = _OPENCV.get(len(coefficients))
        if model is None:
            why = "is not the 4, 5 or 8 coefficients of cv2's models (12 and 14 where all beyond 8 are 0)"
            raise invalid(f"rig.D{side}", coefficients, why)
    if not coefficients:
        return camera
    if model not in _LENSES:
        raise not_one_of("rig.model", model, list(_LENSES))
    names = [field.name for field in _LENSES[model].message_type.fields]
    if len(coefficients) != len(names) and (model, len(coefficients)) != ("radial-tangential", 4):
        raise invalid(f"rig.D{side}", coefficients, f"is not the {len(names)} coefficients {' '.join(names)}")
    getattr(camera, _LENSES[model].name).SetInParent()
    fill(dict(zip(names, coefficients)), getattr(camera, _LENSES[model].name), prefix=f"rig.D{side}: ")
    return camera
