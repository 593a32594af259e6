"""The messages of FeatureDetection, and what those of other services have in common with them, to and from bytes."""
from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from glint import errors
from glint.encoding import (
    NUMBER,
    Schema,
    decode,
    decode_message,
    field,
    number_field,
    parse,
    read_bytes,
    read_floats,
    read_integers,
)
from glint.features import Features, Result, Timings
from glint.image import ImageLike, parts_of
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import features_pb2, options_pb2

_FLOATS = ("x", "y", "size", "angle", "response")
_FEATURES: Schema = {
    **{number: (name, read_floats) for number, name in enumerate(_FLOATS, 1)},
    6: ("octave", read_integers),
    7: ("descriptors", read_bytes),
    8: ("descriptor_bytes", NUMBER),
    9: ("truncated", NUMBER),
}
_TIMINGS = tuple(Timings.__dataclass_fields__)
_DROPS = {1: "superseded", 2: "expired", 3: "rejected"}
_LAST_ID = (1 << 64) - 1


# ---- writing


def _images(image: ImageLike, mask: Optional[ImageLike], region: Optional[pb.Region]) -> list:
    """Fields 2, 3 and 4 of DetectRequest and of Frame, which both have alike."""
    parts = field(2, parts_of(image))
    if mask is not None:
        parts += field(3, parts_of(mask, "mask"))
    if region is not None:
        parts += field(4, [region.SerializeToString()])
    return parts


def detect_request(
    options: options_pb2.DetectorOptions,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[pb.Region] = None,
) -> bytes:
    """A DetectRequest."""
    return b"".join(field(1, [options.SerializeToString()]) + _images(image, mask, region))


def stream_options(options: pb.StreamOptions, mask: Optional[ImageLike]) -> bytes:
    """The first DetectStreamRequest of a stream; `options` without its mask."""
    parts = [options.SerializeToString()]
    if mask is not None:
        parts += field(2, parts_of(mask, "mask"))
    return b"".join(field(1, parts))


def frame_id_field(frame_id: int) -> list:
    """Field 1 of what a stream sends: InvalidArgument for what is no number of 64 bits."""
    if isinstance(frame_id, bool) or not hasattr(frame_id, "__index__"):
        raise errors.InvalidArgument(f"frame_id: {frame_id!r} is not a whole number")
    frame_id = frame_id.__index__()
    if not 0 <= frame_id <= _LAST_ID:
        raise errors.InvalidArgument(f"frame_id: {frame_id} is not in 0..{_LAST_ID}")
    return number_field(1, frame_id)


def stream_frame(
    frame_id: int,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[pb.Region] = None,
    max_age_ns: int = 0,
) -> bytes:
    """A DetectStreamRequest with a frame."""
    parts = [*frame_id_field(frame_id), *_images(image, mask, region), *number_field(5, max_age_ns)]
    return b"".join(field(2, parts))


# ---- reading


def read_features(data: bytes, begin: int, end: int) -> Features:
    """A Features message."""
    fields = decode(_FEATURES, data, begin, end)
    octave = fields.get("octave", np.empty(0, np.int32))
    arrays = {name: fields.get(name, np.empty(0, np.float32)) for name in _FLOATS}
    descriptors = fields.get("descriptors", np.empty(0, np.uint8))
    n, width = len(octave), fields.get("descriptor_bytes", 0)
    if any(len(a) != n for a in arrays.values()) or len(descriptors) != n * width:
        raise errors.InternalError("features: the server's arrays differ in length")
    rows = descriptors.reshape(n, width) if width else None
    return Features(**arrays, octave=octave, descriptors=rows, truncated=bool(fields.get("truncated", 0)))


def read_timings(data: bytes, begin: int, end: int) -> Timings:
    """A Timings message."""
    message = parse(features_pb2.Timings, data[begin:end])
    return Timings(*[getattr(message, name) for name in _TIMINGS])


def _read_status(data: bytes, begin: int, end: int) -> tuple[Optional[errors.GlintError], Optional[str]]:
    status = parse(pb.FrameStatus, data[begin:end])
    if status.code == 0:
        return None, None
    retry_after = status.retry_after_ns / 1e9 if status.retry_after_ns else None
    return errors.from_code(status.code, status.message, retry_after), _DROPS.get(status.drop_reason)


# Of the answers of all streams.
_ANSWER: Schema = {1: ("frame_id", NUMBER), 2: ("status", _read_status), 4: ("timings", read_timings)}


def read_answer(make: Callable, kind: type, schema: Schema, data: bytes, found: Callable[[dict], Any]) -> Any:
    """An answer of a stream, whose message is a `kind`: make(), with found(fields of the schema) unless it failed."""
    fields = decode_message(kind, {**_ANSWER, **schema}, data)
    error, drop_reason = fields.get("status", (None, None))
    return make(
        frame_id=fields.get("frame_id", 0),
        error=error,
        drop_reason=drop_reason,
        timings=fields.get("timings", Timings()),
        found=None if error is not None else found(fields),
    )


def features_of(fields: dict, name: str) -> Features:
    """The features that decode() found, with the timings that came with them."""
    features = fields[name] if name in fields else read_features(b"", 0, 0)
    features.timings = fields.get("timings", Timings())
    return features


def parse_detect(data: bytes) -> Features:
    """A DetectResponse."""
    schema = {1: ("features", read_features), 2: ("timings", read_timings)}
    return features_of(decode_message(pb.DetectResponse, schema, data), "features")


def parse_result(data: bytes) -> Result:
    """A DetectStreamResponse."""
    schema = {3: ("features", read_features)}
    return read_answer(Result, pb.DetectStreamResponse, schema, data, lambda fields: features_of(fields, "features"))
