"""The asyncio twin of glint.Client.

    async with glint.aio.Client("127.0.0.1:50051") as client:
        features = await client.detect(image)
        async for result in client.stream(frames()):        # frames: an iterable or an async iterable
            ...
"""
from __future__ import annotations

import asyncio
import collections
import os
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Deque, Optional, Sequence

import grpc
import grpc.aio

from glint import calls
from glint import channel as ch
from glint.call_gate import CALLS_AT_ONCE, PATIENCE, CallGate
from glint.call import Call, Found, Sent, StreamCall
from glint.errors import FailedPrecondition, InternalError, from_call, from_rpc, no_answer, not_connected
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
        return _results(self, make(*args, **kwargs))

    return ch.described(method, make)


class Client:
    """As glint.Client, for one event loop; methods have the same arguments and raise the same exceptions. After fork()
    they raise glint.FailedPrecondition.

    It may be made before the loop runs: it connects in the loop of its first call. Once that loop is closed, it
    connects anew in the next one; in another loop before that its methods raise glint.FailedPrecondition.
    """

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        tls: Optional[ch.Tls] = None,
        token: Optional[str] = None,
        keepalive_time: float = ch.KEEPALIVE_TIME,
        keepalive_timeout: float = ch.KEEPALIVE_TIMEOUT,
        calls_at_once: int = CALLS_AT_ONCE,
        patience: float = PATIENCE,
    ):
        self.address = ch.address_of(address, tls)
        options = ch.channel_options(keepalive_time, keepalive_timeout)
        credentials = None if tls is None else tls.credentials()
        ch.check_token(token)

        def connect() -> "tuple[ch.Methods, CallGate]":
            if credentials is None:
                channel = grpc.aio.insecure_channel(self.address, options)
            else:
                channel = grpc.aio.secure_channel(self.address, credentials, options)
            return ch.Methods(channel, token), CallGate(calls_at_once, patience)

        self._process = os.getpid()
        self._loop: Optional[asyncio.AbstractEventLoop] = None  # that of the methods; None: they are not made yet
        self._connect = connect
        self._methods: Optional[ch.Methods] = None
        self._gate = CallGate(calls_at_once, patience)

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
            await asyncio.wait_for(self._here().channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            raise await asyncio.to_thread(not_connected, self.address, f"nothing within {timeout} s") from None

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
        """Ends the connection and all calls on it."""
        self._gate.close()
        if self._methods is not None:
            await self._methods.channel.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_) -> None:
        await self.close()

    def _here(self) -> ch.Methods:
        """The methods of the channel of the running event loop."""
        ch.check_process(self._process, "make a client in each process")
        loop = asyncio.get_running_loop()
        if self._methods is None or self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed():
                why = "it is used in another event loop than its first call, which is not closed; make a client in each"
                raise FailedPrecondition(f"client: {why}")
            self._methods, self._gate = self._connect()
            self._loop = loop
        return self._methods

    async def _send(self, call: Call[Found]) -> Found:
        method = self._here().unary(call.method, call.with_token)

        async def send(timeout: Optional[float]) -> Found:
            try:
                return call.parse(await method(call.message, timeout=timeout))
            except grpc.RpcError as error:
                raise await _explained(error, self.address) from None

        return await (self._gate.run_async(call.timeout, send) if call.in_turn else send(call.timeout))


async def _results(client: Client, stream: StreamCall[Found]) -> AsyncIterator[Found]:
    call, address = client._here().stream(stream.method)(), client.address
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


async def _explained(error: grpc.RpcError, address: str) -> Exception:
    """from_rpc(), which may look at the server, and then on another thread than the loop's."""
    if error.code() is not grpc.StatusCode.UNAVAILABLE:
        return from_rpc(error, address)
    return await asyncio.to_thread(from_rpc, error, address)


async def _why_ended(call, error: Exception, address: str) -> Exception:
    """The exception for a stream that broke. Writing to one that has ended is an InvalidStateError."""
    if isinstance(error, grpc.RpcError):
        return await _explained(error, address)
    code = await call.code()
    details = await call.details() or "the stream has ended"
    return await asyncio.to_thread(from_call, code.value[0], details, address, await call.trailing_metadata())


async def _iterate(frames) -> AsyncIterator[Any]:
    if hasattr(frames, "__aiter__"):
        async for item in frames:
            yield item
    else:
        for item in frames:
            yield item
            await asyncio.sleep(0)
