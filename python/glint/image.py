"""Images: numpy arrays, files, and memory that is shared with the server, as fields of the wire contract's Image.

Messages with pixels are put together by encoding.py and not by protobuf, so that pixels are copied once.
"""
from __future__ import annotations

import dataclasses
from typing import Optional, Sequence, Union

import numpy as np

from glint.encoding import Fields, encode
from glint.errors import InvalidArgument, invalid, not_one_of, out_of_range
from glint.options import names_of
from glint.shared_memory import OtherSlot, Slot
from glint.v1 import image_pb2

# Name: dtype, channels (0: no third dimension).
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
_FORMATS = {name: number for number, name in names_of(image_pb2.PixelFormat.DESCRIPTOR).items()}
_ENCODINGS = {name: number for number, name in names_of(image_pb2.ImageEncoding.DESCRIPTOR).items()}
LONGEST_SIDE = 16384  # as the contract has it


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

    slot: Union[Slot, OtherSlot]
    width: int
    height: int
    format: str = "gray8"
    stride: int = 0


ImageLike = Union[np.ndarray, bytes, bytearray, Raw, Encoded, Shared]
Images = Union[ImageLike, Sequence[ImageLike], None]  # one, or a list or tuple with one of each camera


def fields_of(image: ImageLike, name: str = "image") -> Fields:
    """The fields of an Image message, for encoding.encode(). Pixels are not copied.

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
        why = "is not an image: pass a numpy array, the bytes of a file, glint.Raw, glint.Encoded or glint.Shared"
        raise invalid(name, image, why)
    image = _native(image)
    return _raw(image, _guess(image, name), name)


def mask_fields_of(mask: Optional[ImageLike], name: str = "mask") -> Optional[Fields]:
    """The same for a mask, where True is 255; None stays None."""
    return None if mask is None else fields_of(_with_white(mask), name)


def mask_message(mask: Optional[ImageLike], name: str = "mask") -> Optional[image_pb2.Image]:
    """The same as a message, for the options of a stream."""
    fields = mask_fields_of(mask, name)
    return None if fields is None else _message(fields)


def each_of(images: Images) -> list:
    """One image of each camera."""
    return list(images) if isinstance(images, (list, tuple)) else [images]


def fields_of_masks(masks: Images, name: str = "masks") -> "list[Fields]":
    """mask_fields_of() of each camera's; None: of none."""
    given = () if masks is None else each_of(masks)
    return [fields_of(_with_white(mask), f"{name}[{i}]") for i, mask in enumerate(given)]


def masks_messages(masks: Images) -> "list[image_pb2.Image]":
    """The same as messages."""
    return [_message(fields) for fields in fields_of_masks(masks)]


def _message(fields: Fields) -> image_pb2.Image:
    return image_pb2.Image.FromString(encode(image_pb2.Image, fields))


def _with_white(mask: ImageLike) -> ImageLike:
    """True as 255."""
    is_bool = isinstance(mask, np.ndarray) and mask.dtype == np.bool_
    return mask.astype(np.uint8) * np.uint8(255) if is_bool else mask  # type: ignore[union-attr]


def optional_fields_of(image: Optional[ImageLike], name: str) -> Optional[Fields]:
    """The same; None stays None."""
    return None if image is None else fields_of(image, name)


def _native(array: np.ndarray) -> np.ndarray:
    """16-bit samples with the lower byte first, as the wire has them."""
    return array.astype("<u2") if isinstance(array, np.ndarray) and array.dtype == np.dtype(">u2") else array


def _guess(array: np.ndarray, name: str) -> str:
    channels = array.shape[2] if array.ndim == 3 else 1
    if array.dtype == np.uint8 and array.ndim in (2, 3) and channels in (1, 3, 4):
        return {1: "gray8", 3: "bgr8", 4: "bgra8"}[channels]
    if array.dtype == np.uint16 and array.ndim == 2:
        return "gray16"
    raise invalid(
        name,
        array,
        "is not an image: uint8 of (height, width), (height, width, 3) for BGR or (height, width, 4) for BGRA, "
        "or uint16 of (height, width); for other formats pass glint.Raw",
    )


def _layout(form: str, name: str) -> "tuple[np.dtype, int]":
    if form not in _LAYOUTS:
        raise not_one_of(f"{name}.format", form, _LAYOUTS)
    dtype, channels = _LAYOUTS[form]
    return np.dtype(dtype), channels


def _size(array: np.ndarray, form: str, name: str) -> tuple[int, int]:
    dtype, channels = _layout(form, name)
    fits = array.ndim == (3 if channels else 2) and (not channels or array.shape[2] == channels)
    if not channels and array.ndim == 3 and array.shape[2] == 1:
        fits = True
    if array.dtype != dtype or not fits or array.size == 0:
        shape = f"(height, width, {channels})" if channels else "(height, width)"
        raise invalid(name, array, f"is not {form}: {dtype} of {shape}, not empty")
    height, width = array.shape[:2]
    if form == "nv12":
        if height % 3 != 0:
            raise invalid(name, array, "is not nv12: rows are height * 3 / 2")
        height = height * 2 // 3
    return width, height


def _raw(array: np.ndarray, form: str, name: str) -> Fields:
    if not isinstance(array, np.ndarray):
        raise invalid(name, array, "is not a numpy array")
    width, height = _size(array, form, name)
    pixels = memoryview(np.ascontiguousarray(array)).cast("B")
    return {"raw": {"format": _FORMATS[form], "width": width, "height": height, "data": pixels}}


def _encoded(image: Encoded, name: str) -> Fields:
    if image.encoding is not None and image.encoding not in _ENCODINGS:
        raise not_one_of(f"{name}.encoding", image.encoding, _ENCODINGS)
    data = memoryview(image.data).cast("B")
    if data.nbytes == 0:
        raise InvalidArgument(f"{name}: a file of 0 bytes", field=name)
    return {"encoded": {"encoding": _ENCODINGS.get(image.encoding), "data": data}}


def _shared(image: Shared, name: str) -> Fields:
    dtype, channels = _layout(image.format, name)
    for side, lowest in (("width", 1), ("height", 1), ("stride", 0)):
        if getattr(image, side) < lowest:
            raise out_of_range(f"{name}.{side}", getattr(image, side), lowest, LONGEST_SIDE)
    row = image.width * max(channels, 1) * dtype.itemsize
    rows = image.height * 3 // 2 if image.format == "nv12" else image.height
    wanted = (image.stride or row) * (rows - 1) + row
    slot = image.slot
    if wanted > slot.nbytes:
        raise InvalidArgument(f"{name}: its {wanted} bytes are more than the slot's {slot.nbytes}", field=name)
    layout = {"format": _FORMATS[image.format], "width": image.width, "height": image.height, "stride": image.stride}
    return {"shared": {**layout, "region": slot.region, "offset": slot.offset}}
