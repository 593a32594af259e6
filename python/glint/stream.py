"""A stream of items to a server and of results back, as an iterator."""
from __future__ import annotations

import collections
import threading
from typing import Callable, Deque, Iterator, Optional

import grpc

from glint.calls import Found, Sent, StreamCall
from glint.errors import InternalError, InvalidArgument, from_rpc


class _Requests:
    """The stream's requests, iterated by a thread of gRPC: the first one, then items while the window has room."""

    def __init__(self, stream: StreamCall):
        self._stream = stream
        self._first: Optional[bytes] = stream.first
        try:
            self._items = iter(stream.items)
        except TypeError:
            name = type(stream.items).__name__
            raise InvalidArgument(f"{name}: cannot be iterated, or by glint.aio only", field=name) from None
        self._window = stream.window
        self._room = threading.Semaphore(stream.window)
        self._count = 0
        self._ended = False
        self.unanswered: Deque[Sent] = collections.deque()
        self.error: Optional[BaseException] = None  # that the items, or making a message of one, raised

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
            sent = self._stream.send(next(self._items), self._count)
        except BaseException as error:
            if not isinstance(error, StopIteration):
                self.error = error  # reported by the results' iterator, after the items before it
            self._await_answers()
            raise StopIteration from None
        self._count += 1
        self.unanswered.append(sent)
        return sent.data

    def _await_answers(self) -> None:
        """Of all items. The server may not have read them, and gRPC 1.51 then ends a stream for saying that it is done,
        where memory is scarce."""
        for _ in range(self._window - 1):  # of the room, this thread has the rest
            self._room.acquire()

    def answered(self) -> None:
        """The oldest item is: its slots are free, and there is room for another one."""
        self.unanswered.popleft().release()
        self._room.release()

    def end(self) -> None:
        self._ended = True
        self._room.release(self._window)


def run_stream(method: Callable, address: str, stream: StreamCall[Found]) -> Iterator[Found]:
    """The results of a stream; InvalidArgument for items that cannot be iterated."""
    return _results(method, address, stream, _Requests(stream))


def _results(method: Callable, address: str, stream: StreamCall[Found], requests: _Requests) -> Iterator[Found]:
    call = method(requests, timeout=stream.timeout)
    try:
        for data in call:
            if not requests.unanswered:
                raise InternalError("stream: the server answered what was not sent")
            result = stream.parse(data, requests.unanswered[0].item)
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
        while requests.unanswered:
            requests.unanswered.popleft().release()
