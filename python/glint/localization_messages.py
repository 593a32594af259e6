"""What is sent to Localization (proto/glint/v1/localization.proto), and what it answers, as bytes."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from glint.camera import read_rectified
from glint.encoding import Fields, encode
from glint.errors import InternalError, invalid
from glint.features import Timings
from glint.image import fields_of, mask_fields_of, optional_fields_of
from glint.inertial import (
    UPPER,
    ImuReadings,
    batch_message,
    pose_matrices,
    read_inertial,
    read_received,
    readings_message,
)
from glint.localization import (
    DepthCamera,
    GetMap,
    LocalizeItem,
    LocalizePair,
    LocalizeResult,
    Location,
    LocationStatus,
    MapPart,
    SaveMap,
    StereoCamera,
)
from glint.options import fill, frame_id, nanoseconds, numbers, time_ns
from glint.v1 import localization_pb2 as pb
from glint.wire import equal_lengths, read_answer, read_warnings

# ---- writing


def camera(given: StereoCamera) -> pb.StereoCamera:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, StereoCamera):
        raise invalid("camera", given, "is not glint.StereoCamera, glint.StereoRig or glint.RgbdCamera")
    message = pb.StereoCamera()
    names = ("width", "height", "focal_length", "centre_x", "centre_y", "baseline")
    fill({name: getattr(given, name) for name in names}, message, prefix="camera.")
    for name in ("left_projection", "right_projection"):
        if getattr(given, name) is not None:
            getattr(message, name).extend(numbers(getattr(given, name), f"camera.{name}", 12))
    if given.rig_rotation is not None:
        x, y, z = numbers(given.rig_rotation, "camera.rig_rotation", 3)
        message.rig_rotation.CopyFrom(pb.Rotation(x=x, y=y, z=z))
    return message


def depth_camera(given: Optional[DepthCamera]) -> pb.DepthCamera:
    """The message; its ranges are the server's to check."""
    if not isinstance(given, DepthCamera):
        raise invalid("depth", given, "is not glint.DepthCamera")
    message = pb.DepthCamera()
    fill(vars(given), message, prefix="depth.")
    return message


def _pair(number: int, pair: LocalizePair) -> Fields:
    return {
        "frame_id": frame_id(number),
        "max_age_ns": nanoseconds(pair.max_age, "max_age"),
        "left": fields_of(pair.left, "left"),
        "right": optional_fields_of(pair.right, "right"),
        "time_ns": time_ns(pair.time_ns),
        "depth": optional_fields_of(pair.depth, "depth"),
        "mask": mask_fields_of(pair.mask, "mask"),
        "right_mask": mask_fields_of(pair.right_mask, "right_mask"),
        "imu": None if pair.imu is None else readings_message(pair.imu),
    }


def _get_map(number: int, request: GetMap) -> pb.GetMap:
    message = pb.GetMap(frame_id=frame_id(number))
    if request.start is not None:
        try:
            keyframe, point = request.start
            getattr(message, "from").CopyFrom(pb.MapPosition(keyframe=keyframe, point=point))
        except (TypeError, ValueError):
            raise invalid("start", request.start, "is not (keyframe, point), ids from 0 on") from None
    return message


def localize_item(number: int, item: LocalizeItem) -> bytes:
    """A LocalizeStreamRequest with a pair or a request of this frame_id."""
    if isinstance(item, LocalizePair):
        fields: Fields = {"relocalize" if item.relocalize else "pair": _pair(number, item)}
    elif isinstance(item, ImuReadings):
        fields = {"add_imu": batch_message(number, item)}
    elif isinstance(item, GetMap):
        fields = {"get_map": _get_map(number, item)}
    else:
        name, kind = ("save_map", pb.SaveMap) if isinstance(item, SaveMap) else ("load_map", pb.LoadMap)
        fields = {name: kind(frame_id=frame_id(number))}
        fill({"name": item.name}, fields[name])
    return encode(pb.LocalizeStreamRequest, fields)


# ---- reading


def _matrix(pose: pb.Pose) -> np.ndarray:
    """float64 (4, 4)."""
    return pose_matrices(np.array([[pose.qx, pose.qy, pose.qz, pose.qw, pose.x, pose.y, pose.z]]))[0]


def _vector(rotation: pb.Rotation) -> np.ndarray:
    return np.array([rotation.x, rotation.y, rotation.z])


def _location(message: pb.Location) -> Location:
    if message.status not in LocationStatus.__members__.values() or len(message.covariance) not in (0, len(UPPER[0])):
        raise InternalError("location: the server's answer has an unknown status or a covariance of another size")
    covariance: Optional[np.ndarray] = None
    if message.covariance:
        covariance = np.zeros((6, 6))
        covariance[UPPER] = message.covariance
        covariance.T[UPPER] = message.covariance
    plain = ("keypoints", "matches", "inliers", "reprojection_error", "keyframe", "loop_closed", "map_full", "map_id",
             "level")
    return Location(
        status=LocationStatus(message.status),
        world_from_camera=_matrix(message.pose),
        covariance=covariance,
        **{name: getattr(message, name) for name in plain},
        rig_rotation=_vector(message.rig_rotation),
        rig_uncertainty=_vector(message.rig_uncertainty),
        warnings=read_warnings(message.warnings),
        rectified=read_rectified(message.rectified if message.HasField("rectified") else None),
        inertial=read_inertial(message.inertial if message.HasField("inertial") else None),
        world_correction=_matrix(message.world_correction) if message.HasField("world_correction") else None,
    )


def _map(found: Fields) -> MapPart:
    """A MapPart that was decoded."""
    keyframes, end = found["keyframes"], found["next"]
    axes = [found[name] for name in "xyz"]
    equal_lengths("map", [found["point_id"], *axes])
    return MapPart(
        keyframe_ids=np.array([k.id for k in keyframes], np.uint64),
        frame_ids=np.array([k.frame_id for k in keyframes], np.uint64),
        times_ns=np.array([k.time_ns for k in keyframes], np.int64),
        world_from_camera=np.array([_matrix(k.pose) for k in keyframes]).reshape(-1, 4, 4),
        point_ids=found["point_id"],
        points=np.stack(axes, axis=1),
        map_id=found["map_id"],
        next=None if end is None else (end.keyframe, end.point),
    )


def parse_localize_result(data: bytes, _: Any = None) -> LocalizeResult:
    """A LocalizeStreamResponse."""

    def read(fields: Fields, _: Timings) -> Fields:
        if fields["location"] is not None:
            return {"found": _location(fields["location"])}
        if fields["imu"] is not None:
            return {"found": read_received(fields["imu"])}
        return {"found": None if fields["map"] is None else _map(fields["map"])}

    return read_answer(LocalizeResult, pb.LocalizeStreamResponse, data, read, "map_keyframes", "map_points")
