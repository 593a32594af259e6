"""What is sent to FeatureTracking (proto/glint/v1/tracking.proto), and what it answers, as bytes."""
from __future__ import annotations

import operator
from typing import Any, Sequence

import numpy as np

from glint.encoding import (
    NUMBER,
    Repeated,
    Schema,
    array_field,
    decode,
    decode_message,
    field,
    number_field,
    read_floats,
    read_integers,
    read_unsigned,
)
from glint.errors import InternalError, InvalidArgument
from glint.image import describe, parts_of
from glint.options import nanoseconds
from glint.tracking import AddPoints, ForgetTracks, ResetTracks, TrackFrame, TrackItem, TrackPrediction, TrackResult, Tracks
from glint.v1 import tracking_pb2 as pb
from glint.wire import frame_id_field, read_answer

_COLUMNS = {
    "ids": (2, read_unsigned, np.uint64),
    "age": (3, read_integers, np.int32),
    "x": (4, read_floats, np.float32),
    "y": (5, read_floats, np.float32),
    "last_x": (6, read_floats, np.float32),
    "last_y": (7, read_floats, np.float32),
    "state": (8, read_integers, np.int32),
    "residual": (9, read_floats, np.float32),
    "alpha": (10, read_floats, np.float32),
    "beta": (11, read_floats, np.float32),
    "template_age": (13, read_integers, np.int32),
}
_TRACKS: Schema = {
    1: ("camera", NUMBER),
    **{number: (name, read) for name, (number, read, _) in _COLUMNS.items()},
    12: ("detected", NUMBER),
}


def images_of(frame: TrackFrame) -> list:
    """The frame's images, one of each camera."""
    return list(frame.images) if isinstance(frame.images, (list, tuple)) else [frame.images]


def _whole(value: Any, name: str, highest: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= value <= highest:
        raise InvalidArgument(f"{name}: {value!r} is not a whole number in 0..{highest}")
    return value.__index__()


def _frame(frame: TrackFrame) -> list:
    images = images_of(frame)
    parts = [
        *number_field(2, nanoseconds(frame.max_age, "max_age")),
        *number_field(3, _whole(frame.time_ns, "time_ns", (1 << 63) - 1)),
    ]
    for index, image in enumerate(images):
        parts += field(4, parts_of(image, f"images[{index}]"))
    parts += number_field(5, int(bool(frame.detect)))
    for prediction in frame.predictions:
        parts += field(6, _prediction(prediction))
    return parts


def _reset(edit: ResetTracks) -> list:
    if edit.camera is None:
        return []
    camera = _whole(edit.camera, "camera", (1 << 32) - 1)
    return number_field(2, camera) or [b"\x10\x00"]  # camera 0 is not the same as none


def _ids(values: Sequence[int]) -> np.ndarray:
    try:
        ids = [operator.index(i) for i in values]
    except TypeError as error:
        raise InvalidArgument(f"ids: not whole numbers ({error})") from None
    if ids and not 0 < min(ids) <= max(ids) < 1 << 64:
        raise InvalidArgument(f"ids: {min(ids)} or {max(ids)} is not in 1..{(1 << 64) - 1}")
    return np.array(ids, np.uint64)


def _points(values: Any) -> np.ndarray:
    """float32 (2, n) of numbers of (n, 2)."""
    points = np.asarray(values)
    if points.size == 0:
        points = np.empty((0, 2), np.float32)
    if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind not in "iuf":
        raise InvalidArgument(f"points: {describe(points)} is not numbers of (n, 2)")
    return points.T.astype(np.float32)


def _prediction(prediction: TrackPrediction) -> list:
    parts = number_field(1, _whole(prediction.camera, "camera", (1 << 32) - 1))
    if prediction.homography is not None:
        matrix = np.asarray(prediction.homography)
        if matrix.shape != (3, 3) or matrix.dtype.kind not in "iuf":
            raise InvalidArgument(f"homography: {describe(matrix)} is not numbers of (3, 3)")
        parts += array_field(2, matrix.ravel().astype(np.float32))
    ids, (x, y) = _ids(prediction.ids), _points(prediction.points)
    if len(ids) != len(x):
        raise InvalidArgument(f"points: {len(x)}, but ids: {len(ids)}")
    return parts + array_field(3, ids) + array_field(4, x) + array_field(5, y)


def _forget(edit: ForgetTracks) -> list:
    return array_field(2, _ids(edit.ids))


def _add(edit: AddPoints) -> list:
    x, y = _points(edit.points)
    camera = number_field(2, _whole(edit.camera, "camera", (1 << 32) - 1))
    return camera + array_field(3, x) + array_field(4, y)


_WRITERS = {TrackFrame: (2, _frame), ResetTracks: (3, _reset), ForgetTracks: (4, _forget), AddPoints: (5, _add)}


def track_item(frame_id: int, item: TrackItem) -> bytes:
    """A TrackStreamRequest with a frame or an edit."""
    number, write = _WRITERS[type(item)]
    return b"".join(field(number, [*frame_id_field(frame_id), *write(item)]))  # type: ignore[operator]


def _read_tracks(data: bytes, begin: int, end: int) -> Tracks:
    fields = decode(_TRACKS, data, begin, end)
    arrays = {name: fields.get(name, np.empty(0, dtype)) for name, (_, _, dtype) in _COLUMNS.items()}
    lengths = {len(a) for name, a in arrays.items() if name != "template_age"}
    if len(lengths) > 1 or len(arrays["template_age"]) not in {0, *lengths}:
        raise InternalError("tracks: the server's arrays differ in length")
    for name in ("age", "template_age"):
        arrays[name] = arrays[name].view(np.uint32)
    return Tracks(**arrays, camera=fields.get("camera", 0), detected=bool(fields.get("detected", 0)))


_ANSWER: Schema = {3: ("cameras", Repeated(_read_tracks)), 5: ("track_ns", NUMBER)}


def parse_track_result(data: bytes) -> TrackResult:
    """A TrackStreamResponse."""
    track_ns = 0

    def found(fields: dict) -> "tuple[Tracks, ...]":
        nonlocal track_ns
        track_ns = fields.get("track_ns", 0)
        return tuple(fields.get("cameras", ()))

    result = read_answer(TrackResult, pb.TrackStreamResponse, _ANSWER, data, found)
    result.track_ns = track_ns
    return result
