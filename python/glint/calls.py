"""The calls of both clients: arguments to a message, and the answer's message to a result. Nothing here waits."""
from __future__ import annotations

import dataclasses
from typing import Any, AsyncIterable, Callable, Generic, Iterable, Optional, TypeVar, Union

from glint import channel as ch
from glint import options as opt
from glint import wire
from glint.errors import InvalidArgument
from glint.features import Features, Result
from glint.image import ImageLike, Shared
from glint.options import Detector
from glint.shared_memory import Slot
from glint.v1 import feature_detection_pb2 as pb

Found = TypeVar("Found")
Item = TypeVar("Item")
Items = Union[Iterable[Item], AsyncIterable[Item]]  # the second for glint.aio.Client


@dataclasses.dataclass(frozen=True)
class Call(Generic[Found]):
    """One message, one answer."""

    method: str
    request: bytes
    parse: Callable[[bytes], Found]
    timeout: Optional[float]
    with_token: bool = True


@dataclasses.dataclass
class Sent:
    """An item of a stream as a message, and the slots of shared memory that are the server's until it is answered."""

    data: bytes
    slots: "list[Slot]"
    item: Any

    def release(self) -> None:
        for slot in self.slots:
            slot.release()


@dataclasses.dataclass(frozen=True)
class StreamCall(Generic[Found]):
    """A first message, then a message for each item, each of which is answered once and in order.

    send   makes an item's message; its second argument is the item's place in the stream
    parse  makes the result of an answer to an item
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


def _stream_options(kind: Any, policy: str, window: int, max_age: Optional[float], **more: Any) -> Any:
    """The first message's options, with what those of all streams have."""
    if not isinstance(window, int) or not 1 <= window <= 4096:
        raise InvalidArgument(f"window: {window} is not in 1..4096")
    age = opt.nanoseconds(max_age, "max_age")
    return kind(overload_policy=opt.policy(policy), max_age_ns=age, **more)


def _sent(data: bytes, item: Any, *images: Any) -> Sent:
    return Sent(data, [image.slot for image in images if isinstance(image, Shared)], item)


def detect(
    image: ImageLike,
    preset: Detector = "orb",
    *,
    mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> Call[Features]:
    """Features of one image.

    image   a numpy array, the bytes of a JPEG or PNG file, or glint.Raw, Encoded, Shared
    mask    uint8 array of the image's size: keypoints are kept where it is not 0
    region  (x, y, width, height): the answer is that of this part of the image, in the whole image's coordinates
    fields  of DetectorOptions, in place of the preset's: max_features=2000, descriptor="rbrief", levels=4 ...
    """
    request = wire.detect_request(opt.split(preset, fields), image, mask, opt.region(region))
    return Call(ch.DETECTION + "Detect", request, wire.parse_detect, timeout)


def stream(
    frames: Items[Union[ImageLike, Frame]],
    preset: Detector = "orb",
    *,
    mask: Optional[ImageLike] = None,
    region: Optional[opt.Region] = None,
    window: int = 4,
    policy: str = "block",
    max_age: Optional[float] = None,
    timeout: Optional[float] = None,
    **fields: Any,
) -> StreamCall[Result]:
    """Results of many frames with the same options, one for each frame, in the order of the frames.

    frames   images, or glint.Frame for an id, a mask, a region or a maximum age of its own; iterated by a thread of the
             stream (glint.aio: may be an async iterable, too). Frames without an id are numbered from 0.
    window   frames that may be unanswered; the next one is taken from `frames` when there is room
    policy   what the server does with frames that come faster than it answers: "block", "drop_oldest", "latest" or
             "reject". Dropped frames have results, too, with drop_reason.
    max_age  seconds after which a frame that no lane has begun is dropped
    fields   of DetectorOptions, as for detect()

    A frame that fails has a Result with its error, and the stream goes on. The stream ends with an exception when it
    breaks. Leaving the loop early, or close() of the iterator, cancels it.
    """
    options = _stream_options(
        pb.StreamOptions, policy, window, max_age, detector=opt.split(preset, fields), region=opt.region(region)
    )

    def send(item: Any, index: int) -> Sent:
        f = item if isinstance(item, Frame) else Frame(item)
        age = opt.nanoseconds(f.max_age, "max_age")
        data = wire.stream_frame(index if f.id is None else f.id, f.image, f.mask, opt.region(f.region), age)
        return _sent(data, f, f.image, f.mask)

    first = wire.stream_options(options, mask)
    method = ch.DETECTION + "DetectStream"
    return StreamCall(method, first, frames, send, lambda data, _: wire.parse_result(data), window, timeout)


def info(timeout: Optional[float] = 5) -> Call[ch.ServerInfo]:
    """What the server is and what it accepts at most."""
    parse = pb.GetServerInfoResponse.FromString
    return Call(ch.DETECTION + "GetServerInfo", b"", lambda data: ch.ServerInfo.from_message(parse(data)), timeout)


def health(timeout: Optional[float] = 5) -> Call[str]:
    """Whether the server takes frames: "serving", "not_serving" or "unknown"."""

    def parse(data: bytes) -> str:
        return ch.HEALTH_NAMES.get(data[1] if len(data) > 1 else 0, "unknown")

    return Call(ch.HEALTH, b"", parse, timeout, with_token=False)


def register_memory(request: pb.RegisterSharedMemoryRequest) -> Call[None]:
    """Gives shared memory that the server has its name."""
    return Call(ch.DETECTION + "RegisterSharedMemory", request.SerializeToString(), lambda _: None, 5)
