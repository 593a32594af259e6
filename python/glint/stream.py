"""A stream of items to a server and of results back, as an iterator."""
from __future__ import annotations

import collections
import os
import threading
import time
from typing import Any, Callable, Deque, Iterator, Optional

import grpc

from glint.call import Found, Sent, StreamCall
from glint.channel import check_process
from glint.errors import InternalError, InvalidArgument, ResourceExhausted, from_rpc, no_answer


_of_parents: "list[Any]" = []  # calls of the process before fork(): a call that is collected is cancelled, there, too


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


class _Watch:
    """Cancels a stream whose server does not answer, on a thread of its own, and says so."""

    def __init__(self, call: Any, timeout: float, unanswered: "Deque[Sent]"):
        self.late = False
        self._call, self._timeout, self._unanswered = call, timeout, unanswered
        self._waits_since: Optional[float] = None  # None: the caller takes no result now
        self._ended = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def wait(self, waits: bool) -> None:
        self._waits_since = time.monotonic() if waits else None

    def end(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        left = self._timeout
        while not self._ended.wait(left):
            # What is not owed yet cannot be late before a whole timeout has passed.
            now, waits_since = time.monotonic(), self._waits_since
            try:
                owed = now if waits_since is None else max(waits_since, self._unanswered[0].at)
            except IndexError:
                owed = now
            left = owed + self._timeout - now
            if left <= 0:
                self.late = True
                self._call.cancel()
                return


def _check_threads() -> None:
    """Raises RuntimeError, as threading does, before gRPC can be refused a thread: its channel is of no use then."""
    done = threading.Event()
    try:
        for _ in range(3):  # of the channel, of what is sent, and of _Watch
            threading.Thread(target=done.wait, daemon=True).start()
    finally:
        done.set()


def _results(method: Callable, address: str, stream: StreamCall[Found], requests: _Requests) -> Iterator[Found]:
    process = os.getpid()
    call = watch = None
    try:
        _check_threads()
        call = method(requests)
        watch = None if stream.timeout is None else _Watch(call, stream.timeout, requests.unanswered)
    except RuntimeError as error:  # of threading, in gRPC or here
        requests.end()
        if call is not None:
            call.cancel()
        raise ResourceExhausted(
            f"stream: {error}; the limit of threads and processes is --pids-limit, TasksMax= or ulimit -u"
        ) from error
    try:
        while True:
            check_process(process, "open a stream in each process")
            if watch is not None:
                watch.wait(True)
            data = next(call, None)
            if watch is not None:
                watch.wait(False)
            if data is None:
                break
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
        if watch is not None and watch.late:
            raise no_answer(stream.timeout) from None
        raise from_rpc(error, address) from None
    finally:
        if process != os.getpid():
            _of_parents.append(call)
        else:
            if watch is not None:
                watch.end()
            requests.end()
            call.cancel()
            while requests.unanswered:
                requests.unanswered.popleft().release()
