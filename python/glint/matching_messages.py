"""What is sent to FeatureMatching (proto/glint/v1/matching.proto), as bytes."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from glint.encoding import array_field, field, number_field
from glint.errors import InvalidArgument
from glint.features import Features
from glint.image import Encoded, Raw, Shared, describe, parts_of
from glint.matching import Descriptors, Pair, SetEdit, Side, StereoPair
from glint.options import nanoseconds
from glint.v1 import matching_pb2 as pb
from glint.v1 import options_pb2
from glint.wire import frame_id_field

_WIDEST_DESCRIPTOR = 64  # bytes: a wider array is an image unless it is a Descriptors
_IMAGES = (np.ndarray, bytes, bytearray, memoryview, Raw, Encoded, Shared)


def _column(values: Any, name: str, dtype: type) -> Optional[np.ndarray]:
    """An array with an element for each keypoint; None stays None."""
    if values is None:
        return None
    array = np.asarray(values)
    whole = np.dtype(dtype).kind == "i"
    if array.ndim != 1 or (array.size and array.dtype.kind not in ("iu" if whole else "iuf")):
        kind = "whole numbers" if whole else "numbers"
        raise InvalidArgument(f"{name}: {describe(array)} is not {kind}, one for each keypoint")
    return array.astype(dtype)


def _descriptors(rows: Any, name: str) -> Descriptors:
    """What is given as descriptors, checked."""
    if isinstance(rows, Features):
        return Descriptors.of(rows, name)
    given = rows if isinstance(rows, Descriptors) else Descriptors(rows)
    array = given.rows
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 2:
        what = describe(array) if isinstance(array, np.ndarray) else type(array).__name__
        raise InvalidArgument(f"{name}: {what} is not descriptors: uint8 of (n, bytes)")
    return given


def _set_parts(given: Any, name: str) -> list:
    """The pieces of a DescriptorSet."""
    s = _descriptors(given, name)
    return [
        *array_field(1, s.rows),
        *number_field(2, s.rows.shape[1]),
        *array_field(3, _column(s.x, f"{name}.x", np.float32)),
        *array_field(4, _column(s.y, f"{name}.y", np.float32)),
        *array_field(5, _column(s.octave, f"{name}.octave", np.int32)),
        *array_field(6, _column(s.angle, f"{name}.angle", np.float32)),
    ]


def _side(side: Side, name: str) -> list:
    """The pieces of a MatchSide."""
    if isinstance(side, str):
        return field(3, [side.encode()])
    flat = isinstance(side, np.ndarray) and side.ndim == 2
    if flat and side.dtype == np.uint8 and side.shape[1] <= _WIDEST_DESCRIPTOR:
        return field(2, _set_parts(side, name))
    if isinstance(side, (Features, Descriptors)):
        return field(2, _set_parts(side, name))
    if not isinstance(side, _IMAGES) or (flat and side.dtype not in (np.uint8, np.uint16)):
        what = describe(side) if isinstance(side, np.ndarray) else type(side).__name__
        raise InvalidArgument(
            f"{name}: {what} is neither descriptors nor an image: pass glint.Features, a uint8 array of (n, bytes), "
            "glint.Descriptors, an image as for detect(), or the name of a set of the stream"
        )
    return field(1, parts_of(side, name))


def _conditions(windows: Optional[Sequence], octaves: Optional[Sequence]) -> list:
    """The pieces of a MatchConditions."""
    parts: list = []
    if windows is not None:
        for number, column in enumerate(_together(windows, "windows", ("x", "y", "radius"), np.float32), 1):
            parts += array_field(number, column)
    if octaves is not None:
        for number, column in enumerate(_together(octaves, "octaves", ("lowest", "highest"), np.int32), 4):
            parts += array_field(number, column)
    return parts


def _together(columns: Sequence, name: str, names: Sequence[str], dtype: type) -> "list[np.ndarray]":
    """Columns of one length; a number stands for as many as the others have."""
    try:
        if len(columns) != len(names):
            raise ValueError
        arrays = np.broadcast_arrays(*(np.atleast_1d(c) for c in columns))
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}: is not ({', '.join(names)}), arrays of equal length") from None
    return [_column(a, f"{name}.{n}", dtype) for n, a in zip(names, arrays)]  # type: ignore[misc]


def _sides(query: Side, train: Side, windows: Optional[Sequence], octaves: Optional[Sequence]) -> list:
    """Fields 3, 4 and 5 of MatchRequest and of MatchPair, which both have alike."""
    parts = [*field(3, _side(query, "query")), *field(4, _side(train, "train"))]
    conditions = _conditions(windows, octaves)
    return parts + (field(5, conditions) if conditions else [])


def match_request(
    detector: options_pb2.DetectorOptions,
    options: pb.MatchOptions,
    query: Side,
    train: Side,
    windows: Optional[Sequence] = None,
    octaves: Optional[Sequence] = None,
) -> bytes:
    """A MatchRequest."""
    for name, side in (("query", query), ("train", train)):
        if isinstance(side, str):
            raise InvalidArgument(
                f'{name}: "{side}" names a set, which only match_stream() has; pass an image as an array or as bytes'
            )
    parts = [*field(1, [detector.SerializeToString()]), *field(2, [options.SerializeToString()])]
    return b"".join(parts + _sides(query, train, windows, octaves))


def match_pair(frame_id: int, pair: Pair) -> bytes:
    """A MatchStreamRequest with a pair."""
    age = number_field(2, nanoseconds(pair.max_age, "max_age"))
    parts = [*frame_id_field(frame_id), *age, *_sides(pair.query, pair.train, pair.windows, pair.octaves)]
    return b"".join(field(2, parts))


def set_edit(frame_id: int, edit: SetEdit) -> bytes:
    """A MatchStreamRequest with an edit."""
    if not isinstance(edit.set, str):
        raise InvalidArgument(f"set: {type(edit.set).__name__} is not a name")
    remove = _column(edit.remove, "remove", np.int64)
    if remove is not None and remove.size and not 0 <= remove.min() <= remove.max() <= 0xFFFFFFFF:
        raise InvalidArgument(f"remove: {remove.min()} or {remove.max()} is not an index from 0 on")
    parts = [*frame_id_field(frame_id), *field(2, [edit.set.encode()]), *array_field(3, remove)]
    if edit.add is not None:
        parts += field(4, _set_parts(edit.add, "add"))
    return b"".join(field(3, parts + number_field(5, int(edit.forget))))


def stereo_pair(frame_id: int, pair: StereoPair) -> bytes:
    """A StereoStreamRequest with a pair."""
    age = number_field(2, nanoseconds(pair.max_age, "max_age"))
    parts = [*frame_id_field(frame_id), *age, *field(3, parts_of(pair.left, "left"))]
    if pair.right is not None:
        parts += field(4, parts_of(pair.right, "right"))
    for number, name in ((5, "left_time_ns"), (6, "right_time_ns")):
        time = getattr(pair, name)
        if isinstance(time, bool) or not hasattr(time, "__index__") or not 0 <= time < 1 << 63:
            raise InvalidArgument(f"{name}: {time!r} is not whole nanoseconds from 0 on")
        parts += number_field(number, time.__index__())
    return b"".join(field(2, parts))
