"""What is sent to Localization (proto/glint/v1/localization.proto), and what it answers, as bytes."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from glint.encoding import NUMBER, Repeated, Schema, decode, field, number_field, parse, read_floats, read_unsigned
from glint.errors import InternalError, InvalidArgument
from glint.image import describe, parts_of
from glint.localization import (
    DepthCamera,
    GetMap,
    LoadMap,
    LocalizeItem,
    LocalizePair,
    LocalizeResult,
    Location,
    LocationStatus,
    MapPart,
    SaveMap,
    StereoCamera,
)
from glint.options import nanoseconds
from glint.v1 import localization_pb2 as pb
from glint.wire import frame_id_field, read_answer

_UPPER = np.triu_indices(6)


def _numbers(values: Any, name: str, count: int) -> list:
    """`count` numbers, flat."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}: {values!r} is not {count} numbers") from None
    if array.size != count:
        raise InvalidArgument(f"{name}: {describe(array)} is not {count} numbers")
    return array.ravel().tolist()


def camera(given: StereoCamera) -> pb.StereoCamera:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, StereoCamera):
        raise InvalidArgument(f"camera: {type(given).__name__} is not glint.StereoCamera")
    message = pb.StereoCamera()
    for name in ("width", "height", "focal_length", "centre_x", "centre_y", "baseline"):
        try:
            setattr(message, name, getattr(given, name))
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"camera.{name}: {getattr(given, name)!r} is not a value for it ({error})") from None
    for name in ("left_projection", "right_projection"):
        if getattr(given, name) is not None:
            getattr(message, name).extend(_numbers(getattr(given, name), f"camera.{name}", 12))
    if given.rig_rotation is not None:
        x, y, z = _numbers(given.rig_rotation, "camera.rig_rotation", 3)
        message.rig_rotation.CopyFrom(pb.Rotation(x=x, y=y, z=z))
    return message


def depth_camera(given: DepthCamera) -> pb.DepthCamera:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, DepthCamera):
        raise InvalidArgument(f"depth: {type(given).__name__} is not glint.DepthCamera")
    message = pb.DepthCamera()
    for name in ("unit", "nearest", "farthest"):
        try:
            setattr(message, name, getattr(given, name))
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"depth.{name}: {getattr(given, name)!r} is not a value for it ({error})") from None
    return message


def _pair(pair: LocalizePair) -> list:
    if isinstance(pair.time_ns, bool) or not hasattr(pair.time_ns, "__index__") or not 0 <= pair.time_ns < 1 << 63:
        raise InvalidArgument(f"time_ns: {pair.time_ns!r} is not whole nanoseconds from 0 on")
    parts = [*number_field(2, nanoseconds(pair.max_age, "max_age")), *field(3, parts_of(pair.left, "left"))]
    if pair.right is not None:
        parts += field(4, parts_of(pair.right, "right"))
    parts += number_field(5, pair.time_ns.__index__())
    return parts if pair.depth is None else parts + field(6, parts_of(pair.depth, "depth"))


def _name(request: "SaveMap | LoadMap") -> list:
    if not isinstance(request.name, str):
        raise InvalidArgument(f"name: {request.name!r} is not a text")
    return field(2, [request.name.encode()])


def _start(request: GetMap) -> list:
    if request.start is None:
        return []
    try:
        keyframe, point = request.start
        return field(2, [pb.MapPosition(keyframe=keyframe, point=point).SerializeToString()])
    except (TypeError, ValueError):
        raise InvalidArgument(f"start: {request.start!r} is not (keyframe, point), ids from 0 on") from None


def localize_item(frame_id: int, item: LocalizeItem) -> bytes:
    """A LocalizeStreamRequest with a pair or a request."""
    if isinstance(item, LocalizePair):
        number, parts = (3 if item.relocalize else 2), _pair(item)
    elif isinstance(item, GetMap):
        number, parts = 4, _start(item)
    else:
        number, parts = (5 if isinstance(item, SaveMap) else 6), _name(item)
    return b"".join(field(number, [*frame_id_field(frame_id), *parts]))


def _matrix(pose: pb.Pose) -> np.ndarray:
    """float64 (4, 4) of a quaternion of length 1 and a position."""
    x, y, z, w = pose.qx, pose.qy, pose.qz, pose.qw
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), pose.x],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), pose.y],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), pose.z],
            [0, 0, 0, 1],
        ]
    )


def _read_location(data: bytes, begin: int, end: int) -> Location:
    message = parse(pb.Location, data[begin:end])
    if message.status not in LocationStatus.__members__.values() or len(message.covariance) not in (0, len(_UPPER[0])):
        raise InternalError("location: the server's answer has an unknown status or a covariance of another size")
    covariance: Optional[np.ndarray] = None
    if message.covariance:
        covariance = np.zeros((6, 6))
        covariance[_UPPER] = message.covariance
        covariance.T[_UPPER] = message.covariance
    plain = ("keypoints", "matches", "inliers", "reprojection_error", "keyframe", "loop_closed", "map_full")
    return Location(
        status=LocationStatus(message.status),
        world_from_camera=_matrix(message.pose),
        covariance=covariance,
        **{name: getattr(message, name) for name in plain},
        rig_rotation=np.array([message.rig_rotation.x, message.rig_rotation.y, message.rig_rotation.z]),
        rig_uncertainty=np.array([message.rig_uncertainty.x, message.rig_uncertainty.y, message.rig_uncertainty.z]),
        warnings=tuple(message.warnings),
    )


def _read_keyframe(data: bytes, begin: int, end: int) -> Any:
    return parse(pb.MapKeyframe, data[begin:end])


def _read_position(data: bytes, begin: int, end: int) -> "tuple[int, int]":
    message = parse(pb.MapPosition, data[begin:end])
    return message.keyframe, message.point


_MAP: Schema = {
    1: ("keyframes", Repeated(_read_keyframe)),
    2: ("point_ids", read_unsigned),
    3: ("x", read_floats),
    4: ("y", read_floats),
    5: ("z", read_floats),
    6: ("next", _read_position),
}


def _read_map(data: bytes, begin: int, end: int) -> MapPart:
    fields = decode(_MAP, data, begin, end)
    keyframes = fields.get("keyframes", [])
    ids = fields.get("point_ids", np.empty(0, np.uint64))
    axes = [fields.get(name, np.empty(0, np.float32)) for name in "xyz"]
    if any(len(axis) != len(ids) for axis in axes):
        raise InternalError("map: the server's arrays differ in length")
    return MapPart(
        keyframe_ids=np.array([k.id for k in keyframes], np.uint64),
        keyframe_seconds=np.array([k.seconds for k in keyframes], np.float64),
        world_from_camera=np.array([_matrix(k.pose) for k in keyframes]).reshape(-1, 4, 4),
        point_ids=ids,
        points=np.stack(axes, axis=1),
        next=fields.get("next"),
    )


_FIGURES = {
    6: ("keyframes", NUMBER),
    7: ("points", NUMBER),
    8: ("locate_ns", NUMBER),
    9: ("adjust_ns", NUMBER),
    10: ("match_ns", NUMBER),
}
_ANSWER: Schema = {3: ("location", _read_location), 5: ("map", _read_map), **_FIGURES}


def parse_localize_result(data: bytes) -> LocalizeResult:
    """A LocalizeStreamResponse."""
    figures: "dict[str, int]" = {}

    def found(fields: dict) -> "Location | MapPart | None":
        figures.update({name: fields.get(name, 0) for name, _ in _FIGURES.values()})
        return fields.get("location", fields.get("map"))

    result = read_answer(LocalizeResult, pb.LocalizeStreamResponse, _ANSWER, data, found)
    for name, value in figures.items():
        setattr(result, name, value)
    return result
