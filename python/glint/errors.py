"""Exceptions of the package: one class for each gRPC status code that a Glint server uses.

Every exception has `code` (the name of the gRPC status, such as "INVALID_ARGUMENT") and `message`, and, where the error
is about a value:

field        its path in what was sent ("detector.levels"), or the name of an argument
value        it, as text, shortened
allowed      a range as two floats (-inf or inf where it has no end), or the names that are allowed
limit, flag  the server's limit that was exceeded, an int, and the flag that sets it ("--max-image-pixels")
retry_after  seconds after which it may go well
"""
from __future__ import annotations

import contextlib
import re
import reprlib
from typing import Any, Collection, Iterable, Optional, Union

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.protobuf.wrappers_pb2 import BytesValue

from glint.connect_error import Address, why_not_connected
from glint.v1 import envelope_pb2 as pb

_LONGEST = 200  # characters of a value
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 64


class GlintError(Exception):
    """A call, a stream or a frame failed. Base class of all exceptions of this package."""

    code = "UNKNOWN"

    def __init__(
        self,
        message: str,
        *,
        code: Optional[str] = None,
        field: Optional[str] = None,
        value: Optional[str] = None,
        allowed: "Union[tuple[float, float], tuple[str, ...], None]" = None,
        limit: Optional[int] = None,
        flag: Optional[str] = None,
        retry_after: Optional[float] = None,
    ):
        super().__init__(message)
        self.message = message
        self.field, self.value, self.allowed = field, value, allowed
        self.limit, self.flag, self.retry_after = limit, flag, retry_after
        if code is not None:
            self.code = code


class InvalidArgument(GlintError, ValueError):
    """An option, an image or an argument is wrong. The message names field, value and allowed values."""

    code = "INVALID_ARGUMENT"


class ResourceExhausted(GlintError):
    """A limit of the server was reached: see `limit`, `field` and `retry_after`."""

    code = "RESOURCE_EXHAUSTED"


class Unavailable(GlintError, ConnectionError):
    """No server answers at the address, it went away, or it is draining."""

    code = "UNAVAILABLE"


class DeadlineExceeded(GlintError, TimeoutError):
    """The timeout passed, or a frame became older than its maximum age."""

    code = "DEADLINE_EXCEEDED"


class Cancelled(GlintError):
    """The call or stream was cancelled."""

    code = "CANCELLED"


class FailedPrecondition(GlintError):
    """The server does not do this now, for example shared memory over TCP."""

    code = "FAILED_PRECONDITION"


class NotFound(GlintError, LookupError):
    """A name that the server does not know."""

    code = "NOT_FOUND"


class Unimplemented(GlintError, NotImplementedError):
    """This server has no such method, or the request cannot be met."""

    code = "UNIMPLEMENTED"


class PermissionDenied(GlintError, PermissionError):
    """The server does not accept this client."""

    code = "PERMISSION_DENIED"


class Unauthenticated(GlintError, PermissionError):
    """The server wants credentials."""

    code = "UNAUTHENTICATED"


class Aborted(GlintError):
    """A newer frame took the place of this one (policies "drop_oldest" and "latest")."""

    code = "ABORTED"


class InternalError(GlintError):
    """The server or this package has a defect."""

    code = "INTERNAL"


_CLASSES = {kind.code: kind for kind in GlintError.__subclasses__()}
# What gRPC says of a connection that ended while something was to be answered.
_GONE = re.compile(r"socket closed|connection reset|broken pipe|goaway|transport closed|end of tcp stream", re.I)
_NOT_CONNECTED = re.compile(r"failed to connect|resolution failed", re.I)
_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


# ---- errors that are found here, before anything is sent


def invalid(field: str, value: Any, why: str, allowed: Any = None) -> InvalidArgument:
    """The exception for an argument: "FIELD: VALUE WHY"."""
    if isinstance(value, str):
        text = value if len(value) <= _LONGEST else value[: _LONGEST - 3] + "..."
        shown = f'"{text}"'
    elif getattr(value, "ndim", 0) > 0:
        text = shown = f"an array of {value.dtype} and shape {value.shape}"
    else:
        text = shown = " ".join(_short.repr(value).split())
    return InvalidArgument(f"{field}: {shown} {why}", field=field, value=text, allowed=allowed)


def out_of_range(field: str, value: Any, lowest: float, highest: float) -> InvalidArgument:
    """The exception for a number that is not in lowest..highest."""
    return invalid(field, value, f"is not in {lowest}..{highest}", (float(lowest), float(highest)))


def not_one_of(field: str, value: Any, names: Collection[str]) -> InvalidArgument:
    """The exception for a choice."""
    return invalid(field, value, f"is not one of {', '.join(names)}", tuple(names))


# ---- errors of the server


def no_answer(timeout: float) -> DeadlineExceeded:
    """The exception for a stream whose server does not answer."""
    return DeadlineExceeded(f"no answer from the server for {timeout:g} s")


def not_connected(address: str, said: str) -> Unavailable:
    """The exception for a server that cannot be reached. `said`: what is known of it, which a look at the server may
    know better. Waits for two seconds at most; for longer if names are resolved slowly."""
    listens, why = why_not_connected(address) if isinstance(address, Address) else (False, "")
    if listens and why:
        return Unavailable(f"cannot connect to the Glint server at {address}: {why}")
    return Unavailable(
        f"no Glint server answers at {address} ({why or said}). "
        "Start one with `glint-server --listen HOST:PORT`, or set GLINT_SERVER to its address"
    )


def from_code(code: int, message: str, **about: Any) -> GlintError:
    """The exception for a numeric gRPC status code; `about`: arguments of GlintError."""
    name = _NAMES.get(code, "UNKNOWN")
    return _CLASSES.get(name, GlintError)(message, code=name, **about)


def from_status(status: pb.FrameStatus) -> GlintError:
    """The exception for a frame that failed."""
    retry_after = status.retry_after_ns / 1e9 if status.retry_after_ns else None
    return from_code(status.code, status.message, retry_after=retry_after, **_about(status.error))


def from_call(code: int, details: str, address: str, metadata: Optional[Iterable] = None) -> GlintError:
    """The exception for a call or stream that ended with a status. `address` is named where the text needs it."""
    name, message = _NAMES.get(code, "UNKNOWN"), " ".join(details.split())
    if name == "UNAVAILABLE" and _NOT_CONNECTED.search(message):
        return not_connected(address, message)
    if name == "UNAVAILABLE" and _GONE.search(message):
        message = (
            f"the Glint server at {address} went away ({message}). "
            "What it has not answered is lost: start it again, then call or open the stream again"
        )
    elif name == "UNIMPLEMENTED" and not message:
        message = f"the server at {address} does not know this method: it is older than this package, or not Glint's"
    return from_code(code, message, **_about_call(metadata or ()))


def from_rpc(error: grpc.RpcError, address: str) -> GlintError:
    """The exception for what gRPC raised."""
    return from_call(error.code().value[0], error.details() or "", address, error.trailing_metadata())


def _about_call(metadata: Iterable) -> "dict[str, Any]":
    """What the trailers say, as arguments of GlintError."""
    about: "dict[str, Any]" = {}
    for value in (value for key, value in metadata if key == "grpc-status-details-bin"):
        with contextlib.suppress(DecodeError):  # of another server
            for detail in pb.StatusDetails.FromString(value).details:
                about.update(_about_detail(detail.type_url.rpartition("/")[2], detail.value))
    return about


def _about_detail(kind: str, data: bytes) -> "dict[str, Any]":
    if kind == "google.rpc.ErrorInfo":
        return _about(pb.ErrorInfo.FromString(data))
    if kind != "google.rpc.RetryInfo":
        return {}
    delay = Duration.FromString(BytesValue.FromString(data).value)  # RetryInfo has one field, with BytesValue's number
    return {"retry_after": delay.seconds + delay.nanos / 1e9}


def _about(info: pb.ErrorInfo) -> "dict[str, Any]":
    """What an error is about, as arguments of GlintError."""
    data = info.metadata
    about: "dict[str, Any]" = {name: data[name] for name in ("field", "value", "flag") if name in data}
    if "allowed" in data:
        about["allowed"] = tuple(data["allowed"].split(", "))
    if info.reason == "OVER_LIMIT":
        about["limit"] = int(data["highest"]) if data["highest"].isdigit() else None
    elif "lowest" in data or "highest" in data:
        about["allowed"] = (_number(data, "lowest", "-inf"), _number(data, "highest", "inf"))
    return about


def _number(data: Any, name: str, otherwise: str) -> float:
    try:
        return float(data[name] if name in data else otherwise)
    except ValueError:
        return float(otherwise)
