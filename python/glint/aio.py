"""The asyncio twin of glint.Client.

    async with glint.aio.Client("127.0.0.1:50051") as client:
        features = await client.detect(image)
        async for result in client.stream(frames()):        # frames: an iterable or an async iterable
            ...
"""
from __future__ import annotations

import asyncio
import collections
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Deque, Optional, Sequence

import grpc
import grpc.aio

from glint import calls
from glint import channel as ch
from glint.calls import Call, Found, Sent, StreamCall
from glint.errors import InternalError, Unavailable, from_call, from_rpc, no_answer
from glint.shared_memory import SharedMemory, socket_path

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")


def _call(make: Callable[P, Call[Found]]) -> Callable[Concatenate[Any, P], Awaitable[Found]]:
    """The client's method that sends what `make` makes of its arguments; to be awaited."""

    async def method(self, *args, **kwargs):
        return await self._send(make(*args, **kwargs))

    return ch.described(method, make)


def _stream(make: Callable[P, StreamCall[Found]]) -> Callable[Concatenate[Any, P], AsyncIterator[Found]]:
    """The same for a stream: returns an async iterator over the results."""

    def method(self, *args, **kwargs):
        stream = make(*args, **kwargs)
        return _results(self._methods.stream(stream.method), self.address, stream)

    return ch.described(method, make)


class Client:
    """As glint.Client, for one event loop; methods have the same arguments and raise the same exceptions. After fork()
    they raise glint.FailedPrecondition."""

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        tls: Optional[ch.Tls] = None,
        token: Optional[str] = None,
        keepalive_time: float = ch.KEEPALIVE_TIME,
        keepalive_timeout: float = ch.KEEPALIVE_TIMEOUT,
    ):
        self.address = ch.address_of(address)
        options = ch.channel_options(keepalive_time, keepalive_timeout)
        if tls is None:
            self._channel = grpc.aio.insecure_channel(self.address, options)
        else:
            self._channel = grpc.aio.secure_channel(self.address, tls.credentials(), options)
        self._methods = ch.Methods(self._channel, token)

    detect = _call(calls.detect)
    stream = _stream(calls.stream)
    match = _call(calls.match)
    match_stream = _stream(calls.match_stream)
    stereo_stream = _stream(calls.stereo_stream)
    track_stream = _stream(calls.track_stream)
    localize_stream = _stream(calls.localize_stream)
    info = _call(calls.info)
    health = _call(calls.health)

    async def wait(self, timeout: float) -> None:
        """Waits for a server that is being started. Unavailable after `timeout` seconds."""
        try:
            await asyncio.wait_for(self._channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            raise Unavailable(f"no Glint server answers at {self.address} within {timeout} s") from None

    async def share_memory(
        self,
        slots: int = 9,
        slot_bytes: int = 1920 * 1080,
        *,
        socket: Optional[str] = None,
        shared_with: Sequence[str] = (),
    ) -> SharedMemory:
        """Memory that the server reads pixels from in place; see glint.Client.share_memory()."""
        requests: list = []
        path = socket_path(self.address, socket)
        memory = await asyncio.to_thread(SharedMemory, path, slots, slot_bytes, shared_with, requests.append)
        try:
            memory.set_owner(await self._send(calls.register_memory(requests[0])))
        except BaseException:
            memory.close()
            raise
        return memory

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_) -> None:
        await self.close()

    async def _send(self, call: Call[Found]) -> Found:
        try:
            method = self._methods.unary(call.method, call.with_token)
            return call.parse(await method(call.request, timeout=call.timeout))
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None


async def _results(method: Callable, address: str, stream: StreamCall[Found]) -> AsyncIterator[Found]:
    call = method()
    room = asyncio.Semaphore(stream.window)
    unanswered: Deque[Sent] = collections.deque()
    all_answered = asyncio.Event()
    all_answered.set()

    async def write() -> None:
        await call.write(stream.first)
        index = 0
        raised: Optional[Exception] = None  # by the items: those before it are answered first
        try:
            async for item in _iterate(stream.items):
                await room.acquire()
                sent = stream.send(item, index)
                index += 1
                unanswered.append(sent)
                all_answered.clear()
                await call.write(sent.data)
        except Exception as error:
            raised = error
        await all_answered.wait()  # as stream.py
        if not call.done():
            await call.done_writing()
        if raised is not None:
            raise raised

    writer = asyncio.ensure_future(write())
    writer.add_done_callback(lambda task: task.cancelled() or task.exception())  # of a stream that broke: seen here
    try:
        while True:
            data = await (call.read() if stream.timeout is None else _read(call, stream.timeout, unanswered))
            if data is grpc.aio.EOF:
                break
            if not unanswered:
                raise InternalError("stream: the server answered what was not sent")
            result = stream.parse(data, unanswered[0].item)
            unanswered.popleft().release()
            if not unanswered:
                all_answered.set()
            room.release()
            yield result
        all_answered.set()  # no answer comes any more
        await writer
    except (grpc.RpcError, asyncio.InvalidStateError) as error:
        raise await _why_ended(call, error, address) from None
    finally:
        writer.cancel()
        call.cancel()
        while unanswered:
            unanswered.popleft().release()


async def _read(call: Any, timeout: float, unanswered: "Deque[Sent]") -> Any:
    """The next answer; DeadlineExceeded when it is owed for `timeout` seconds."""
    begun = time.monotonic()
    reading = asyncio.ensure_future(call.read())
    try:
        while True:
            # What is not owed yet cannot be late before a whole timeout has passed.
            now = time.monotonic()
            owed = max(begun, unanswered[0].at) if unanswered else now
            if owed + timeout <= now:
                raise no_answer(timeout)
            await asyncio.wait({reading}, timeout=owed + timeout - now)
            if reading.done():
                return reading.result()
    finally:
        reading.cancel()


async def _why_ended(call, error: Exception, address: str) -> Exception:
    """The exception for a stream that broke. Writing to one that has ended is an InvalidStateError."""
    if isinstance(error, grpc.RpcError):
        return from_rpc(error, address)
    code = await call.code()
    details = await call.details() or "the stream has ended"
    return from_call(code.value[0], details, address, await call.trailing_metadata())


async def _iterate(frames) -> AsyncIterator[Any]:
    if hasattr(frames, "__aiter__"):
        async for item in frames:
            yield item
    else:
        for item in frames:
            yield item
            await asyncio.sleep(0)
