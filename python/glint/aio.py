"""The asyncio twin of glint.Client.

    async with glint.aio.Client("127.0.0.1:50051") as client:
        features = await client.detect(image)
        async for result in client.stream(frames()):        # frames: an iterable or an async iterable
            ...
"""
from __future__ import annotations

import asyncio
import collections
from typing import Any, AsyncIterable, AsyncIterator, Iterable, Optional, Union

import grpc
import grpc.aio

from glint import channel as ch
from glint import options as opt
from glint import wire
from glint.client import Detector, _detector, stream_options
from glint.errors import InternalError, Unavailable, from_code, from_rpc
from glint.features import Features, Result
from glint.image import ImageLike
from glint.shared_memory import SharedMemory, socket_path
from glint.stream import Frame, message_of
from glint.v1 import feature_detection_pb2 as pb


class Client:
    """As glint.Client, for one event loop; methods have the same arguments and raise the same exceptions."""

    def __init__(
        self, address: Optional[str] = None, *, tls: Optional[ch.Tls] = None, token: Optional[str] = None
    ):
        self.address = ch.address_of(address)
        self._token = token
        if tls is None:
            self._channel = grpc.aio.insecure_channel(self.address, ch.channel_options())
        else:
            self._channel = grpc.aio.secure_channel(self.address, tls.credentials(), ch.channel_options())
        self._detect = ch.authorized(self._channel.unary_unary(ch.SERVICE + "Detect"), token)
        self._stream = ch.authorized(self._channel.stream_stream(ch.SERVICE + "DetectStream"), token)

    async def wait(self, timeout: float) -> None:
        """Waits for a server that is being started. Unavailable after `timeout` seconds."""
        try:
            await asyncio.wait_for(self._channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            raise Unavailable(f"no Glint server answers at {self.address} within {timeout} s") from None

    async def detect(
        self,
        image: ImageLike,
        preset: Detector = "orb",
        *,
        mask: Optional[ImageLike] = None,
        region: Optional[opt.Region] = None,
        timeout: Optional[float] = None,
        **fields: Any,
    ) -> Features:
        """Features of one image; see glint.Client.detect()."""
        request = wire.detect_request(_detector(preset, fields), image, mask, opt.region(region))
        try:
            return wire.parse_detect(await self._detect(request, timeout=timeout))
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None

    async def stream(
        self,
        frames: Union[Iterable[Union[ImageLike, Frame]], AsyncIterable[Union[ImageLike, Frame]]],
        preset: Detector = "orb",
        *,
        mask: Optional[ImageLike] = None,
        region: Optional[opt.Region] = None,
        window: int = 4,
        policy: str = "block",
        max_age: Optional[float] = None,
        timeout: Optional[float] = None,
        **fields: Any,
    ) -> AsyncIterator[Result]:
        """Results of many frames, in their order; see glint.Client.stream()."""
        options = stream_options(preset, region, policy, window, max_age, fields)
        first = wire.stream_options(options, mask)
        call = self._stream(timeout=timeout)
        room = asyncio.Semaphore(window)
        slots: collections.deque = collections.deque()

        async def write() -> None:
            await call.write(first)
            index = 0
            try:
                async for item in _iterate(frames):
                    await room.acquire()
                    data, of_frame = message_of(item, index)
                    index += 1
                    slots.append(of_frame)
                    await call.write(data)
            finally:  # also after what `frames` raised: the frames before it are answered first
                if not call.done():
                    await call.done_writing()

        writer = asyncio.ensure_future(write())
        try:
            while True:
                data = await call.read()
                if data is grpc.aio.EOF:
                    break
                if not slots:
                    raise InternalError("stream: the server answered a frame that was not sent")
                result = wire.parse_result(data)
                for slot in slots.popleft():
                    slot.release()
                room.release()
                yield result
            await writer
        except (grpc.RpcError, asyncio.InvalidStateError) as error:
            raise await _why_ended(call, error, self.address) from None
        finally:
            writer.cancel()
            call.cancel()
            while slots:
                for slot in slots.popleft():
                    slot.release()

    async def share_memory(
        self, slots: int = 9, slot_bytes: int = 1920 * 1080, *, socket: Optional[str] = None
    ) -> SharedMemory:
        """Memory that the server reads pixels from in place; see glint.Client.share_memory()."""
        requests: list = []
        path = socket_path(self.address, socket)
        memory = await asyncio.to_thread(SharedMemory, path, slots, slot_bytes, requests.append)
        try:
            await self._call("RegisterSharedMemory", requests[0], pb.RegisterSharedMemoryResponse, 5)
        except BaseException:
            memory.close()
            raise
        return memory

    async def info(self, timeout: float = 5) -> ch.ServerInfo:
        """What the server is and what it accepts at most."""
        response = await self._call("GetServerInfo", pb.GetServerInfoRequest(), pb.GetServerInfoResponse, timeout)
        return ch.ServerInfo.from_message(response)

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_) -> None:
        await self.close()

    async def _call(self, method: str, request, response, timeout: float):
        call = self._channel.unary_unary(
            ch.SERVICE + method, request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return await ch.authorized(call, self._token)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None


async def _why_ended(call, error: Exception, address: str) -> Exception:
    """The exception for a stream that broke. Writing to one that has ended is an InvalidStateError."""
    if isinstance(error, grpc.RpcError):
        return from_rpc(error, address)
    code = await call.code()
    return from_code(code.value[0], await call.details() or "the stream has ended")


async def _iterate(frames) -> AsyncIterator[Any]:
    if hasattr(frames, "__aiter__"):
        async for item in frames:
            yield item
    else:
        for item in frames:
            yield item
            await asyncio.sleep(0)
