"""A stream of frames to a server and of results back, as an iterator."""
from __future__ import annotations

import collections
import dataclasses
import threading
from typing import Any, Callable, Deque, Iterator, Optional, Union

import grpc

from glint import options as opt
from glint import wire
from glint.errors import InternalError, from_rpc
from glint.features import Result
from glint.image import ImageLike, Shared
from glint.shared_memory import Slot


@dataclasses.dataclass(frozen=True)
class Frame:
    """An image of a stream with what is its own. id: any number of 64 bits, returned as it is; None: its place."""

    image: ImageLike
    id: Optional[int] = None
    mask: Optional[ImageLike] = None
    region: Optional[opt.Region] = None
    max_age: Optional[float] = None


def message_of(item: Union[ImageLike, Frame], index: int) -> tuple[bytes, list[Slot]]:
    """The frame's message, and the slots of shared memory that are the server's until it is answered."""
    frame = item if isinstance(item, Frame) else Frame(item)  # type: ignore[arg-type]
    images = (frame.image, frame.mask)
    data = wire.stream_frame(
        index if frame.id is None else frame.id,
        frame.image,
        frame.mask,
        opt.region(frame.region),
        opt.nanoseconds(frame.max_age, "max_age"),
    )
    return data, [image.slot for image in images if isinstance(image, Shared)]


class _Requests:
    """The stream's requests, iterated by a thread of gRPC: options, then frames while the window has room."""

    def __init__(self, first: bytes, frames: Iterator[Any], window: int):
        self._first: Optional[bytes] = first
        self._frames = frames
        self._room = threading.Semaphore(window)
        self._count = 0
        self._ended = False
        self.slots: Deque[list[Slot]] = collections.deque()  # of the frames that are not answered
        self.error: Optional[BaseException] = None  # that `frames`, or making a message of one, raised

    def __iter__(self) -> "_Requests":
        return self

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        self._room.acquire()
        if self._ended:
            raise StopIteration
        try:
            data, slots = message_of(next(self._frames), self._count)
        except StopIteration:
            raise
        except BaseException as error:  # reported by the results' iterator, after the frames before it
            self.error = error
            raise StopIteration from None
        self._count += 1
        self.slots.append(slots)
        return data

    def answered(self) -> None:
        """The oldest frame is: its slots are free, and there is room for another one."""
        for slot in self.slots.popleft():
            slot.release()
        self._room.release()

    def end(self) -> None:
        self._ended = True
        self._room.release()


def run_stream(
    method: Callable, address: str, first: bytes, frames: Iterator[Any], window: int, timeout: Optional[float]
) -> Iterator[Result]:
    """The generator behind Client.stream()."""
    requests = _Requests(first, frames, window)
    call = method(requests, timeout=timeout)
    try:
        for data in call:
            if not requests.slots:
                raise InternalError("stream: the server answered a frame that was not sent")
            result = wire.parse_result(data)
            requests.answered()
            yield result
        if requests.error is not None:
            raise requests.error
    except grpc.RpcError as error:
        if requests.error is not None:
            raise requests.error from None
        raise from_rpc(error, address) from None
    finally:
        requests.end()
        call.cancel()
        while requests.slots:
            for slot in requests.slots.popleft():
                slot.release()
