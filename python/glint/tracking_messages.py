"""What is sent to FeatureTracking (proto/glint/v1/tracking.proto), and what it answers, as bytes."""
from __future__ import annotations

import operator
from typing import Any, Sequence

import numpy as np

from glint.encoding import Fields, encode
from glint.errors import InvalidArgument, invalid
from glint.features import Timings
from glint.image import each_of, fields_of, fields_of_masks
from glint.options import frame_id, nanoseconds, time_ns, whole
from glint.tracking import AddPoints, ForgetTracks, ResetTracks, TrackFrame, TrackItem, TrackPrediction, TrackResult, Tracks
from glint.v1 import tracking_pb2 as pb
from glint.wire import answer_of, equal_lengths, read_answer, read_rays, read_warnings

_LAST_CAMERA = (1 << 32) - 1
_LAST_ID = (1 << 64) - 1


def _frame(number: int, frame: TrackFrame) -> Fields:
    return {
        "frame_id": frame_id(number),
        "max_age_ns": nanoseconds(frame.max_age, "max_age"),
        "time_ns": time_ns(frame.time_ns),
        "images": [fields_of(image, f"images[{i}]") for i, image in enumerate(each_of(frame.images))],
        "detect": bool(frame.detect),
        "predictions": [_prediction(prediction) for prediction in frame.predictions],
        "masks": fields_of_masks(frame.masks),
    }


def _ids(values: Sequence[int]) -> "list[int]":
    try:
        ids = [operator.index(i) for i in values]
    except TypeError as error:
        raise invalid("ids", values, f"are not whole numbers ({error})") from None
    return [whole(i, "ids", _LAST_ID) for i in ids]


def _points(values: Any) -> "list[list[float]]":
    """x and y of numbers of (n, 2)."""
    points = np.asarray(values)
    if points.size == 0:
        points = np.empty((0, 2), np.float32)
    if points.ndim != 2 or points.shape[1] != 2 or points.dtype.kind not in "iuf":
        raise invalid("points", points, "is not numbers of (n, 2)")
    return points.T.astype(np.float32).tolist()


def _prediction(prediction: TrackPrediction) -> pb.TrackPrediction:
    message = pb.TrackPrediction(camera=whole(prediction.camera, "camera", _LAST_CAMERA))
    if prediction.homography is not None:
        matrix = np.asarray(prediction.homography)
        if matrix.shape != (3, 3) or matrix.dtype.kind not in "iuf":
            raise invalid("homography", matrix, "is not numbers of (3, 3)")
        message.homography.extend(matrix.ravel().astype(np.float32).tolist())
    ids, (x, y) = _ids(prediction.ids), _points(prediction.points)
    if len(ids) != len(x):
        raise InvalidArgument(f"points: {len(x)}, but ids: {len(ids)}", field="points")
    message.ids.extend(ids)
    message.x.extend(x)
    message.y.extend(y)
    return message


def _reset(number: int, edit: ResetTracks) -> pb.ResetTracks:
    camera = None if edit.camera is None else whole(edit.camera, "camera", _LAST_CAMERA)
    return pb.ResetTracks(frame_id=frame_id(number), camera=camera)


def _forget(number: int, edit: ForgetTracks) -> pb.ForgetTracks:
    return pb.ForgetTracks(frame_id=frame_id(number), ids=_ids(edit.ids))


def _add(number: int, edit: AddPoints) -> pb.AddPoints:
    x, y = _points(edit.points)
    return pb.AddPoints(frame_id=frame_id(number), camera=whole(edit.camera, "camera", _LAST_CAMERA), x=x, y=y)


_WRITERS = {
    TrackFrame: ("frame", _frame),
    ResetTracks: ("reset_tracks", _reset),
    ForgetTracks: ("forget_tracks", _forget),
    AddPoints: ("add_points", _add),
}


def track_item(number: int, item: TrackItem) -> bytes:
    """A TrackStreamRequest with a frame or an edit of this frame_id."""
    name, write = _WRITERS[type(item)]
    return encode(pb.TrackStreamRequest, {name: write(number, item)})  # type: ignore[operator]


def _tracks(found: Fields, with_rays: bool) -> Tracks:
    """A CameraTracks that was decoded."""
    rays = read_rays(found, "tracks", found["id"], with_rays)
    tracks = Tracks(ids=found.pop("id"), rays=rays, **found)
    arrays = [a for name, a in found.items() if isinstance(a, np.ndarray) and (name != "template_age" or len(a))]
    equal_lengths("tracks", [tracks.ids, *arrays])
    return tracks


def parse_track_result(data: bytes, _: Any = None, with_rays: bool = False) -> TrackResult:
    """A TrackStreamResponse. with_rays: the stream's options have calibrations."""

    def read(fields: Fields, _: Timings) -> Fields:
        name = "tracks" if fields["edited"] is None else "edited"
        found = tuple(_tracks(camera, with_rays) for camera in answer_of(fields, name)["cameras"])
        return {"found": found, "warnings": read_warnings(fields["warnings"])}

    return read_answer(TrackResult, pb.TrackStreamResponse, data, read)
