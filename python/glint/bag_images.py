"""ROS's images as clients take them: the rules of the command line (ros/image.h)."""
from __future__ import annotations

from typing import Any, Union

import numpy as np

from glint.errors import InvalidArgument, not_one_of, out_of_range
from glint.image import LONGEST_SIDE, Raw
from glint.several_pictures import several_pictures

# Encodings of pictures: bytes a pixel, and what they are. Of luma and chroma that are apart only luma is taken.
_PICTURES = {
    "mono8": (1, "gray8"),
    "8UC1": (1, "gray8"),
    "mono16": (2, "gray16"),
    "16UC1": (2, "gray16"),
    "bgr8": (3, "bgr8"),
    "rgb8": (3, "rgb8"),
    "bgra8": (4, "bgra8"),
    "rgba8": (4, "rgba8"),
    "bayer_rggb8": (1, "bayer_rggb8"),
    "yuv422_yuy2": (2, "yuyv"),
    "yuyv": (2, "yuyv"),
    "yuv422": (2, "uyvy"),
    "uyvy": (2, "uyvy"),
    "nv12": (1, "gray8"),
    "nv21": (1, "gray8"),
    "nv24": (1, "gray8"),
}
_DEPTHS = {"mono16": (2, "gray16"), "16UC1": (2, "gray16"), "32FC1": (4, "metres")}
_AS_ARRAYS = ("gray8", "bgr8", "bgra8")  # what an array of this shape means without glint.Raw
_FILES = (b"\xff\xd8\xff", b"\x89PNG")


def pixels_of(message: Any, depth: bool) -> "Union[np.ndarray, Raw]":
    """Of a sensor_msgs/Image. Depths are uint16; of metres, millimetres, halves up, and 0 where that is not in
    1..65535. Errors name the fields encoding, width, height, step and data."""
    known = _DEPTHS if depth else _PICTURES
    if message.encoding not in known:
        raise not_one_of("encoding", message.encoding, known)
    pixel, form = known[message.encoding]
    width, height, step = message.width, message.height, message.step
    for name, side in (("width", width), ("height", height)):
        if not 1 <= side <= LONGEST_SIDE:
            raise out_of_range(name, side, 1, LONGEST_SIDE)
    if step < width * pixel:
        raise InvalidArgument(f"step: {step} is less than the row of {width * pixel} bytes", field="step")
    data = np.asarray(message.data, np.uint8)
    if data.size < step * height:
        raise InvalidArgument(f"data: {data.size} bytes are less than {height} rows of {step}", field="data")
    rows = data[: step * height].reshape(height, step)[:, : width * pixel]
    order = ">" if message.is_bigendian else "<"
    if form == "gray16":
        return np.ascontiguousarray(rows).view(f"{order}u2").astype("<u2", copy=False)
    if form == "metres":
        return _millimetres(np.ascontiguousarray(rows).view(f"{order}f4"))
    if form == "uyvy":
        return rows[:, 1::2]
    pixels = rows if pixel == 1 else rows.reshape(height, width, pixel)
    return pixels if form in _AS_ARRAYS else Raw(pixels, form)


def file_of(message: Any, depth: bool) -> bytes:
    """The JPEG or PNG file in a sensor_msgs/CompressedImage."""
    data = np.asarray(message.data, np.uint8).tobytes()
    if not data.startswith(_FILES):
        why = "do not begin as JPEG or PNG; depths are taken as Image of 16UC1 or 32FC1"
        raise InvalidArgument(f'data: {len(data)} bytes of format "{message.format[:100]}" {why}', field="data")
    if depth and not data.startswith(_FILES[1]):
        raise InvalidArgument("data: depths in a JPEG file", field="data")
    if several := several_pictures(data):
        raise InvalidArgument(f"data: has {several}", field="data")
    return data


def _millimetres(metres: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.floor(metres.astype(np.float64) * 1000 + 0.5)
        return np.where((rounded >= 1) & (rounded <= 65535), rounded, 0).astype(np.uint16)
