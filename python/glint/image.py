"""Images: numpy arrays, files, and memory that is shared with the server, as bytes of the wire contract.

Messages with pixels are put together here and not by protobuf, so that pixels are copied once.
"""
from __future__ import annotations

import dataclasses
from typing import Optional, Union

import numpy as np

from glint.encoding import field, varint
from glint.errors import InvalidArgument
from glint.shared_memory import Slot
from glint.v1 import image_pb2

# Name: dtype, number of dimensions, channels (0: no third dimension).
_LAYOUTS = {
    "gray8": (np.uint8, 0),
    "bgr8": (np.uint8, 3),
    "rgb8": (np.uint8, 3),
    "bgra8": (np.uint8, 4),
    "rgba8": (np.uint8, 4),
    "nv12": (np.uint8, 0),
    "yuyv": (np.uint8, 2),
    "gray16": (np.uint16, 0),
    "bayer_rggb8": (np.uint8, 0),
}
_NUMBERS = {name: image_pb2.PixelFormat.Value("PIXEL_FORMAT_" + name.upper()) for name in _LAYOUTS}
_ENCODINGS = {None: 0, "jpeg": 1, "png": 2, "mjpeg": 3}


@dataclasses.dataclass(frozen=True)
class Raw:
    """An array and the meaning of its elements, where that does not follow from its shape.

    array: (height, width) for gray8, gray16 (uint16) and bayer_rggb8; (height, width, channels) for bgr8, rgb8, bgra8,
    rgba8 and yuyv (2 channels); (height * 3 / 2, width) for nv12.
    """

    array: np.ndarray
    format: str


@dataclasses.dataclass(frozen=True)
class Encoded:
    """The bytes of a JPEG or PNG file, or of a motion-JPEG frame (encoding="mjpeg"). None: the server looks."""

    data: Union[bytes, bytearray, memoryview]
    encoding: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Shared:
    """Pixels that are in a slot of shared memory; see glint.SharedMemory. stride is in bytes, 0: rows without gaps."""

    slot: Slot
    width: int
    height: int
    format: str = "gray8"
    stride: int = 0


ImageLike = Union[np.ndarray, bytes, bytearray, Raw, Encoded, Shared]


def parts_of(image: ImageLike, name: str = "image") -> list:
    """The bytes of an Image message as pieces for bytes.join(). Pixels are pieces of their own and not copied.

    Arrays whose rows or pixels are not next to each other are copied first. Raises InvalidArgument.
    """
    if isinstance(image, Shared):
        return _shared(image, name)
    if isinstance(image, (bytes, bytearray, memoryview)):
        image = Encoded(image)
    if isinstance(image, Encoded):
        return _encoded(image, name)
    if isinstance(image, Raw):
        return _raw(_native(image.array), image.format, name)
    if not isinstance(image, np.ndarray):
        raise InvalidArgument(
            f"{name}: {type(image).__name__} is not an image: pass a numpy array, the bytes of a file, "
            "glint.Raw, glint.Encoded or glint.Shared"
        )
    image = _native(image)
    return _raw(image, _guess(image, name), name)


def _native(array: np.ndarray) -> np.ndarray:
    """16-bit samples with the lower byte first, as the wire has them."""
    return array.astype("<u2") if isinstance(array, np.ndarray) and array.dtype == np.dtype(">u2") else array


def describe(array: np.ndarray) -> str:
    return f"an array of {array.dtype} and shape {array.shape}"


def _guess(array: np.ndarray, name: str) -> str:
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.dtype == np.uint8 and array.ndim in (2, 3) and channels in (1, 3, 4):
        return {1: "gray8", 3: "bgr8", 4: "bgra8"}[channels]
    if array.dtype == np.uint16 and array.ndim == 2:
        return "gray16"
    raise InvalidArgument(
        f"{name}: {describe(array)} is not an image: uint8 of (height, width), (height, width, 3) for BGR or "
        "(height, width, 4) for BGRA, or uint16 of (height, width); for other formats pass glint.Raw"
    )


def _size(array: np.ndarray, form: str, name: str) -> tuple[int, int]:
    if form not in _LAYOUTS:
        raise InvalidArgument(f'{name}.format: "{form}" is not one of {", ".join(_LAYOUTS)}')
    dtype, channels = _LAYOUTS[form]
    fits = array.ndim == (3 if channels else 2) and (not channels or array.shape[2] == channels)
    if not channels and array.ndim == 3 and array.shape[2] == 1:
        fits = True
    if array.dtype != dtype or not fits or array.size == 0:
        shape = f"(height, width, {channels})" if channels else "(height, width)"
        raise InvalidArgument(f"{name}: {describe(array)} is not {form}: {np.dtype(dtype)} of {shape}, not empty")
    height, width = array.shape[:2]
    if form == "nv12":
        if height % 3 != 0:
            raise InvalidArgument(f"{name}: {height} rows are not height * 3 / 2 of an nv12 image")
        height = height * 2 // 3
    return width, height


def _layout(form: str, width: int, height: int, stride: int = 0) -> bytes:
    out = b"\x08" + varint(_NUMBERS[form]) + b"\x10" + varint(width) + b"\x18" + varint(height)
    return out + (b"\x20" + varint(stride) if stride else b"")


def _raw(array: np.ndarray, form: str, name: str) -> list:
    if not isinstance(array, np.ndarray):
        raise InvalidArgument(f"{name}: {type(array).__name__} is not a numpy array")
    width, height = _size(array, form, name)
    pixels = memoryview(np.ascontiguousarray(array)).cast("B")
    return field(1, [_layout(form, width, height) + b"\x2a" + varint(pixels.nbytes), pixels])


def _encoded(image: Encoded, name: str) -> list:
    if image.encoding not in _ENCODINGS:
        raise InvalidArgument(f'{name}.encoding: "{image.encoding}" is not one of jpeg, png, mjpeg')
    data = memoryview(image.data).cast("B")
    if data.nbytes == 0:
        raise InvalidArgument(f"{name}: a file of 0 bytes")
    return field(2, [b"\x08" + varint(_ENCODINGS[image.encoding]) + b"\x12" + varint(data.nbytes), data])


def _shared(image: Shared, name: str) -> list:
    if image.format not in _LAYOUTS:
        raise InvalidArgument(f'{name}.format: "{image.format}" is not one of {", ".join(_LAYOUTS)}')
    for side, value in (("width", image.width), ("height", image.height), ("stride", image.stride)):
        if value < (1 if side != "stride" else 0):
            raise InvalidArgument(f"{name}.{side}: {value} is below {1 if side != 'stride' else 0}")
    dtype, channels = _LAYOUTS[image.format]
    row = image.width * max(channels, 1) * np.dtype(dtype).itemsize
    stride = image.stride or row
    rows = image.height * 3 // 2 if image.format == "nv12" else image.height
    wanted = stride * (rows - 1) + row
    if wanted > image.slot.nbytes:
        raise InvalidArgument(f"{name}: its {wanted} bytes are more than the slot's {image.slot.nbytes}")
    region = image.slot.region.encode()
    return field(
        3,
        [
            _layout(image.format, image.width, image.height, image.stride)
            + b"\x2a" + varint(len(region)) + region + b"\x30" + varint(image.slot.offset)
        ],
    )
