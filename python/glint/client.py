"""The synchronous client: one call, one answer, or a stream of frames."""
from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional, Union

import grpc

from glint import channel as ch
from glint import options as opt
from glint import wire
from glint.errors import InvalidArgument, Unavailable, from_rpc
from glint.features import Features, Result
from glint.image import ImageLike
from glint.shared_memory import SharedMemory, socket_path
from glint.stream import Frame, run_stream
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import options_pb2

Detector = Union[str, options_pb2.DetectorOptions]


def _detector(preset: Detector, fields: dict) -> options_pb2.DetectorOptions:
    if isinstance(preset, options_pb2.DetectorOptions) and not fields:
        return preset
    return opt.detector(preset, **fields)  # type: ignore[arg-type]


def stream_options(
    preset: Detector, region, policy: str, window: int, max_age: Optional[float], fields: dict
) -> pb.StreamOptions:
    """The first message of a stream, without its mask. Shared with the asyncio client."""
    if not isinstance(window, int) or not 1 <= window <= 4096:
        raise InvalidArgument(f"window: {window} is not in 1..4096")
    return pb.StreamOptions(
        detector=_detector(preset, fields),
        region=opt.region(region),
        overload_policy=opt.policy(policy),
        max_age_ns=opt.nanoseconds(max_age, "max_age"),
    )


class Client:
    """A connection to a Glint server. Thread-safe. Close it, or use it in a with statement.

    address  "host:port" or "unix:/path"; None: the environment variable GLINT_SERVER, else 127.0.0.1:50051
    tls      glint.Tls, or None for a connection that is neither encrypted nor authenticated
    token    bearer token that every call shows; None: none
    wait     seconds to wait for a server that is being started; 0: connect with the first call

    Every method raises a subclass of glint.GlintError: glint.Unavailable where no server answers.
    """

    def __init__(
        self, address: Optional[str] = None, *, tls: Optional[ch.Tls] = None, token: Optional[str] = None, wait: float = 0
    ):
        self.address = ch.address_of(address)
        self._token = token
        if tls is None:
            self._channel = grpc.insecure_channel(self.address, ch.channel_options())
        else:
            self._channel = grpc.secure_channel(self.address, tls.credentials(), ch.channel_options())
        self._detect = ch.authorized(self._channel.unary_unary(ch.SERVICE + "Detect"), token)
        self._stream = ch.authorized(self._channel.stream_stream(ch.SERVICE + "DetectStream"), token)
        if wait > 0:
            try:
                grpc.channel_ready_future(self._channel).result(timeout=wait)
            except grpc.FutureTimeoutError:
                self.close()
                raise Unavailable(f"no Glint server answers at {self.address} within {wait} s") from None

    def detect(
        self,
        image: ImageLike,
        preset: Detector = "orb",
        *,
        mask: Optional[ImageLike] = None,
        region: Optional[opt.Region] = None,
        timeout: Optional[float] = None,
        **fields: Any,
    ) -> Features:
        """Features of one image.

        image   a numpy array, the bytes of a JPEG or PNG file, or glint.Raw, Encoded, Shared
        mask    uint8 array of the image's size: keypoints are kept where it is not 0
        region  (x, y, width, height): the answer is that of this part of the image, in the whole image's coordinates
        fields  of DetectorOptions, in place of the preset's: max_features=2000, descriptor="rbrief", levels=4 ...
        """
        request = wire.detect_request(_detector(preset, fields), image, mask, opt.region(region))
        try:
            return wire.parse_detect(self._detect(request, timeout=timeout))
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None

    def stream(
        self,
        frames: Iterable[Union[ImageLike, Frame]],
        preset: Detector = "orb",
        *,
        mask: Optional[ImageLike] = None,
        region: Optional[opt.Region] = None,
        window: int = 4,
        policy: str = "block",
        max_age: Optional[float] = None,
        timeout: Optional[float] = None,
        **fields: Any,
    ) -> Iterator[Result]:
        """Results of many frames with the same options, one for each frame, in the order of the frames.

        frames   images, or glint.Frame for an id, a mask, a region or a maximum age of its own; iterated by a thread
                 of the stream. Frames without an id are numbered from 0.
        window   frames that may be unanswered; the next one is taken from `frames` when there is room
        policy   what the server does with frames that come faster than it answers: "block", "drop_oldest", "latest" or
                 "reject". Dropped frames have results, too, with drop_reason.
        max_age  seconds after which a frame that no lane has begun is dropped

        A frame that fails has a Result with its error, and the stream goes on. The stream ends with an exception when it
        breaks. Leaving the loop early, or close() of the iterator, cancels it.
        """
        options = stream_options(preset, region, policy, window, max_age, fields)
        first = wire.stream_options(options, mask)
        return run_stream(self._stream, self.address, first, iter(frames), window, timeout)

    def share_memory(
        self, slots: int = 9, slot_bytes: int = 1920 * 1080, *, socket: Optional[str] = None
    ) -> SharedMemory:
        """Memory that the server reads pixels from in place; the client must be connected to a unix socket.

        slots       1..4096: as many as a stream's window, and one to fill
        slot_bytes  of each, at least; rounded up to whole pages
        socket      the server's socket for shared memory, where it is not PATH.shm
        """

        def register(request: pb.RegisterSharedMemoryRequest) -> None:
            self._call("RegisterSharedMemory", request, pb.RegisterSharedMemoryResponse, 5)

        return SharedMemory(socket_path(self.address, socket), slots, slot_bytes, register)

    def info(self, timeout: float = 5) -> ch.ServerInfo:
        """What the server is and what it accepts at most."""
        response = self._call("GetServerInfo", pb.GetServerInfoRequest(), pb.GetServerInfoResponse, timeout)
        return ch.ServerInfo.from_message(response)

    def health(self, timeout: float = 5) -> str:
        """Whether the server takes frames: "serving", "not_serving" or "unknown"."""
        try:
            answer = self._channel.unary_unary(ch.HEALTH)(b"", timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None
        return ch.HEALTH_NAMES.get(answer[1] if len(answer) > 1 else 0, "unknown")

    def close(self) -> None:
        """Ends the connection and all calls on it."""
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _call(self, method: str, request, response, timeout: Optional[float]):
        call = self._channel.unary_unary(
            ch.SERVICE + method, request_serializer=type(request).SerializeToString,
            response_deserializer=response.FromString,
        )
        try:
            return ch.authorized(call, self._token)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise from_rpc(error, self.address) from None
