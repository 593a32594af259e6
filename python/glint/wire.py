"""The messages of FeatureDetection, and what those of other services have in common with them, to and from bytes."""
from __future__ import annotations

from typing import Any, Callable, Iterable, Optional

import numpy as np

from glint import errors
from glint.encoding import Fields, decode, encode
from glint.features import Features, Result, Timings, Warning
from glint.image import ImageLike, fields_of, mask_fields_of
from glint.options import frame_id, names_of, present
from glint.v1 import calibration_pb2, envelope_pb2, features_pb2, image_pb2, options_pb2
from glint.v1 import feature_detection_pb2 as pb

_COLUMNS = ("x", "y", "size", "angle", "response")
_TIMINGS = tuple(Timings.__dataclass_fields__)
_DROPS = names_of(envelope_pb2.DropReason.DESCRIPTOR)
_WARNINGS = names_of(envelope_pb2.WarningKind.DESCRIPTOR)


# ---- writing


def _images(image: ImageLike, mask: Optional[ImageLike], region: Optional[image_pb2.ImageRegion]) -> Fields:
    return {"image": fields_of(image), "mask": mask_fields_of(mask), "region": region}


def detect_request(
    detector: options_pb2.DetectorOptions,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[image_pb2.ImageRegion] = None,
    gray_range: Optional[image_pb2.GrayRange] = None,
    camera: Optional[calibration_pb2.Camera] = None,
) -> bytes:
    """A DetectRequest."""
    fields = {"detector": present(detector), "gray_range": gray_range, "camera": camera}
    return encode(pb.DetectRequest, {**fields, **_images(image, mask, region)})


def stream_frame(
    number: int,
    image: ImageLike,
    mask: Optional[ImageLike] = None,
    region: Optional[image_pb2.ImageRegion] = None,
    max_age_ns: int = 0,
) -> bytes:
    """A DetectStreamRequest with a frame of this frame_id."""
    frame = {"frame_id": frame_id(number), "max_age_ns": max_age_ns, **_images(image, mask, region)}
    return encode(pb.DetectStreamRequest, {"frame": frame})


# ---- reading


def equal_lengths(name: str, arrays: Iterable) -> None:
    """InternalError for arrays of different lengths."""
    if len({len(a) for a in arrays}) > 1:
        raise errors.InternalError(f"{name}: the server's arrays differ in length")


def read_rays(found: Fields, name: str, like: np.ndarray, asked: bool) -> Optional[np.ndarray]:
    """float32 (n, 3) of ray_x, ray_y and ray_z, which are taken out of a message that was decoded; None: they were not
    asked for. InternalError unless there is one for each element of `like`."""
    axes = [found.pop(f"ray_{axis}") for axis in "xyz"]
    if not asked and not any(map(len, axes)):
        return None
    equal_lengths(f"{name}.rays", [like, *axes])
    return np.stack(axes, axis=1)


def read_features(
    found: Optional[Fields], timings: Timings, warnings: "tuple[Warning, ...]" = (), with_rays: bool = False
) -> Features:
    """An ImageFeatures that was decoded; None: an empty one. with_rays: the request has a camera."""
    found = found or decode(features_pb2.ImageFeatures, b"")
    width, rows = found.pop("descriptor_bytes"), found.pop("descriptors")
    equal_lengths("features", [found["octave"], *(found[name] for name in _COLUMNS)])
    if len(rows) != len(found["octave"]) * width or width < 0:
        raise errors.InternalError("features: the server's descriptors are of another length")
    rays = read_rays(found, "features", found["octave"], with_rays)
    descriptors = rows.reshape(-1, width) if width else None
    return Features(**found, descriptors=descriptors, rays=rays, timings=timings, warnings=warnings)


def read_timings(message: Optional[envelope_pb2.Timings]) -> Timings:
    return Timings() if message is None else Timings(*[getattr(message, name) for name in _TIMINGS])


def read_warnings(messages: Iterable) -> "tuple[Warning, ...]":
    """Those of an answer; a kind that this package does not know is its number."""
    return tuple(Warning(_WARNINGS.get(w.kind, str(w.kind)), w.figure, w.unit, w.text) for w in messages)


def read_answer(
    make: Callable, kind: type, data: bytes, read: Callable[[Fields, Timings], Fields], *also: str
) -> Any:
    """An answer of a stream, whose message is a `kind`, as a `make`.

    read  what `make` has beside what all answers have, from the message's fields; not called for one that failed
    also  fields that are taken over as they are, of those that failed, too
    """
    fields = decode(kind, data)
    status, timings = fields["status"], read_timings(fields["timings"])
    answer = {"frame_id": fields["frame_id"], "timings": timings, **{name: fields[name] for name in also}}
    if status is not None and status.code != 0:
        return make(**answer, error=errors.from_status(status), drop_reason=_DROPS.get(status.drop_reason))
    return make(**answer, **read(fields, timings))


def answer_of(fields: Fields, name: str) -> Any:
    """The answer `name`, or InternalError."""
    if fields[name] is None:
        raise errors.InternalError(f"the server's answer has no {name}")
    return fields[name]


def parse_detect(data: bytes, with_rays: bool = False) -> Features:
    """A DetectResponse. with_rays: the request has a camera."""
    fields = decode(pb.DetectResponse, data)
    warnings = read_warnings(fields["warnings"])
    return read_features(answer_of(fields, "features"), read_timings(fields["timings"]), warnings, with_rays)


def parse_result(data: bytes, _: Any = None, with_rays: bool = False) -> Result:
    """A DetectStreamResponse. with_rays: the stream's options have a camera."""

    def read(fields: Fields, timings: Timings) -> Fields:
        warnings = read_warnings(fields["warnings"])
        return {"found": read_features(answer_of(fields, "features"), timings, warnings, with_rays)}

    return read_answer(Result, pb.DetectStreamResponse, data, read)
