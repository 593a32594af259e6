"""The calls of both clients: arguments to a message, and the answer's message to a result. Nothing here waits."""
from __future__ import annotations

import dataclasses
import functools
from typing import Any, Optional, Sequence, Union

from glint import channel as ch
from glint import options as opt
from glint import tracking_messages, wire
from glint.call import WINDOW, Call, Items, Sent, StreamCall, sent, set_parts, stream_call, stream_options
from glint.camera import Camera, camera_message, optional_camera
from glint.encoding import parse
from glint.features import Features, Result
from glint.image import ImageLike, Images, each_of, mask_message, masks_messages
from glint.localization_calls import localize_stream as localize_stream
from glint.matching_calls import match as match
from glint.matching_calls import match_stream as match_stream
from glint.matching_calls import stereo_stream as stereo_stream
from glint.options import Detector
from glint.tracking import AddPoints, ForgetTracks, ResetTracks, TrackFrame, TrackItem, TrackResult
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import server_pb2, tracking_pb2


@dataclasses.dataclass(frozen=True)
class Frame:
    """An image of a stream with what is its own. id: any number of 64 bits, returned as it is; None: its place."""

    image: ImageLike
    id: Optional[int] = None
    mask: Optional[ImageLike] = None
    region: Optional[opt.Region] = None
    max_age: Optional[float] = None


def detect(
    image: ImageLike,
    preset: Optional[Detector] = None,
    *,
    mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    gray_range: Optional[opt.GrayRange] = None,
    camera: Optional[Camera] = None,
    timeout: Optional[float] = ch.CALL_TIMEOUT,
    **fields: Any,
) -> Call[Features]:
    """Features of one image.

    image   a numpy array, the bytes of a JPEG or PNG file, or glint.Raw, Encoded, Shared
    preset  of the detector ("orb")
    mask    uint8 or bool array of the image's size: keypoints are kept where it is not 0. Preset "orb" wants 255 there
            in all levels but the first, as cv::ORB; other values have a warning
    region  (x, y, width, height): the answer is that of this part of the image, in the whole image's coordinates
    timeout seconds until the answer, then glint.DeadlineExceeded; None: any time. The call may wait for its turn, and
            the image is read then; see glint.Client
    gray_range
            of images of uint16, or PNG files of 16 bits, that use a part of them: (lowest, highest), (0, 4095) for 12
            bits; or "percentile" ("percentile:0.5") of the samples, of a stream those of its first 8 images, fixed
            from then on
    camera  glint.Camera of the image, whose size it has: the answer has rays. The image itself is not changed
    fields  of DetectorOptions, in place of the preset's: max_features=2000, descriptor="rbrief", levels=4 ...
    """
    detector, area, grays = opt.split(preset, fields), opt.region(region), opt.gray_range(gray_range)
    lens = optional_camera(camera, "camera")

    def request() -> bytes:
        return wire.detect_request(detector, image, mask, area, grays, lens)

    read = functools.partial(wire.parse_detect, with_rays=lens is not None)
    return Call(ch.DETECTION + "Detect", request, read, timeout, in_turn=True)


def stream(
    frames: Items[Union[ImageLike, Frame]],
    preset: Optional[Detector] = None,
    *,
    mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    camera: Optional[Camera] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[Result]:
    """Results of many frames with the same options, one for each frame, in the order of the frames.

    frames   images, or glint.Frame for an id, a mask, a region or a maximum age of its own; iterated by a thread of the
             stream (glint.aio: may be an async iterable, too). Frames without an id are numbered from 0.
    window   frames that may be unanswered; the next one is taken from `frames` when there is room
    policy   what the server does with frames that come faster than it answers: "block" (the default), "drop_oldest",
             "latest" or "reject". Dropped frames have results, too, with drop_reason.
    max_age  seconds after which a frame that no lane has begun is dropped
    gray_range, camera
             as for detect()
    timeout  longest wait for a result, seconds, then glint.DeadlineExceeded: since the one before or, if nothing was
             unanswered then, since the oldest unanswered frame was sent. Time in which the caller takes no result is
             not counted. None: any
    fields   of DetectorOptions, as for detect()

    A frame that fails has a Result with its error, and the stream goes on. The stream ends with an exception when it
    breaks. Leaving the loop early, or close() of the iterator, cancels it.
    """
    detector = opt.split(preset, fields)
    options = stream_options(pb.DetectStreamOptions, policy, window, max_age, gray_range, detector=detector)
    lens = optional_camera(camera, "camera")
    set_parts(options, mask=mask_message(mask), region=opt.region(region), camera=lens)

    def send(item: Any, index: int) -> Sent:
        f = item if isinstance(item, Frame) else Frame(item)
        age = opt.nanoseconds(f.max_age, "max_age")
        data = wire.stream_frame(index if f.id is None else f.id, f.image, f.mask, opt.region(f.region), age)
        return sent(data, None, f.image, f.mask)

    name, read = ch.DETECTION + "DetectStream", functools.partial(wire.parse_result, with_rays=lens is not None)
    return stream_call(name, pb.DetectStreamRequest, options, frames, send, read, window, timeout)


def track_stream(
    frames: Items[Union[ImageLike, Sequence[ImageLike], TrackItem]],
    preset: Optional[Detector] = None,
    *,
    cameras: Optional[int] = None,
    target: Optional[int] = None,
    min_share: Optional[float] = None,
    redetection: Optional[str] = None,
    predict: bool = False,
    track_template: Optional[str] = None,
    template_frames: Optional[int] = None,
    levels: Optional[int] = None,
    track_levels: Optional[int] = None,
    masks: Images = None,
    region: Optional[opt.Region] = None,
    calibrations: Union[Camera, Sequence[Camera], None] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[TrackResult]:
    """Points followed from frame to frame: a TrackResult for each frame or edit, in their order.

    frames        images; with cameras=2 and more, lists or tuples with one image of each camera; glint.TrackFrame for a
                  time, an id or a search of its own; and glint.AddPoints, ForgetTracks or ResetTracks between them
    cameras       images of each frame, 1..8 (1)
    target        tracks that each camera is to have (200)
    min_share     with fewer live tracks than this share of `target`, new points are looked for (0.8)
    redetection   "automatic" (the default), or "on_request": at frames with detect=True alone
    predict       look for points where they would be if they moved on
    track_template, template_frames
                  what a point is compared with: "last_frame" (the default), or "first_frame": the one where it began;
                  then, of how many frames in which tracks began the patches are kept, 1..8 (4)
    levels        of the detector's pyramid; track_levels: of the tracker's
    masks         for frames that have none of their own: a uint8 or bool array of the image's size, or a list or tuple
                  with one of each camera: tracks begin where it is not 0, and end where it is
    region        (x, y, width, height), the same as a rectangle, of all cameras; with masks where both allow it
    calibrations  glint.Camera, or a list or tuple with one of each camera, whose images' sizes they have: Tracks has
                  rays. The images themselves are not changed
    fields        of TrackOptions: patch_size=16, intensity="gain_and_offset", max_residual=12,
                  max_backward_error=1, max_move=50 ...; and of DetectorOptions, whose `preset` ("fast_grid") finds new
                  points
    window, policy, max_age, gray_range
                  as for stream(); edits are never dropped

    Errors are those of stream().
    """
    track = tracking_pb2.TrackOptions()
    detector = opt.split(preset, {"levels": levels})
    opt.fill({"levels": track_levels}, track)
    detector = opt.split(detector, fields, track)
    kind = tracking_pb2.TrackStreamOptions
    options = stream_options(kind, policy, window, max_age, gray_range, detector=detector, track=track)
    own = {"cameras": cameras, "target": target, "min_share": min_share, "redetection": redetection, "predict": predict}
    opt.fill({**own, "track_template": track_template, "template_frames": template_frames}, options)
    options.masks.extend(masks_messages(masks))
    set_parts(options, region=opt.region(region))
    given = () if calibrations is None else calibrations if isinstance(calibrations, (list, tuple)) else [calibrations]
    options.calibrations.extend(camera_message(c, f"calibrations[{i}]") for i, c in enumerate(given))

    def send(item: Any, index: int) -> Sent:
        if not isinstance(item, (TrackFrame, AddPoints, ForgetTracks, ResetTracks)):
            item = TrackFrame(item)
        data = tracking_messages.track_item(index if item.id is None else item.id, item)
        return sent(data, None, *(each_of(item.images) + each_of(item.masks) if isinstance(item, TrackFrame) else ()))

    name = ch.TRACKING + "TrackStream"
    read = functools.partial(tracking_messages.parse_track_result, with_rays=bool(options.calibrations))
    return stream_call(name, tracking_pb2.TrackStreamRequest, options, frames, send, read, window, timeout)


def info(timeout: Optional[float] = 5) -> Call[ch.ServerInfo]:
    """What the server is and what it accepts at most."""

    def read(data: bytes) -> ch.ServerInfo:
        return ch.from_message(ch.ServerInfo, parse(server_pb2.GetServerInfoResponse, data))

    return Call(ch.SERVER + "GetServerInfo", bytes, read, timeout)


def health(timeout: Optional[float] = 5) -> Call[str]:
    """Whether the server takes frames: "serving", "not_serving" or "unknown"."""

    def read(data: bytes) -> str:
        return ch.HEALTH_NAMES.get(data[1] if len(data) > 1 else 0, "unknown")

    return Call(ch.HEALTH, bytes, read, timeout, with_token=False)


def register_memory(request: server_pb2.RegisterSharedMemoryRequest) -> Call[str]:
    """Gives shared memory that the server has its name, and returns whom it belongs to."""
    read = server_pb2.RegisterSharedMemoryResponse.FromString
    return Call(ch.SERVER + "RegisterSharedMemory", request.SerializeToString, lambda data: read(data).owner, 5)
