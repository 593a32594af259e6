"""Pictures of what was found, by OpenCV's Python module."""
from __future__ import annotations

from typing import Any

import numpy as np

from glint.errors import InvalidArgument


def cv2() -> Any:
    """The module. ImportError says what to install."""
    try:
        import cv2 as module
    except ImportError as error:
        raise ImportError(f"{error}: OpenCV's types and drawing need OpenCV (Debian: python3-opencv)") from None
    return module


def in_bgr(image: Any, name: str) -> np.ndarray:
    """A copy of a picture, grey or BGR, in BGR."""
    good = isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.size > 0
    if not good or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (1, 3)):
        raise InvalidArgument(f"{name}: draw() takes a uint8 array of (height, width) or (height, width, 3)")
    if image.ndim == 2 or image.shape[2] == 1:
        return np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    return np.array(image, order="C")
