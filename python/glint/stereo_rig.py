"""Stereo rigs, whose raw images a server rectifies, from OpenCV's matrices or by name."""
from __future__ import annotations

import dataclasses
from typing import Optional, Sequence, Tuple

import numpy as np

from glint.camera import Camera, camera_message, set_name, set_rectify, set_transform
from glint.errors import invalid
from glint.options import numbers
from glint.v1 import calibration_pb2 as pb

_CAMERAS = ("size", "K1", "D1", "K2", "D2", "R", "T", "model")  # what a rig of the server's has by its name


@dataclasses.dataclass(frozen=True, eq=False)
class StereoRig:
    """Two cameras as they are: their images are raw, and the server rectifies them.

    cv2.stereoCalibrate's (K1, D1, K2, D2, R, T), T in metres; or a calibration that the server has
    (--calibration-directory), by its name:

        rig = glint.StereoRig((640, 480), *cv2.stereoCalibrate(...)[1:7])
        rig = glint.StereoRig(name="rig1")

    size          (width, height) of each raw image, pixels
    K1, K2        (3, 3), camera matrices of the left and the right camera; without skew
    D1, D2        coefficients of their lenses in the model's order; None or empty: none
    R, T          (3, 3) and 3 numbers: right from left, metres
    model         as of glint.Camera, of both
    rectified_size, focal_length, max_field
                  of the rectified images: (width, height), pixels, and degrees that they may be wide; None: the server
                  chooses (RectifyOptions of proto/glint/v1/calibration.proto)
    name          in place of all up to `model`: 1..64 letters, digits, "_", "-" and ".", which is not the first
    """

    size: Optional[Tuple[int, int]] = None
    K1: Optional[np.ndarray] = None
    D1: Optional[Sequence[float]] = None
    K2: Optional[np.ndarray] = None
    D2: Optional[Sequence[float]] = None
    R: Optional[np.ndarray] = None
    T: Optional[Sequence[float]] = None
    model: Optional[str] = None
    rectified_size: Optional[Tuple[int, int]] = None
    focal_length: Optional[float] = None
    max_field: Optional[float] = None
    name: Optional[str] = None


def rig_message(given: StereoRig) -> pb.StereoRig:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, StereoRig):
        raise invalid("rig", given, "is not glint.StereoRig")
    rig = pb.StereoRig()
    if given.name is None:
        rig.left.CopyFrom(_camera(given, given.K1, given.D1, "1"))
        rig.right.CopyFrom(_camera(given, given.K2, given.D2, "2"))
        set_transform(numbers(given.R, "rig.R", 9), given.T, rig.right_from_left, "rig")
    else:
        set_name(given, _CAMERAS, rig, "rig")
    set_rectify(given.rectified_size, given.focal_length, given.max_field, rig.rectify, "rig")
    return rig


def _camera(rig: StereoRig, matrix: Optional[np.ndarray], lens: Optional[Sequence[float]], side: str) -> pb.Camera:
    return camera_message(Camera(rig.size, matrix, lens, rig.model), "rig", side)  # type: ignore[arg-type]
