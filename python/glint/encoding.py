"""Protobuf's wire format, for messages with pixels and large arrays.

Protobuf's Python classes would copy pixels twice and turn every coordinate into a Python object. Packed fields are
contiguous on the wire, so numpy takes them as they are. A message that is not encoded as every protobuf library does it
is encoded anew by protobuf first.
"""
from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Callable, Mapping, Optional, Union

import numpy as np
from google.protobuf.message import DecodeError

from glint import errors


_LONGEST_VARINT = 10  # bytes


class Unusual(Exception):
    """Well-formed, maybe, but not what this parser is for."""


# ---- writing: messages are lists of bytes and memoryviews, for bytes.join()


def varint(value: int) -> bytes:
    """An unsigned number in base 128, lowest digits first."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def size_of(parts: list) -> int:
    """Bytes of all pieces together."""
    return sum(p.nbytes if isinstance(p, memoryview) else len(p) for p in parts)


def field(number: int, parts: list) -> list:
    """A field of bytes, text, a message or packed numbers; numbers below 16."""
    return [bytes((number << 3 | 2,)) + varint(size_of(parts)), *parts]


def number_field(number: int, value: int) -> list:
    """A field with an unsigned number; nothing for 0."""
    return [bytes((number << 3,)) + varint(value)] if value else []


def array_field(number: int, array: Optional[np.ndarray]) -> list:
    """A packed field of floats, of whole numbers as varints, or bytes (uint8); nothing for None or an empty array."""
    if array is None or array.size == 0:
        return []
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array, "<f4")
    elif array.dtype != np.uint8:
        return field(number, [pack_varints(array)])
    return field(number, [memoryview(np.ascontiguousarray(array)).cast("B")])


def pack_varints(values: np.ndarray) -> bytes:
    """Whole numbers as varints one after another. Negative ones have ten bytes, as protobuf has them."""
    if values.size == 0:
        return b""
    if values.min() >= 0 and values.max() < 0x80:
        return values.astype(np.uint8).tobytes()
    digits = values.astype(np.int64).view(np.uint64)[:, None] >> np.arange(0, 70, 7, dtype=np.uint64)
    more = digits > 0x7F
    used = np.column_stack((np.ones(len(values), bool), more[:, :-1]))
    return (digits & np.uint64(0x7F) | more * np.uint64(0x80)).astype(np.uint8)[used].tobytes()


# ---- reading: functions of (data, begin, end)


def read_floats(data: bytes, begin: int, end: int) -> np.ndarray:
    if (end - begin) % 4:
        raise Unusual
    return np.frombuffer(data, "<f4", (end - begin) // 4, begin).astype(np.float32)


def read_bytes(data: bytes, begin: int, end: int) -> np.ndarray:
    return np.frombuffer(data, np.uint8, end - begin, begin).copy()


def read_integers(data: bytes, begin: int, end: int) -> np.ndarray:
    """Packed int32, uint32 or choices, as int32."""
    return _read_varints(data, begin, end, np.uint32).view(np.int32)


def read_unsigned(data: bytes, begin: int, end: int) -> np.ndarray:
    """Packed uint64."""
    return _read_varints(data, begin, end, np.uint64)


def _read_varints(data: bytes, begin: int, end: int, kind: type) -> np.ndarray:
    """Packed numbers of at most _LONGEST_VARINT bytes; of longer ones than `kind` holds, the lowest bits."""
    digits = np.frombuffer(data, np.uint8, end - begin, begin)
    ends = np.flatnonzero(digits < 0x80)
    if len(ends) == len(digits):
        return digits.astype(kind)
    if not len(ends) or ends[-1] != len(digits) - 1:
        raise Unusual
    values = digits[ends].astype(kind)
    longer = np.True_
    for place in range(1, _LONGEST_VARINT + 1):
        before = digits[ends - place]  # of the first number it is the last digit at some time, which ends it, too
        longer = longer & (before >= 0x80)
        if not longer.any():
            return values
        values = np.where(longer, values << kind(7) | before & np.uint8(0x7F), values)
    raise Unusual


Reader = Callable[[bytes, int, int], Any]
NUMBER = None  # in a schema: an unsigned number


@dataclasses.dataclass(frozen=True)
class Repeated:
    """In a schema: a field that may come many times; a list."""

    read: Reader


Schema = Mapping[int, "tuple[str, Union[Reader, Repeated, None]]"]


def decode(schema: Schema, data: bytes, begin: int, end: int) -> dict:
    """The message's fields that the schema names; without those that are absent."""
    found: dict = {}
    for number, value, start, stop in _fields(data, begin, end):
        name, read = schema.get(number, (None, NUMBER))
        if name is None:
            continue
        if (read is NUMBER) != (value is not None):
            raise Unusual
        if isinstance(read, Repeated):
            found.setdefault(name, []).append(read.read(data, start, stop))
        elif name in found:  # for protobuf to merge
            raise Unusual
        else:
            found[name] = value if read is NUMBER else read(data, start, stop)
    return found


def decode_message(kind: type, schema: Schema, data: bytes) -> dict:
    """As decode(), of a whole message of class `kind`, however it is encoded. InternalError: it is none."""
    try:
        return decode(schema, data, 0, len(data))
    except (Unusual, IndexError):
        message = parse(kind, data)
        message.DiscardUnknownFields()
        again = message.SerializeToString()
    return decode(schema, again, 0, len(again))


def parse(kind: type, data: bytes) -> Any:
    """A message by protobuf's own parser. InternalError: `data` is none."""
    message = kind()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what is not converted is an error below
            whole = message.MergeFromString(data) in (len(data), None)
    except DecodeError:
        whole = False
    if not whole:
        raise errors.InternalError(f"the server's answer is not a {kind.DESCRIPTOR.name}")
    return message


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise Unusual


def _fields(data: bytes, at: int, end: int):
    """(field number, value or None, begin, end) of each field between `at` and `end`."""
    while at < end:
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value, at, at
        elif kind == 2:
            length, at = _read_varint(data, at)
            if length > end - at:
                raise Unusual
            yield tag >> 3, None, at, at + length
            at += length
        else:
            raise Unusual
    if at != end:
        raise Unusual
