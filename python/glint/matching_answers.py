"""What FeatureMatching answers (proto/glint/v1/matching.proto), from bytes."""
from __future__ import annotations

from typing import Optional

import numpy as np

from glint.encoding import NUMBER, Repeated, Schema, decode, decode_message, parse, read_floats, read_integers
from glint.errors import InternalError
from glint.features import Features, Timings
from glint.matching import Matches, MatchResult, Pair, SetEdit, Side, StereoMatches, StereoResult, StereoWarning
from glint.v1 import matching_pb2 as pb
from glint.wire import features_of, read_answer, read_features, read_timings

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
        raise InternalError(f"{name}: the server's arrays differ in length")


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
