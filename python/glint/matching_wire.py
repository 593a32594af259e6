"""The messages of FeatureMatching (proto/glint/v1/matching.proto), to and from bytes."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from glint import errors
from glint.encoding import (
    NUMBER,
    Repeated,
    Schema,
    array_field,
    decode,
    decode_message,
    field,
    number_field,
    parse,
    read_floats,
    read_integers,
)
from glint.features import Features, Timings
from glint.image import Encoded, Raw, Shared, describe, parts_of
from glint.matching import (
    Descriptors,
    Matches,
    MatchResult,
    Pair,
    SetEdit,
    Side,
    StereoMatches,
    StereoPair,
    StereoResult,
    StereoWarning,
)
from glint.options import nanoseconds
from glint.v1 import matching_pb2 as pb
from glint.v1 import options_pb2
from glint.wire import features_of, frame_id_field, read_answer, read_features, read_timings

_WIDEST_DESCRIPTOR = 64  # bytes: a wider array is an image unless it is a Descriptors
_IMAGES = (np.ndarray, bytes, bytearray, memoryview, Raw, Encoded, Shared)


# ---- writing


def _column(values: Any, name: str, dtype: type) -> Optional[np.ndarray]:
    """An array with an element for each keypoint; None stays None."""
    if values is None:
        return None
    array = np.asarray(values)
    whole = np.dtype(dtype).kind == "i"
    if array.ndim != 1 or (array.size and array.dtype.kind not in ("iu" if whole else "iuf")):
        kind = "whole numbers" if whole else "numbers"
        raise errors.InvalidArgument(f"{name}: {describe(array)} is not {kind}, one for each keypoint")
    return array.astype(dtype)


def _descriptors(rows: Any, name: str) -> Descriptors:
    """What is given as descriptors, checked."""
    if isinstance(rows, Features):
        return Descriptors.of(rows, name)
    given = rows if isinstance(rows, Descriptors) else Descriptors(rows)
    array = given.rows
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 2:
        what = describe(array) if isinstance(array, np.ndarray) else type(array).__name__
        raise errors.InvalidArgument(f"{name}: {what} is not descriptors: uint8 of (n, bytes)")
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
        raise errors.InvalidArgument(
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
        given = dict(zip(names, columns))
        if len(given) != len(names) or len(columns) != len(names):
            raise TypeError
        arrays = np.broadcast_arrays(*(np.atleast_1d(c) for c in columns))
    except (TypeError, ValueError):
        raise errors.InvalidArgument(f"{name}: is not ({', '.join(names)}), arrays of equal length") from None
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
            raise errors.InvalidArgument(
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
        raise errors.InvalidArgument(f"set: {type(edit.set).__name__} is not a name")
    remove = _column(edit.remove, "remove", np.int64)
    if remove is not None and remove.size and not 0 <= remove.min() <= remove.max() <= 0xFFFFFFFF:
        raise errors.InvalidArgument(f"remove: {remove.min()} or {remove.max()} is not an index from 0 on")
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
            raise errors.InvalidArgument(f"{name}: {time!r} is not whole nanoseconds from 0 on")
        parts += number_field(number, time.__index__())
    return b"".join(field(2, parts))


# ---- reading

_MATCHES: Schema = {
    1: ("query", read_integers),
    2: ("train", read_integers),
    3: ("distance", read_integers),
    4: ("queries", NUMBER),
    5: ("trains", NUMBER),
}
_STEREO_MATCHES: Schema = {
    1: ("index", read_integers),
    2: ("right_x", read_floats),
    3: ("disparity", read_floats),
    4: ("depth", read_floats),
    5: ("distance", read_integers),
}


def _equal_lengths(name: str, arrays: dict) -> None:
    if len({len(a) for a in arrays.values()}) > 1:
        raise errors.InternalError(f"{name}: the server's arrays differ in length")


def _read_matches(data: bytes, begin: int, end: int) -> dict:
    fields = decode(_MATCHES, data, begin, end)
    arrays = {name: fields.get(name, np.empty(0, np.int32)) for name in ("query", "train", "distance")}
    _equal_lengths("matches", arrays)
    return {**arrays, "queries": fields.get("queries", 0), "trains": fields.get("trains", 0)}


def _read_stereo_matches(data: bytes, begin: int, end: int) -> dict:
    fields = decode(_STEREO_MATCHES, data, begin, end)
    arrays = {name: fields.get(name, np.empty(0, np.int32)) for name in ("index", "distance")}
    arrays.update({name: fields.get(name, np.empty(0, np.float32)) for name in ("right_x", "disparity")})
    if "depth" in fields:
        arrays["depth"] = fields["depth"]
    _equal_lengths("stereo", arrays)
    return {"depth": None, **arrays}


def _read_warning(data: bytes, begin: int, end: int) -> StereoWarning:
    message = parse(pb.StereoWarning, data[begin:end])
    name = pb.StereoWarningKind.Name(message.kind) if message.kind in pb.StereoWarningKind.values() else ""
    kind = name[len("STEREO_WARNING_KIND_"):].lower() or str(message.kind)
    return StereoWarning(kind, message.figure, message.text)


_MATCHED: Schema = {
    1: ("matches", _read_matches),
    2: ("timings", read_timings),
    3: ("query", read_features),
    4: ("train", read_features),
    5: ("match_ns", NUMBER),
}
_MATCH_ANSWER: Schema = {
    3: ("matches", _read_matches),
    5: ("query", read_features),
    6: ("train", read_features),
    7: ("match_ns", NUMBER),
    8: ("set_size", NUMBER),
}
_STEREO_ANSWER: Schema = {
    3: ("left", read_features),
    5: ("matches", _read_stereo_matches),
    6: ("warnings", Repeated(_read_warning)),
    7: ("match_ns", NUMBER),
    8: ("right_keypoints", NUMBER),
}


def _matches_of(fields: dict, query: Side, train: Side) -> Matches:
    """Sides that are images have their features in the answer; of Features it is known what they were."""

    def features(name: str, side: Side) -> Optional[Features]:
        if isinstance(side, Features):
            return side
        return features_of(fields, name) if name in fields else None

    return Matches(
        **(fields["matches"] if "matches" in fields else _read_matches(b"", 0, 0)),
        query_features=features("query", query),
        train_features=features("train", train),
        timings=fields.get("timings", Timings()),
        match_ns=fields.get("match_ns", 0),
    )


def parse_match(data: bytes, query: Side, train: Side) -> Matches:
    """A MatchResponse."""
    return _matches_of(decode_message(pb.MatchResponse, _MATCHED, data), query, train)


def parse_match_result(data: bytes, item: "Pair | SetEdit") -> MatchResult:
    """A MatchStreamResponse, to `item`."""
    size = 0

    def found(fields: dict) -> Optional[Matches]:
        nonlocal size
        size = fields.get("set_size", 0)
        return None if isinstance(item, SetEdit) else _matches_of(fields, item.query, item.train)

    result = read_answer(MatchResult, pb.MatchStreamResponse, _MATCH_ANSWER, data, found)
    result.set_size = size
    return result


def parse_stereo_result(data: bytes, with_depth: bool) -> StereoResult:
    """A StereoStreamResponse. with_depth: the stream's options ask for depths."""

    def found(fields: dict) -> StereoMatches:
        matches = fields["matches"] if "matches" in fields else _read_stereo_matches(b"", 0, 0)
        if with_depth and not len(matches["index"]):  # an empty array is absent
            matches["depth"] = np.empty(0, np.float32)
        return StereoMatches(
            left=features_of(fields, "left"),
            **matches,
            right_keypoints=fields.get("right_keypoints", 0),
            warnings=tuple(fields.get("warnings", ())),
            timings=fields.get("timings", Timings()),
            match_ns=fields.get("match_ns", 0),
        )

    return read_answer(StereoResult, pb.StereoStreamResponse, _STEREO_ANSWER, data, found)
