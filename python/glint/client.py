"""The synchronous client: one call, one answer, or a stream."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Sequence

import grpc

from glint import calls
from glint import channel as ch
from glint.call_gate import CALLS_AT_ONCE, PATIENCE, CallGate
from glint.call import Call, Found, StreamCall
from glint.errors import from_rpc, not_connected
from glint.shared_memory import SharedMemory, socket_path
from glint.stream import run_stream

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")


def _call(make: Callable[P, Call[Found]]) -> Callable[Concatenate[Any, P], Found]:
    """The client's method that sends what `make` makes of its arguments, and returns the answer."""

    def method(self, *args, **kwargs):
        return self._send(make(*args, **kwargs))

    return ch.described(method, make)


def _stream(make: Callable[P, StreamCall[Found]]) -> Callable[Concatenate[Any, P], Iterator[Found]]:
    """The same for a stream: returns an iterator over the results."""

    def method(self, *args, **kwargs):
        stream = make(*args, **kwargs)
        return run_stream(self._methods.stream(stream.method), self.address, stream)

    return ch.described(method, make)


class Client:
    """A connection to a Glint server. Thread-safe. Close it, or use it in a with statement.

    address  "host:port" or "unix:/path"; None: the environment variable GLINT_SERVER, else 127.0.0.1:50051
    tls      glint.Tls, or None for a connection that is neither encrypted nor authenticated
    token    bearer token that every call shows; None: none
    wait     seconds to wait for a server that is being started; 0: connect with the first call
    keepalive_time, keepalive_timeout
             while calls or streams are open, a ping is sent after the first without a byte from the server, and must be
             answered within the second, in seconds: else all of them end with glint.Unavailable. 5..86400 and
             0.1..86400
    calls_at_once, patience
             calls of detect() and match() that are under way at once, 1..4096; fewer once the server has named its
             limit (--max-detect-calls). Further calls, and those that the server refuses for now, wait in the order of
             the calls: until their timeout, then glint.DeadlineExceeded, or until no such call of the client was
             answered for `patience` seconds, 0..86400, then glint.ResourceExhausted. 0: they are refused at once

    Every method raises a subclass of glint.GlintError: glint.Unavailable where no server answers or it falls silent.
    After os.fork() and in multiprocessing's children a client connects anew; streams stay with their process.
    """

    _gate: CallGate

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        tls: Optional[ch.Tls] = None,
        token: Optional[str] = None,
        wait: float = 0,
        keepalive_time: float = ch.KEEPALIVE_TIME,
        keepalive_timeout: float = ch.KEEPALIVE_TIMEOUT,
        calls_at_once: int = CALLS_AT_ONCE,
        patience: float = PATIENCE,
    ):
        self.address = ch.address_of(address, tls)
        options = ch.channel_options(keepalive_time, keepalive_timeout)

        def connect() -> grpc.Channel:
            self._gate = CallGate(calls_at_once, patience)
            if tls is None:
                return grpc.insecure_channel(self.address, options)
            return grpc.secure_channel(self.address, tls.credentials(), options)

        self._methods = ch.Methods(connect(), token, connect)
        if wait > 0:
            try:
                grpc.channel_ready_future(self._methods.channel).result(timeout=wait)
            except grpc.FutureTimeoutError:
                self.close()
                raise not_connected(self.address, f"nothing within {wait} s") from None

    detect = _call(calls.detect)
    stream = _stream(calls.stream)
    match = _call(calls.match)
    match_stream = _stream(calls.match_stream)
    stereo_stream = _stream(calls.stereo_stream)
    track_stream = _stream(calls.track_stream)
    localize_stream = _stream(calls.localize_stream)
    info = _call(calls.info)
    health = _call(calls.health)

    def share_memory(
        self,
        slots: int = 9,
        slot_bytes: int = 1920 * 1080,
        *,
        socket: Optional[str] = None,
        shared_with: Sequence[str] = (),
    ) -> SharedMemory:
        """Memory that the server reads pixels from in place; the client must be connected to a unix socket.

        slots       1..4096: as many as a stream's window, and one to fill
        slot_bytes  of each, at least; rounded up to whole pages
        socket      the server's socket for shared memory, where it is not PATH.shm
        shared_with up to 16 other clients of the server that may read it, too, by glint.OtherSlot: "user UID",
                    "identity NAME", or "*" for all of its unix sockets
        """
        path = socket_path(self.address, socket)
        return SharedMemory(
            path, slots, slot_bytes, shared_with, lambda request: self._send(calls.register_memory(request))
        )

    def close(self) -> None:
        """Ends the connection and all calls on it."""
        self._gate.close()
        self._methods.channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _send(self, call: Call[Found]) -> Found:
        method = self._methods.unary(call.method, call.with_token)

        def send(timeout: Optional[float]) -> Found:
            try:
                return call.parse(method(call.message, timeout=timeout))
            except grpc.RpcError as error:
                raise from_rpc(error, self.address) from None

        return self._gate.run(call.timeout, send) if call.in_turn else send(call.timeout)
