"""The calls of both clients: arguments to a message, and the answer's message to a result. Nothing here waits."""
from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, AsyncIterable, Callable, Generic, Iterable, Optional, Sequence, TypeVar, Union

from glint import channel as ch
from glint import localization_messages, matching_messages, tracking_messages
from glint import options as opt
from glint import wire
from glint.camera import Camera, RgbdCamera, camera_message, optional_camera, rgbd_message
from glint.encoding import parse
from glint.errors import InvalidArgument, invalid, out_of_range
from glint.features import Features, Result
from glint.image import ImageLike, Images, Shared, each_of, mask_message, masks_messages
from glint.localization import (
    DepthCamera,
    GetMap,
    LoadMap,
    LocalizeItem,
    LocalizePair,
    LocalizeResult,
    SaveMap,
    StereoCamera,
)
from glint.matching import ForgetSet, Matches, MatchResult, Pair, Side, StereoPair, StereoResult, UpdateSet
from glint.options import Detector
from glint.shared_memory import OtherSlot, Slot
from glint.stereo_rig import StereoRig, rig_message
from glint.tracking import AddPoints, ForgetTracks, ResetTracks, TrackFrame, TrackItem, TrackResult
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import localization_pb2, matching_pb2, server_pb2, tracking_pb2

Found = TypeVar("Found")
Item = TypeVar("Item")
WINDOW = 8  # of a stream: frames that may be unanswered

Items = Union[Iterable[Item], AsyncIterable[Item]]  # the second for glint.aio.Client


@dataclasses.dataclass(frozen=True)
class Call(Generic[Found]):
    """One message, one answer. in_turn: a server answers some of these calls at once, so they wait for their turn
    (call_gate.py), and the message is made then."""

    method: str
    request: Callable[[], bytes]
    parse: Callable[[bytes], Found]
    timeout: Optional[float]
    with_token: bool = True
    in_turn: bool = False

    @functools.cached_property
    def message(self) -> bytes:
        return self.request()


@dataclasses.dataclass
class Sent:
    """An item of a stream as a message, the slots of shared memory that are the server's until it is answered, and what
    parsing the answer needs to know of it."""

    data: bytes
    slots: "list[Union[Slot, OtherSlot]]"
    item: Any
    at: float = dataclasses.field(default_factory=time.monotonic)

    def release(self) -> None:
        for slot in self.slots:
            slot.release()


@dataclasses.dataclass(frozen=True)
class StreamCall(Generic[Found]):
    """A first message, then a message for each item, each of which is answered once and in order.

    send     makes an item's message; its second argument is the item's place in the stream
    parse    makes the result of an answer to an item
    timeout  seconds that an answer may take: since the one before was taken by the caller or, if nothing was unanswered
             then, since the oldest unanswered item was sent
    """

    method: str
    first: bytes
    items: Any
    send: Callable[[Any, int], Sent]
    parse: Callable[[bytes, Any], Found]
    window: int
    timeout: Optional[float]


@dataclasses.dataclass(frozen=True)
class Frame:
    """An image of a stream with what is its own. id: any number of 64 bits, returned as it is; None: its place."""

    image: ImageLike
    id: Optional[int] = None
    mask: Optional[ImageLike] = None
    region: Optional[opt.Region] = None
    max_age: Optional[float] = None


def _stream_options(
    kind: Any,
    policy: Optional[str],
    window: int,
    max_age: Optional[float],
    gray_range: Optional[opt.GrayRange],
    **options: Any,
) -> Any:
    """The first message's options: what those of all streams have, and those of `options` that say anything."""
    if not isinstance(window, int) or not 1 <= window <= 4096:
        raise out_of_range("window", window, 1, 4096)
    age = opt.nanoseconds(max_age, "max_age")
    given = {name: opt.present(message) for name, message in options.items()}
    grays = opt.gray_range(gray_range)
    return kind(overload_policy=opt.policy(policy), max_age_ns=age, gray_range=grays, **given)


def _set_parts(options: Any, **parts: Any) -> None:
    """Those of the options' messages that are not None."""
    for name, part in parts.items():
        if part is not None:
            getattr(options, name).CopyFrom(part)


def _stream(
    name: str, kind: Any, options: Any, items: Any, send: Any, parse: Any, window: int, timeout: Optional[float]
) -> StreamCall:
    """A stream whose first message is a `kind` with `options`."""
    return StreamCall(name, kind(options=options).SerializeToString(), items, send, parse, window, timeout)


def _given(lenses: "tuple[Any, Any]") -> "tuple[bool, bool]":
    return lenses[0] is not None, lenses[1] is not None


def _wrong_pair(item: tuple, second: str, index: int) -> InvalidArgument:
    return InvalidArgument(f"pairs: {len(item)} images are not (left, {second}), at place {index}", field="pairs")


def _sent(data: bytes, item: Any, *images: Any) -> Sent:
    return Sent(data, [image.slot for image in images if isinstance(image, Shared)], item)


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
    options = _stream_options(pb.DetectStreamOptions, policy, window, max_age, gray_range, detector=detector)
    lens = optional_camera(camera, "camera")
    _set_parts(options, mask=mask_message(mask), region=opt.region(region), camera=lens)

    def send(item: Any, index: int) -> Sent:
        f = item if isinstance(item, Frame) else Frame(item)
        age = opt.nanoseconds(f.max_age, "max_age")
        data = wire.stream_frame(index if f.id is None else f.id, f.image, f.mask, opt.region(f.region), age)
        return _sent(data, None, f.image, f.mask)

    name, read = ch.DETECTION + "DetectStream", functools.partial(wire.parse_result, with_rays=lens is not None)
    return _stream(name, pb.DetectStreamRequest, options, frames, send, read, window, timeout)


def match(
    query: Side,
    train: Side,
    preset: Optional[Detector] = None,
    *,
    windows: Optional[Any] = None,
    octaves: Optional[Any] = None,
    gray_range: Optional[opt.GrayRange] = None,
    query_camera: Optional[Camera] = None,
    train_camera: Optional[Camera] = None,
    timeout: Optional[float] = ch.CALL_TIMEOUT,
    **fields: Any,
) -> Call[Matches]:
    """Matches of two sets of descriptors by Hamming distance.

    query, train  images, whose features are found first; glint.Features; glint.Descriptors; or uint8 arrays of
                  (n, bytes) with at most 64 columns (a wider array is a grey image)
    preset        of the detector, for images ("orb")
    windows       (x, y, radius) of each query's partner, octaves (lowest, highest); see glint.Pair
    gray_range    of images, as for detect(), and so is timeout
    query_camera, train_camera
                  glint.Camera of a side that is an image, whose size it has: query_features or train_features have rays
    fields        of MatchOptions: k=2, cross_check=True, ratio=0.8, max_distance=64, max_angle_difference=20,
                  rotation_histogram=True, window_radius=40, max_octave_difference=1; and of DetectorOptions
    """
    options = matching_pb2.MatchOptions()
    detector = opt.split(preset, fields, options)
    grays = opt.gray_range(gray_range)
    lenses = optional_camera(query_camera, "query_camera"), optional_camera(train_camera, "train_camera")

    def request() -> bytes:
        return matching_messages.match_request(detector, options, query, train, windows, octaves, grays, *lenses)

    def read(data: bytes) -> Matches:
        return matching_messages.parse_match(data, query, train, _given(lenses))

    return Call(ch.MATCHING + "Match", request, read, timeout, in_turn=True)


def match_stream(
    pairs: Items[Union["tuple[Side, Side]", Pair, UpdateSet, ForgetSet]],
    preset: Optional[Detector] = None,
    *,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    query_camera: Optional[Camera] = None,
    train_camera: Optional[Camera] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[MatchResult]:
    """Matches of many pairs with the same options, one MatchResult for each pair or edit, in their order.

    pairs    (query, train), or glint.Pair with what is its own; a side may be the name of a set that the stream keeps
             and that glint.UpdateSet changes and glint.ForgetSet ends. Edits are answered with set_size.
    fields   as for match(), and so are query_camera and train_camera; window, policy, max_age, gray_range and timeout
             as for stream(). Edits are never dropped.

    Errors are those of stream().
    """
    match_options = matching_pb2.MatchOptions()
    detector = opt.split(preset, fields, match_options)
    kind = matching_pb2.MatchStreamOptions
    options = _stream_options(kind, policy, window, max_age, gray_range, detector=detector, match=match_options)
    lenses = optional_camera(query_camera, "query_camera"), optional_camera(train_camera, "train_camera")
    _set_parts(options, query_camera=lenses[0], train_camera=lenses[1])

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple) and len(item) == 2:
            item = Pair(*item)
        if not isinstance(item, (Pair, UpdateSet, ForgetSet)):
            why = f"is not (query, train), glint.Pair, glint.UpdateSet or glint.ForgetSet, at place {index}"
            raise invalid("pairs", item, why)
        data = matching_messages.match_item(index if item.id is None else item.id, item)
        return _sent(data, item, *((item.query, item.train) if isinstance(item, Pair) else ()))

    name = ch.MATCHING + "MatchStream"
    read = functools.partial(matching_messages.parse_match_result, with_rays=_given(lenses))
    return _stream(name, matching_pb2.MatchStreamRequest, options, pairs, send, read, window, timeout)


def stereo_stream(
    pairs: Items[Union["tuple[ImageLike, ImageLike]", ImageLike, StereoPair]],
    preset: Optional[Detector] = None,
    *,
    rig: Optional[StereoRig] = None,
    mask: Optional[ImageLike] = None,
    right_mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[StereoResult]:
    """Disparities of many pairs with the same options, one StereoResult for each pair, in their order.

    pairs    (left, right); one image with both side by side; or glint.StereoPair with what is its own
    rig      glint.StereoRig: the images are raw, the server rectifies them, and positions and depths (metres) are of
             the rectified camera in StereoMatches.rectified; None: they are rectified
    mask, right_mask
             of the left and the right image, for pairs that have none of their own: uint8 or bool array of their size,
             raw ones with a rig; keypoints are found where it is not 0
    region   (x, y, width, height), where keypoints are found in both images; with masks where both allow it
    fields   of StereoOptions: focal_length=700, baseline=0.12 (both for depths), max_distance=64, band=2,
             min_disparity=0, max_disparity=128, max_octave_difference=1, cross_check, refine, median_cut, check_pair,
             max_time_difference_ns; and of DetectorOptions. window, policy, max_age, gray_range and timeout as for
             stream()

    Errors are those of stream(). What makes a pair doubtful is in the warnings of its result.
    """
    stereo = matching_pb2.StereoOptions()
    detector = opt.split(preset, fields, stereo)
    kind = matching_pb2.StereoStreamOptions
    options = _stream_options(kind, policy, window, max_age, gray_range, detector=detector, stereo=stereo)
    masks = {"mask": mask_message(mask), "right_mask": mask_message(right_mask, "right_mask")}
    _set_parts(options, rig=None if rig is None else rig_message(rig), region=opt.region(region), **masks)

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise _wrong_pair(item, "right", index)
            item = StereoPair(*item)
        pair = item if isinstance(item, StereoPair) else StereoPair(item)
        data = matching_messages.stereo_pair(index if pair.id is None else pair.id, pair)
        return _sent(data, None, pair.left, pair.right, pair.mask, pair.right_mask)

    def read(data: bytes, _: Any) -> StereoResult:
        return matching_messages.parse_stereo_result(data, rig is not None or stereo.focal_length > 0)

    name = ch.MATCHING + "StereoStream"
    return _stream(name, matching_pb2.StereoStreamRequest, options, pairs, send, read, window, timeout)


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
    options = _stream_options(kind, policy, window, max_age, gray_range, detector=detector, track=track)
    own = {"cameras": cameras, "target": target, "min_share": min_share, "redetection": redetection, "predict": predict}
    opt.fill({**own, "track_template": track_template, "template_frames": template_frames}, options)
    options.masks.extend(masks_messages(masks))
    _set_parts(options, region=opt.region(region))
    given = () if calibrations is None else calibrations if isinstance(calibrations, (list, tuple)) else [calibrations]
    options.calibrations.extend(camera_message(c, f"calibrations[{i}]") for i, c in enumerate(given))

    def send(item: Any, index: int) -> Sent:
        if not isinstance(item, (TrackFrame, AddPoints, ForgetTracks, ResetTracks)):
            item = TrackFrame(item)
        data = tracking_messages.track_item(index if item.id is None else item.id, item)
        return _sent(data, None, *(each_of(item.images) + each_of(item.masks) if isinstance(item, TrackFrame) else ()))

    name = ch.TRACKING + "TrackStream"
    read = functools.partial(tracking_messages.parse_track_result, with_rays=bool(options.calibrations))
    return _stream(name, tracking_pb2.TrackStreamRequest, options, frames, send, read, window, timeout)


def localize_stream(
    pairs: Items[Union["tuple[ImageLike, ImageLike]", ImageLike, LocalizeItem]],
    camera: Union[StereoCamera, StereoRig, RgbdCamera],
    preset: Optional[Detector] = None,
    *,
    depth: Optional[DepthCamera] = None,
    refine_rig: Optional[str] = None,
    mode: Optional[str] = None,
    mask: Optional[ImageLike] = None,
    right_mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = WINDOW,
    policy: Optional[str] = None,
    max_age: Optional[float] = None,
    gray_range: Optional[opt.GrayRange] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[LocalizeResult]:
    """Where a stereo camera is, or one with depth: a LocalizeResult for each pair or request, in order.

    pairs        (left, right); one image with both side by side; glint.LocalizePair for a time, an id, or to find
                 it in the map; and glint.GetMap, SaveMap or LoadMap between them. With `depth`: (left, depth)
    camera       glint.StereoCamera of rectified images; or glint.StereoRig of raw ones: the server rectifies them, and
                 poses are of the rectified left camera in Location.rectified; or, with `depth`, glint.RgbdCamera of raw
                 images and depths, and poses are of the camera in Location.rectified
    depth        glint.DepthCamera: a camera and a sensor of depth in place of two cameras
    preset       of the detector, which must have descriptors ("orbslam"); max_features is 2000 unless it is given
    refine_rig   the rotation that rectification left behind: "on" (the default), "off" or "fixed"; with `depth` "off"
    mode         "reproducible" (the default): the same pairs give the same poses; or "realtime"
    mask, right_mask, region
                 as for stereo_stream(); with `depth` there is no right_mask
    fields       of DetectorOptions. window, policy, max_age, gray_range and timeout as for stream(); requests are never
                 dropped

    Errors are those of stream().
    """
    kind = localization_pb2.LocalizeStreamOptions
    options = _stream_options(kind, policy, window, max_age, gray_range, detector=opt.split(preset, fields))
    opt.fill({"refine_rig": refine_rig, "mode": mode}, options)
    if isinstance(camera, StereoRig):
        options.rig.CopyFrom(rig_message(camera))
    elif isinstance(camera, RgbdCamera):
        options.raw_camera.CopyFrom(rgbd_message(camera, "camera"))
    else:
        options.camera.CopyFrom(localization_messages.camera(camera))
    if depth is not None or isinstance(camera, RgbdCamera):
        options.depth.CopyFrom(localization_messages.depth_camera(depth))
    masks = {"mask": mask_message(mask), "right_mask": mask_message(right_mask, "right_mask")}
    _set_parts(options, region=opt.region(region), **masks)
    second = "right" if depth is None else "depth"

    def send(item: Any, index: int) -> Sent:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise _wrong_pair(item, second, index)
            item = LocalizePair(item[0], **{second: item[1]})
        elif not isinstance(item, (LocalizePair, GetMap, SaveMap, LoadMap)):
            item = LocalizePair(item)
        data = localization_messages.localize_item(index if item.id is None else item.id, item)
        is_pair = isinstance(item, LocalizePair)
        images = (item.left, item.right, item.depth, item.mask, item.right_mask) if is_pair else ()
        return _sent(data, None, *images)

    name, read = ch.LOCALIZATION + "LocalizeStream", localization_messages.parse_localize_result
    return _stream(name, localization_pb2.LocalizeStreamRequest, options, pairs, send, read, window, timeout)


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
