"""Addresses, TLS and the settings of a gRPC channel, shared by the synchronous and the asyncio client."""
from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import ssl
from typing import Any, Callable, Optional, TypeVar

import grpc

from glint.connect_error import Address, load_certificate
from glint.errors import FailedPrecondition, InvalidArgument, invalid, out_of_range

DEFAULT_ADDRESS = "127.0.0.1:50051"
SERVER = "/glint.v1.Server/"
DETECTION = "/glint.v1.FeatureDetection/"
MATCHING = "/glint.v1.FeatureMatching/"
TRACKING = "/glint.v1.FeatureTracking/"
LOCALIZATION = "/glint.v1.Localization/"
HEALTH = "/grpc.health.v1.Health/Check"
CALL_TIMEOUT = 60  # seconds, of calls with an image
KEEPALIVE_TIME, KEEPALIVE_TIMEOUT = 10, 10  # seconds
_MAX_MESSAGE_BYTES = 256 << 20
_DAY = 86400
_SCHEMES = ("unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:")
HEALTH_NAMES = {0: "unknown", 1: "serving", 2: "not_serving", 3: "service_unknown"}

Kind = TypeVar("Kind")


@dataclasses.dataclass(frozen=True)
class Tls:
    """PEM texts as bytes, not file names. ca: authorities to believe, None: the system's. Certificate and key: both or
    neither, if the server asks for one."""

    ca: Optional[bytes] = None
    certificate: Optional[bytes] = None
    key: Optional[bytes] = None

    def credentials(self) -> grpc.ChannelCredentials:
        if (self.certificate is None) != (self.key is None):
            raise InvalidArgument("tls: certificate and key go together", field="tls")
        if self.certificate is not None and self.key is not None:
            try:
                load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.certificate, self.key)
            except ssl.SSLError as error:
                why = f"certificate and key cannot be used: {error.reason or error}"
                raise InvalidArgument(f"tls: {why}", field="tls") from None
        return grpc.ssl_channel_credentials(self.ca, self.key, self.certificate)


@dataclasses.dataclass(frozen=True)
class ServerLimits:
    """What a server accepts at most of one client; proto/glint/v1/server.proto has each."""

    max_image_pixels: int
    max_features: int
    max_message_bytes: int
    max_sessions: int
    max_sessions_per_client: int
    max_in_flight: int
    max_detect_calls: int
    max_track_streams: int
    max_track_cameras: int
    max_tracks: int
    max_track_pixels: int
    max_localize_streams: int
    max_localize_pixels: int
    max_map_keyframes: int
    max_map_points: int
    max_map_bytes: int
    stream_first_message_timeout_ns: int
    stream_idle_timeout_ns: int
    max_shared_memory_bytes: int
    max_shared_memory_regions: int
    max_match_pairs: int
    max_rectification_bytes: int


@dataclasses.dataclass(frozen=True)
class ServerInfo:
    """What a server is and what it serves; GetServerInfoResponse of proto/glint/v1/server.proto."""

    version: str
    backend: str
    device: str
    simd: str
    lanes: int
    queue_capacity_frames: int
    limits: ServerLimits
    presets: "tuple[str, ...]"
    shared_memory_socket: str
    devices: "tuple[str, ...]"
    memory_bound_bytes: int
    methods: "tuple[str, ...]"
    has_cuda: bool
    has_map_directory: bool
    usable_processors: float
    processors_source: str
    usable_memory_bytes: int
    memory_source: str
    max_threads: int
    threads_source: str
    has_calibration_directory: bool


def from_message(kind: "type[Kind]", message: Any) -> Kind:
    """A ServerInfo or ServerLimits of its message, whose fields have the same names."""
    values = {field.name: getattr(message, field.name) for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name == "limits":
            values[name] = from_message(ServerLimits, value)
        elif not isinstance(value, (str, int, float)):
            values[name] = tuple(value)
    return kind(**values)


def address_of(address: Optional[str], tls: Optional[Tls] = None) -> Address:
    """The address given, that in GLINT_SERVER, or a server's default."""
    address = address or os.environ.get("GLINT_SERVER") or DEFAULT_ADDRESS
    form = "is not HOST:PORT or unix:PATH"
    if not isinstance(address, str) or any(c.isspace() for c in address):
        raise invalid("address", address, form)
    if address.startswith(_SCHEMES):
        if address in _SCHEMES:
            raise invalid("address", address, form)
        return Address(address, tls)
    scheme, separator, _ = address.partition("://")
    if separator:
        raise invalid("address", address, f'{form}: leave "{scheme}://" out; TLS is a setting of its own')
    host, separator, port = address.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise invalid("address", address, f"{form}: an address of IPv6 has brackets, [::1]:50051")
    if not host or any(c in "/@" for c in host):
        raise invalid("address", address, form)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise invalid("address", address, f"{form} with a port in 1..65535")
    return Address(address, tls)


def check_process(process: int, remedy: str) -> None:
    """FailedPrecondition in another process than `process`, which fork() has begun: gRPC's threads stay behind."""
    if process != os.getpid():
        raise FailedPrecondition(
            f"client: it belongs to process {process}, and this is process {os.getpid()}, after fork(); {remedy}"
        )


def check_token(token: Optional[str]) -> None:
    if token is not None and (not token.isascii() or not token.isprintable() or not token or " " in token):
        raise InvalidArgument("token: is not printable ASCII without blanks", field="token")


class Methods:
    """The methods of a channel, of either client, each of which shows the bearer token if there is one. After fork()
    the child has a channel of its own, if there is a way to `reconnect`; else methods raise FailedPrecondition."""

    def __init__(self, channel: Any, token: Optional[str], reconnect: Optional[Callable[[], Any]] = None):
        check_token(token)
        self.channel = channel
        self._reconnect = reconnect
        self._process = os.getpid()
        self._of_parents: "list[Any]" = []  # channels, which only their process may end
        self._metadata = None if token is None else (("authorization", "Bearer " + token),)
        self._made: "dict[str, Any]" = {}

    def unary(self, name: str, with_token: bool = True) -> Any:
        return self._method("unary_unary", name, with_token)

    def stream(self, name: str) -> Any:
        return self._method("stream_stream", name, True)

    def _method(self, kind: str, name: str, with_token: bool) -> Any:
        if self._process != os.getpid():
            if self._reconnect is None:
                check_process(self._process, "make a client in each process")
            else:
                self._of_parents.append(self.channel)
                self.channel, self._made, self._process = self._reconnect(), {}, os.getpid()
        if name not in self._made:
            method = getattr(self.channel, kind)(name)
            metadata = self._metadata if with_token else None
            self._made[name] = method if metadata is None else functools.partial(method, metadata=metadata)
        return self._made[name]


def described(method: Any, make: Any) -> Any:
    """`method` of a client with name, text and signature of the function that makes its call."""
    signature = inspect.signature(make)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [itself, *signature.parameters.values()]
    method.__signature__ = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    method.__name__, method.__qualname__, method.__doc__ = make.__name__, f"Client.{make.__name__}", make.__doc__
    return method


def channel_options(keepalive_time: float, keepalive_timeout: float) -> list[tuple[str, int]]:
    if not 5 <= keepalive_time <= _DAY:
        raise out_of_range("keepalive_time", keepalive_time, 5, _DAY)
    if not 0.1 <= keepalive_timeout <= _DAY:
        raise out_of_range("keepalive_timeout", keepalive_timeout, 0.1, _DAY)
    return [
        ("grpc.keepalive_time_ms", round(keepalive_time * 1000)),
        ("grpc.keepalive_timeout_ms", round(keepalive_timeout * 1000)),
        ("grpc.http2.max_pings_without_data", 0),  # else the third ping waits for data
        ("grpc.min_reconnect_backoff_ms", 5000),  # of an attempt: a machine that is gone refuses nothing
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.enable_http_proxy", 0),
        # Streams cannot be sent again; and gRPC 1.51 can hang when a stream that it might send again is cancelled.
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
        ("grpc.use_local_subchannel_pool", 1),
    ]
