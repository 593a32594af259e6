"""What is sent to FeatureMatching (proto/glint/v1/matching.proto), and what it answers, as bytes."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np

from glint.camera import read_rectified
from glint.encoding import Fields, decode, encode
from glint.errors import invalid
from glint.features import Features, Timings
from glint.image import Encoded, Raw, Shared, fields_of, mask_fields_of, optional_fields_of
from glint.matching import (
    Descriptors,
    ForgetSet,
    Matches,
    MatchResult,
    Pair,
    Side,
    StereoMatches,
    StereoPair,
    StereoResult,
    UpdateSet,
)
from glint.options import frame_id, nanoseconds, present, time_ns
from glint.v1 import calibration_pb2, image_pb2, options_pb2
from glint.v1 import matching_pb2 as pb
from glint.wire import answer_of, equal_lengths, read_answer, read_features, read_timings, read_warnings

_WIDEST_DESCRIPTOR = 64  # bytes: a wider array is an image unless it is a Descriptors
WithRays = Tuple[bool, bool]
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
        raise invalid(name, array, f"is not {kind}, one for each keypoint")
    return array.astype(dtype)


def _set(given: Any, name: str) -> Fields:
    """A DescriptorSet of what is given as descriptors."""
    s = Descriptors.of(given, name) if isinstance(given, Features) else given
    s = s if isinstance(s, Descriptors) else Descriptors(s)
    if not isinstance(s.rows, np.ndarray) or s.rows.dtype != np.uint8 or s.rows.ndim != 2:
        raise invalid(name, s.rows, "is not descriptors: uint8 of (n, bytes)")
    columns = {column: _column(getattr(s, column), f"{name}.{column}", np.float32) for column in ("x", "y", "angle")}
    octave = _column(s.octave, f"{name}.octave", np.int32)
    return {"data": s.rows, "descriptor_bytes": s.rows.shape[1], **columns, "octave": octave}


def _side(side: Side, name: str) -> Fields:
    """A MatchSide."""
    if isinstance(side, str):
        return {"set": side}
    flat = isinstance(side, np.ndarray) and side.ndim == 2
    narrow = flat and side.dtype == np.uint8 and side.shape[1] <= _WIDEST_DESCRIPTOR
    if narrow or isinstance(side, (Features, Descriptors)):
        return {"descriptors": _set(side, name)}
    if not isinstance(side, _IMAGES) or (flat and side.dtype not in (np.uint8, np.uint16)):
        raise invalid(
            name,
            side,
            "is neither descriptors nor an image: pass glint.Features, a uint8 array of (n, bytes), "
            "glint.Descriptors, an image as for detect(), or the name of a set of the stream",
        )
    return {"image": fields_of(side, name)}


def _conditions(windows: Optional[Sequence], octaves: Optional[Sequence]) -> Optional[Fields]:
    """A MatchConditions."""
    fields: Fields = {}
    if windows is not None:
        fields.update(_together(windows, "windows", ("x", "y", "radius"), np.float32))
    if octaves is not None:
        lowest, highest = _together(octaves, "octaves", ("lowest", "highest"), np.int32).values()
        fields.update(min_octave=lowest, max_octave=highest)
    return fields or None


def _together(columns: Sequence, name: str, names: Sequence[str], dtype: type) -> Fields:
    """Columns of one length; a number stands for as many as the others have."""
    try:
        if len(columns) != len(names):
            raise ValueError
        arrays = np.broadcast_arrays(*(np.atleast_1d(c) for c in columns))
    except (TypeError, ValueError):
        raise invalid(name, columns, f"is not ({', '.join(names)}), arrays of equal length") from None
    return {n: _column(a, f"{name}.{n}", dtype) for n, a in zip(names, arrays)}


def _sides(query: Side, train: Side, windows: Optional[Sequence], octaves: Optional[Sequence]) -> Fields:
    sides = {"query": _side(query, "query"), "train": _side(train, "train")}
    return {**sides, "conditions": _conditions(windows, octaves)}


def match_request(
    detector: options_pb2.DetectorOptions,
    options: pb.MatchOptions,
    query: Side,
    train: Side,
    windows: Optional[Sequence] = None,
    octaves: Optional[Sequence] = None,
    gray_range: Optional[image_pb2.GrayRange] = None,
    query_camera: Optional[calibration_pb2.Camera] = None,
    train_camera: Optional[calibration_pb2.Camera] = None,
) -> bytes:
    """A MatchRequest."""
    for name, side in (("query", query), ("train", train)):
        if isinstance(side, str):
            why = "names a set, which only match_stream() has; pass an image as an array or as bytes"
            raise invalid(name, side, why)
    given = {"detector": present(detector), "match": present(options), "gray_range": gray_range}
    cameras = {"query_camera": query_camera, "train_camera": train_camera}
    return encode(pb.MatchRequest, {**given, **cameras, **_sides(query, train, windows, octaves)})


def _update(edit: UpdateSet) -> Fields:
    remove = _column(edit.remove, "remove", np.int64)
    if remove is not None and remove.size and not 0 <= remove.min() <= remove.max() <= 0xFFFFFFFF:
        raise invalid("remove", [int(remove.min()), int(remove.max())], "are not indices from 0 on")
    return {"remove": remove, "add": None if edit.add is None else _set(edit.add, "add")}


def match_item(number: int, item: "Union[Pair, UpdateSet, ForgetSet]") -> bytes:
    """A MatchStreamRequest with a pair or an edit of this frame_id."""
    fields: Fields = {"frame_id": frame_id(number)}
    if isinstance(item, Pair):
        fields["max_age_ns"] = nanoseconds(item.max_age, "max_age")
        pair = {**fields, **_sides(item.query, item.train, item.windows, item.octaves)}
        return encode(pb.MatchStreamRequest, {"pair": pair})
    if not isinstance(item.set, str):
        raise invalid("set", item.set, "is not a name")
    fields["set"] = item.set
    if isinstance(item, ForgetSet):
        return encode(pb.MatchStreamRequest, {"forget_set": fields})
    return encode(pb.MatchStreamRequest, {"update_set": {**fields, **_update(item)}})


def stereo_pair(number: int, pair: StereoPair) -> bytes:
    """A StereoStreamRequest with a pair of this frame_id."""
    fields = {
        "frame_id": frame_id(number),
        "max_age_ns": nanoseconds(pair.max_age, "max_age"),
        "left": fields_of(pair.left, "left"),
        "right": optional_fields_of(pair.right, "right"),
        "mask": mask_fields_of(pair.mask, "mask"),
        "right_mask": mask_fields_of(pair.right_mask, "right_mask"),
        **{name: time_ns(getattr(pair, name), name) for name in ("left_time_ns", "right_time_ns")},
    }
    return encode(pb.StereoStreamRequest, {"pair": fields})


# ---- reading


def _matches(fields: Fields, timings: Timings, query: Side, train: Side, with_rays: WithRays) -> Matches:
    """A response with a MatchResult. Sides that are images have their features in it; of Features it is known what they
    were."""
    found = answer_of(fields, "result")
    matches = found["matches"] or decode(pb.Matches, b"")
    equal_lengths("matches", [matches[name] for name in ("query", "train", "distance")])

    def features(name: str, side: Side, rays: bool) -> Optional[Features]:
        if isinstance(side, Features):
            return side
        return None if found[name] is None else read_features(found[name], timings, with_rays=rays)

    sides = {
        "query_features": features("query", query, with_rays[0]),
        "train_features": features("train", train, with_rays[1]),
    }
    return Matches(**matches, **sides, timings=timings, warnings=read_warnings(fields["warnings"]))


def parse_match(data: bytes, query: Side, train: Side, with_rays: WithRays = (False, False)) -> Matches:
    """A MatchResponse. with_rays: there is a query_camera, and a train_camera."""
    fields = decode(pb.MatchResponse, data)
    return _matches(fields, read_timings(fields["timings"]), query, train, with_rays)


def parse_match_result(
    data: bytes, item: "Union[Pair, UpdateSet, ForgetSet]", with_rays: WithRays = (False, False)
) -> MatchResult:
    """A MatchStreamResponse, to `item`. with_rays: as for parse_match()."""

    def read(fields: Fields, timings: Timings) -> Fields:
        if isinstance(item, Pair):
            return {"found": _matches(fields, timings, item.query, item.train, with_rays)}
        return {"set_size": answer_of(fields, "set").descriptors}

    return read_answer(MatchResult, pb.MatchStreamResponse, data, read)


def parse_stereo_result(data: bytes, with_depth: bool) -> StereoResult:
    """A StereoStreamResponse. with_depth: the stream's options ask for depths."""

    def read(fields: Fields, timings: Timings) -> Fields:
        result = answer_of(fields, "result")
        matches = result["matches"] or decode(pb.StereoMatches, b"")
        index, depth = matches.pop("left"), matches.pop("depth")
        if not with_depth and not len(depth):
            depth = None
        equal_lengths("stereo", [index, *matches.values(), *([] if depth is None else [depth])])
        found = StereoMatches(
            left=read_features(result["left"], timings),
            index=index,
            depth=depth,
            **matches,
            right_keypoints=result["right_keypoints"],
            warnings=read_warnings(result["warnings"]),
            rectified=read_rectified(result["rectified"]),
            timings=timings,
        )
        return {"found": found}

    return read_answer(StereoResult, pb.StereoStreamResponse, data, read)
