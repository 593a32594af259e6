"""What a call or a stream of a client is: arguments to a message, and the answer's message to a result."""
from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, AsyncIterable, Callable, Generic, Iterable, Optional, TypeVar, Union

from glint import options as opt
from glint.errors import InvalidArgument, out_of_range
from glint.image import Shared
from glint.shared_memory import OtherSlot, Slot

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


def stream_options(
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


def set_parts(options: Any, **parts: Any) -> None:
    """Those of the options' messages that are not None."""
    for name, part in parts.items():
        if part is not None:
            getattr(options, name).CopyFrom(part)


def stream_call(
    name: str, kind: Any, options: Any, items: Any, send: Any, parse: Any, window: int, timeout: Optional[float]
) -> StreamCall:
    """A stream whose first message is a `kind` with `options`."""
    return StreamCall(name, kind(options=options).SerializeToString(), items, send, parse, window, timeout)


def wrong_pair(item: tuple, second: str, index: int) -> InvalidArgument:
    return InvalidArgument(f"pairs: {len(item)} images are not (left, {second}), at place {index}", field="pairs")


def sent(data: bytes, item: Any, *images: Any) -> Sent:
    return Sent(data, [image.slot for image in images if isinstance(image, Shared)], item)
