"""Pictures of what was found, by OpenCV's Python module. Nothing here loops over keypoints."""
from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

from glint.errors import InvalidArgument

Scale = Tuple[float, float]
_SHADES = 32  # colours of a picture; what has the same one is drawn by one call
_SHIFT = 4  # of fixed-point coordinates


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
        why = "draw() takes a uint8 array of (height, width) or (height, width, 3)"
        raise InvalidArgument(f"{name}: {why}", field=name)
    if image.ndim == 2 or image.shape[2] == 1:
        return np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    return np.array(image, order="C")


def side_by_side(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Two BGR pictures in one, black below the lower one."""
    height = max(left.shape[0], right.shape[0])
    canvas = np.zeros((height, left.shape[1] + right.shape[1], 3), np.uint8)
    canvas[: left.shape[0], : left.shape[1]] = left
    canvas[: right.shape[0], left.shape[1] :] = right
    return canvas


def lines(
    canvas: np.ndarray, starts: np.ndarray, ends: np.ndarray, values: np.ndarray, scale: Optional[Scale] = None
) -> None:
    """Lines between points (n, 2), coloured by value: blue the lowest, red the highest.

    scale: the values that are blue and red; None: those of the picture, without the outermost twentieths.
    """
    _draw(canvas, np.stack((starts, ends), axis=1), values, False, 1, scale)


def rings(
    canvas: np.ndarray, centers: np.ndarray, values: np.ndarray, radius: float = 3.0, scale: Optional[Scale] = None
) -> None:
    """Rings around points (n, 2), coloured as lines()."""
    turn = np.arange(12) * (2 * np.pi / 12)
    ring = radius * np.stack((np.cos(turn), np.sin(turn)), axis=1)
    _draw(canvas, centers[:, None, :] + ring, values, True, 2, scale)


def _draw(
    canvas: np.ndarray,
    polygons: np.ndarray,
    values: np.ndarray,
    closed: bool,
    thickness: int,
    scale: Optional[Scale],
) -> None:
    """Polygons (n, corners, 2)."""
    if len(values) == 0:
        return
    low, high = np.percentile(values, (5, 95)) if scale is None else scale
    step = (_SHADES - 1) / max(high - low, 1e-6)
    shades = np.clip((values - low) * step, 0, _SHADES - 1).astype(np.uint8)
    ramp = np.linspace(0, 255, _SHADES).astype(np.uint8)
    colors = cv2().applyColorMap(ramp[:, None], cv2().COLORMAP_TURBO)[:, 0].tolist()
    fixed = np.round(polygons * (1 << _SHIFT)).astype(np.int32)
    for shade in np.unique(shades).tolist():
        corners = list(fixed[shades == shade])
        cv2().polylines(canvas, corners, closed, colors[shade], thickness, cv2().LINE_AA, _SHIFT)
