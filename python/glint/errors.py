"""Exceptions of the package: one class for each gRPC status code that a Glint server uses.

Every exception has `code` (the name of the gRPC status, such as "INVALID_ARGUMENT"), `message`, and, where the
message names them, `field` ("options.levels"), `limit` (an int) and `retry_after` (seconds).
"""
from __future__ import annotations

import re
from typing import Optional

import grpc

_FIELD = re.compile(r"([A-Za-z_][\w.\-\[\]]*)(?:, [\w.\-\[\]]+)*: ")
_LIMIT = re.compile(r"limit of (-?\d+)")
_RANGE = re.compile(r"is not in (-?[\d.]+)\.\.(-?[\d.]+)")


class GlintError(Exception):
    """A call, a stream or a frame failed. Base class of all exceptions of this package."""

    code = "UNKNOWN"

    def __init__(self, message: str, *, code: Optional[str] = None, retry_after: Optional[float] = None):
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        if code is not None:
            self.code = code

    @property
    def field(self) -> Optional[str]:
        """The field that the message is about, the first of several, None if it names none."""
        match = _FIELD.match(self.message)
        return match.group(1) if match else None

    @property
    def limit(self) -> Optional[int]:
        """The server's limit that was exceeded, None if the message names none."""
        match = _LIMIT.search(self.message)
        return int(match.group(1)) if match else None

    @property
    def allowed(self) -> Optional[tuple[float, float]]:
        """The allowed range (lowest, highest) of the field, None if the message names none."""
        match = _RANGE.search(self.message)
        return (float(match.group(1)), float(match.group(2))) if match else None

    def __reduce__(self):
        return _restore, (type(self), self.message, self.code, self.retry_after)


def _restore(kind, message, code, retry_after):
    return kind(message, code=code, retry_after=retry_after)


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


_CLASSES = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        ResourceExhausted,
        Unavailable,
        DeadlineExceeded,
        Cancelled,
        FailedPrecondition,
        NotFound,
        Unimplemented,
        PermissionDenied,
        Unauthenticated,
        Aborted,
        InternalError,
    )
}
# What gRPC says of a connection that ended while something was to be answered.
_GONE = re.compile(r"socket closed|connection reset|broken pipe|goaway|transport closed|end of tcp stream", re.I)
_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


def from_code(code: int, message: str, retry_after: Optional[float] = None) -> GlintError:
    """The exception for a numeric gRPC status code."""
    name = _NAMES.get(code, "UNKNOWN")
    return _CLASSES.get(name, GlintError)(message, code=name, retry_after=retry_after)


def from_call(code: int, details: str, address: str, retry_after: Optional[float] = None) -> GlintError:
    """The exception for a call or stream that ended with a status. `address` is named where the text needs it."""
    name, message = _NAMES.get(code, "UNKNOWN"), " ".join(details.split())
    if name == "UNAVAILABLE" and _GONE.search(message):
        message = (
            f"the Glint server at {address} went away ({message}). "
            "What it has not answered is lost: start it again, then call or open the stream again"
        )
    elif name == "UNAVAILABLE" and "connect" in message.lower():
        message = (
            f"no Glint server answers at {address} ({message}). "
            "Start one with `glint-server --listen HOST:PORT`, or set GLINT_SERVER to its address"
        )
    elif name == "UNIMPLEMENTED" and not message:
        message = f"the server at {address} does not know this method: it is older than this package, or not Glint's"
    return from_code(code, message, retry_after)


def from_rpc(error: grpc.RpcError, address: str) -> GlintError:
    """The exception for what gRPC raised."""
    retry_after = None
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-retry-pushback-ms" and value.isdigit():
            retry_after = int(value) / 1000
    return from_call(error.code().value[0], error.details() or "", address, retry_after)
