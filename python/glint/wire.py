"""Messages with frames and features, to and from bytes.

Protobuf's Python classes would copy pixels twice and turn every coordinate into a Python object. Packed fields are
contiguous on the wire, so numpy takes them as they are. What is not encoded as every protobuf library does it is left
to protobuf's own parser.
"""
from __future__ import annotations

import warnings
from typing import Optional

import numpy as np
from google.protobuf.message import DecodeError

from glint import errors
from glint.features import Features, Result, Timings
from glint.image import ImageLike, parts_of, size_of, varint
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import features_pb2, options_pb2

_FLOATS = {1: "x", 2: "y", 3: "size", 4: "angle", 5: "response"}
_TIMINGS = tuple(Timings.__dataclass_fields__)
_DROPS = {1: "superseded", 2: "expired", 3: "rejected"}


class _Unusual(Exception):
    """Well-formed, maybe, but not what this parser is for."""


def _field(number: int, parts: list) -> list:
    return [bytes((number << 3 | 2,)) + varint(size_of(parts)), *parts]


def _images(image: ImageLike, mask: Optional[ImageLike], region: Optional[pb.Region]) -> list:
    """Fields 2, 3 and 4 of DetectRequest and of Frame, which both have alike."""
    parts = _field(2, parts_of(image))
    if mask is not None:
        parts += _field(3, parts_of(mask, "mask"))
    if region is not None:
        parts += _field(4, [region.SerializeToString()])
    return parts


def detect_request(
    options: options_pb2.DetectorOptions,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[pb.Region] = None,
) -> bytes:
    """A DetectRequest."""
    return b"".join(_field(1, [options.SerializeToString()]) + _images(image, mask, region))


def stream_options(options: pb.StreamOptions, mask: Optional[ImageLike]) -> bytes:
    """The first DetectStreamRequest of a stream; `options` without its mask."""
    parts = [options.SerializeToString()]
    if mask is not None:
        parts += _field(2, parts_of(mask, "mask"))
    return b"".join(_field(1, parts))


def stream_frame(
    frame_id: int,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[pb.Region] = None,
    max_age_ns: int = 0,
) -> bytes:
    """A DetectStreamRequest with a frame."""
    if not 0 <= frame_id < 1 << 64:
        raise errors.InvalidArgument(f"frame_id: {frame_id} is not in 0..{(1 << 64) - 1}")
    parts = [b"\x08" + varint(frame_id), *_images(image, mask, region)]
    if max_age_ns:
        parts.append(b"\x28" + varint(max_age_ns))
    return b"".join(_field(2, parts))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise _Unusual


def _fields(data: bytes, at: int, end: int):
    """(field number, value or None, begin, end) of each field between `at` and `end`."""
    while at < end:
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value, at, at
        elif kind == 2:
            length, at = _read_varint(data, at)
            if length > end - at:
                raise _Unusual
            yield tag >> 3, None, at, at + length
            at += length
        else:
            raise _Unusual
    if at != end:
        raise _Unusual


def _features(data: bytes, at: int, end: int) -> Features:
    arrays = {name: np.empty(0, np.float32) for name in _FLOATS.values()}
    octave = np.empty(0, np.int32)
    descriptors, width, truncated = np.empty(0, np.uint8), 0, False
    seen = set()
    for number, value, begin, stop in _fields(data, at, end):
        # A field that comes twice, or unpacked, is for protobuf to merge.
        if number in seen or (number <= 7) != (value is None):
            raise _Unusual
        seen.add(number)
        if number in _FLOATS:
            if (stop - begin) % 4:
                raise _Unusual
            arrays[_FLOATS[number]] = np.frombuffer(data, "<f4", (stop - begin) // 4, begin).astype(np.float32)
        elif number == 6:
            levels = np.frombuffer(data, np.uint8, stop - begin, begin)
            if levels.size and levels.max() >= 0x80:
                raise _Unusual
            octave = levels.astype(np.int32)
        elif number == 7:
            descriptors = np.frombuffer(data, np.uint8, stop - begin, begin).copy()
        elif number == 8:
            width = value
        elif number == 9:
            truncated = bool(value)
    return _checked(arrays, octave, descriptors, width, truncated)


def _checked(arrays: dict, octave: np.ndarray, descriptors, width: int, truncated: bool) -> Features:
    n = len(octave)
    if any(len(a) != n for a in arrays.values()) or len(descriptors) != n * width:
        raise errors.InternalError("features: the server's arrays differ in length")
    rows = descriptors.reshape(n, width) if width else None
    return Features(**arrays, octave=octave, descriptors=rows, truncated=truncated)


def _features_from(message: features_pb2.Features) -> Features:
    arrays = {name: np.array(getattr(message, name), np.float32) for name in _FLOATS.values()}
    descriptors = np.frombuffer(message.descriptors, np.uint8).copy()
    octave = np.array(message.octave, np.int32)
    return _checked(arrays, octave, descriptors, message.descriptor_bytes, message.truncated)


def _timings(message: features_pb2.Timings) -> Timings:
    return Timings(*[getattr(message, name) for name in _TIMINGS])


def parse_detect(data: bytes) -> Features:
    """A DetectResponse."""
    found, timings = None, Timings()
    try:
        for number, _, begin, end in _fields(data, 0, len(data)):
            if number == 1:
                if found is not None:
                    raise _Unusual
                found = _features(data, begin, end)
            elif number == 2:
                timings = _timings(_parse(features_pb2.Timings, data[begin:end]))
    except (_Unusual, IndexError):
        message = _parse(pb.DetectResponse, data)
        found, timings = _features_from(message.features), _timings(message.timings)
    if found is None:
        found = _features_from(features_pb2.Features())
    found.timings = timings
    return found


def parse_result(data: bytes) -> Result:
    """A DetectStreamResponse."""
    result = Result(0)
    try:
        for number, value, begin, end in _fields(data, 0, len(data)):
            if number == 1:
                result.frame_id = value
            elif number == 2:
                _set_status(_parse(pb.FrameStatus, data[begin:end]), result)
            elif number == 3:
                if result.found is not None:
                    raise _Unusual
                result.found = _features(data, begin, end)
            elif number == 4:
                result.timings = _timings(_parse(features_pb2.Timings, data[begin:end]))
    except (_Unusual, IndexError, TypeError):
        message = _parse(pb.DetectStreamResponse, data)
        result = Result(message.frame_id, timings=_timings(message.timings))
        _set_status(message.status, result)
        result.found = _features_from(message.features)
    if result.error is not None:
        result.found = None
    elif result.found is None:
        result.found = _features_from(features_pb2.Features())
    if result.found is not None:
        result.found.timings = result.timings
    return result


def _set_status(status: pb.FrameStatus, result: Result) -> None:
    if status.code == 0:
        return
    retry_after = status.retry_after_ns / 1e9 if status.retry_after_ns else None
    result.error = errors.from_code(status.code, status.message, retry_after)
    result.drop_reason = _DROPS.get(status.drop_reason)


def _parse(kind, data: bytes):
    message = kind()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not converted is an error below
            whole = message.MergeFromString(data) in (len(data), None)
    except DecodeError:
        whole = False
    if not whole:
        raise errors.InternalError(f"the server's answer is not a {kind.DESCRIPTOR.name}")
    return message
