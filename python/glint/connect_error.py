"""Why a server cannot be reached. gRPC 1.51 tells no reason of failed TLS handshakes, so another connection looks."""
from __future__ import annotations

import dataclasses
import errno
import os
import socket
import ssl
import time
from typing import Any, Optional

_LONGEST = 2.0  # seconds of a look, once the name is resolved
_ALERT, _HANDSHAKE = 0x15, 0x16  # types of TLS records with which a server may begin
# OpenSSL's codes for a certificate whose authority is not among those that are believed.
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)
_OTHER_NAME = (62, 64)


class Address(str):
    """A server's address, with the glint.Tls that it is spoken to by, or None."""

    tls: Any

    def __new__(cls, text: str, tls: Any = None) -> "Address":
        address = super().__new__(cls, text)
        address.tls = tls
        return address


@dataclasses.dataclass
class _Outcome:
    """What a server did when it was spoken to in TLS."""

    first: bytes = b""  # that came
    late: bool = False  # nothing more came in time
    ended: bool = False  # the server has ended the connection
    connected: bool = False  # the handshake is complete
    protocol: Optional[str] = None  # that was agreed on
    error: Optional[ssl.SSLError] = None

    @property
    def tls(self) -> bool:
        return self.first[:1] in (bytes((_ALERT,)), bytes((_HANDSHAKE,)))


def why_not_connected(address: Address) -> "tuple[bool, str]":
    """Whether anybody listens at an address that gRPC could not connect to, and what is wrong: "" where nothing is
    seen. Of several servers the first is looked at. Takes two seconds at most once the name is resolved."""
    text = str(address)
    host: Optional[str] = None
    try:
        if text.startswith("unix:"):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(_LONGEST)
            path = text[len("unix:") :]
            try:
                connection.connect(path[2:] if path.startswith("//") else path)
            except OSError:
                connection.close()
                raise
        else:
            kind, _, rest = text.partition(":")
            if kind == "dns":
                text = rest[2:].partition("/")[2] if rest.startswith("//") else rest
            elif kind in ("ipv4", "ipv6"):
                text = rest.partition(",")[0]
            host, _, port = text.rpartition(":")
            host = host.strip("[]")
            if not port.isdigit():
                return True, ""
            connection = socket.create_connection((host, int(port)), _LONGEST)
    except socket.gaierror as error:
        return False, f'the name "{host}" cannot be resolved: {error.strerror}'
    except socket.timeout:
        return False, os.strerror(errno.ETIMEDOUT)
    except (OSError, ValueError) as error:  # a path may be too long
        return False, getattr(error, "strerror", None) or str(error)
    with connection:
        return True, _look(connection, host, address.tls)


def _look(connection: socket.socket, host: Optional[str], tls: Any) -> str:
    if tls is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return _why_no_http2(_try(connection, context, None))
    try:
        context = ssl.create_default_context(cadata=None if tls.ca is None else tls.ca.decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError):
        return "there is no certificate in the text of the authorities (glint.Tls.ca)"
    try:
        if tls.certificate is not None:
            load_certificate(context, tls.certificate, tls.key)
    except ssl.SSLError as error:
        return f"the client's certificate and key cannot be used: {error.reason or error}"
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Python 3.13 refuses what gRPC takes
    context.set_alpn_protocols(["h2"])
    context.check_hostname = host is not None
    return _why_no_tls(_try(connection, context, host), host, tls.certificate is not None)


def load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """ssl.SSLError unless they go together. The module ssl takes names of files alone; this file has none."""
    with os.fdopen(os.memfd_create("glint"), "wb") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password="")


def _try(connection: socket.socket, context: ssl.SSLContext, host: Optional[str]) -> _Outcome:
    outcome = _Outcome()
    deadline = time.monotonic() + _LONGEST
    received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(received, to_send, server_hostname=host)
    while True:
        try:
            if outcome.connected:  # in TLS 1.3 a server refuses the client after the client's side is complete
                outcome.ended = not tls.read(1)
                return outcome
            tls.do_handshake()
            outcome.connected, outcome.protocol = True, tls.selected_alpn_protocol()
        except ssl.SSLWantReadError:
            try:
                connection.settimeout(max(deadline - time.monotonic(), 0.001))
                connection.sendall(to_send.read())
                data = connection.recv(1 << 14)
            except socket.timeout:
                outcome.late = True
                return outcome
            except OSError:
                data = b""
            outcome.first = outcome.first or data[:5]
            if data and not outcome.tls:
                return outcome
            if data:
                received.write(data)
            else:
                received.write_eof()
        except ssl.SSLEOFError:
            outcome.ended = True
            return outcome
        except ssl.SSLError as error:
            outcome.error = error
            return outcome


def _why_no_tls(outcome: _Outcome, host: Optional[str], has_certificate: bool) -> str:
    error = outcome.error
    if outcome.first and not outcome.tls:
        return "the server has no TLS there, and this connection wants it"
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return f'the server\'s certificate is not for "{host}" ({error.verify_message})'
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return f"the server's certificate is of no authority that this client believes ({error.verify_message})"
        return f"the server's certificate is refused: {error.verify_message}"
    if error is not None or outcome.ended:
        reason = error.reason if error is not None else None
        said = f" ({reason.replace('_', ' ').lower()})" if reason else ""
        if not outcome.connected and "certificate required" not in said:
            return f"the server ends the TLS handshake{said}"
        wanted = "" if has_certificate else ", as servers do that want a certificate of the client"
        return f"the server ends the connection after the handshake{said}{wanted}"
    if outcome.late and not outcome.connected:
        return "the server does not answer in TLS"
    if outcome.connected and outcome.protocol != "h2":
        return "the server has TLS there, but not HTTP/2, as gRPC has"
    return ""


def _why_no_http2(outcome: _Outcome) -> str:
    if outcome.tls:
        return "the server has TLS there, and this connection has none (glint.Tls)"
    if outcome.first.startswith(b"HTTP/"):
        return "what answers there is HTTP/1, not gRPC"
    if outcome.first:
        return ""
    if outcome.late:
        return "what listens there does not answer"
    return "the server ends the connection without an answer"
