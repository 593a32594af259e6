"""Protobuf's wire format, for messages with pixels and large arrays.

Protobuf's Python classes would copy pixels twice and turn every coordinate into a Python object. Packed fields are
contiguous on the wire, so numpy takes them as they are. Names and numbers of fields are those of the generated classes,
which also write and read all messages that have neither pixels nor arrays. A message that is not encoded as every
protobuf library does it is encoded anew by protobuf first.
"""
from __future__ import annotations

import dataclasses
import functools
import warnings
from typing import Any, Callable, Dict, Optional

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from glint import errors

_LONGEST_VARINT = 10  # bytes

Fields = Dict[str, Any]  # of a message, by their names


class Unusual(Exception):
    """Well-formed, maybe, but not what this parser is for."""


# ---- writing


def encode(kind: type, fields: Fields) -> bytes:
    """A message of class `kind` with these fields; those that are None are absent.

    A field is a whole number from 0 on, bytes, a memoryview of bytes, a text, an array (packed numbers; uint8: bytes),
    a message, or the fields of one; or a list of messages. Numbers that are 0 and empty arrays are absent.
    """
    return b"".join(pieces(kind.DESCRIPTOR, fields))


def pieces(kind: Descriptor, fields: Fields) -> list:
    """The same as bytes and memoryviews to be joined. Pixels are pieces of their own and not copied."""
    layout = _layout(kind)
    out: list = []
    for name in sorted(fields, key=layout.__getitem__):
        value = fields[name]
        for item in value if isinstance(value, list) else () if value is None else (value,):
            out += _field(*layout[name], item)
    return out


def size_of(parts: list) -> int:
    """Bytes of all pieces together."""
    return sum(map(len, parts))  # memoryviews are of bytes


@functools.lru_cache(maxsize=None)
def _layout(kind: Descriptor) -> "dict[str, tuple[int, Optional[Descriptor]]]":
    return {field.name: (field.number, field.message_type) for field in kind.fields}


def _field(number: int, kind: Optional[Descriptor], value: Any) -> list:
    if isinstance(value, (int, np.integer)):
        return [_varint(number << 3) + _varint(int(value))] if value else []
    if isinstance(value, dict):
        parts = pieces(kind, value)  # type: ignore[arg-type]
    elif isinstance(value, np.ndarray):
        if value.size == 0:
            return []
        parts = [_packed(value)]
    elif isinstance(value, Message):
        parts = [value.SerializeToString()]
    else:
        parts = [value.encode() if isinstance(value, str) else value]
    return [_varint(number << 3 | 2) + _varint(size_of(parts)), *parts]


def _varint(value: int) -> bytes:
    """An unsigned number in base 128, lowest digits first."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _packed(array: np.ndarray) -> "bytes | memoryview":
    """Floats, whole numbers as varints, or bytes (uint8); not empty."""
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array, "<f4")
    elif array.dtype != np.uint8:
        return pack_varints(array)
    return memoryview(np.ascontiguousarray(array)).cast("B")


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


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_F = FieldDescriptor
_SCALARS = {
    _F.TYPE_BOOL: bool,
    _F.TYPE_UINT32: int,
    _F.TYPE_UINT64: int,
    _F.TYPE_INT32: _signed,
    _F.TYPE_INT64: _signed,
}
_SCALAR_READERS = frozenset(_SCALARS.values())
_ARRAYS = {
    _F.TYPE_FLOAT: (read_floats, np.float32),
    _F.TYPE_INT32: (read_integers, np.int32),
    _F.TYPE_UINT32: (read_integers, np.int32),
    _F.TYPE_ENUM: (read_integers, np.int32),
    _F.TYPE_UINT64: (read_unsigned, np.uint64),
}


@dataclasses.dataclass(frozen=True)
class _Schema:
    """How a message with arrays is read: name, function and whether there may be many, of each field by its number; and
    what absent fields are."""

    fields: "dict[int, tuple[str, Callable, bool]]"
    absent: Fields



def _repeated(field: FieldDescriptor) -> bool:
    if hasattr(field, "is_repeated"):  # from protobuf 6.31 on; `label` is gone in 7
        return field.is_repeated
    return field.label == FieldDescriptor.LABEL_REPEATED


def _has_arrays(kind: Descriptor) -> bool:
    return any(
        field.type == _F.TYPE_BYTES
        or (_repeated(field) and field.type in _ARRAYS)
        or (field.message_type is not None and _has_arrays(field.message_type))
        for field in kind.fields
    )


@functools.lru_cache(maxsize=None)
def _schema(kind: Descriptor) -> _Schema:
    schema = _Schema({}, {})
    for field in kind.fields:
        many = False
        if field.message_type is not None:
            many, read = _repeated(field), _reader(field.message_type)
            absent: Any = () if many else None
        elif _repeated(field) or field.type == _F.TYPE_BYTES:
            read, dtype = _ARRAYS[field.type] if _repeated(field) else (read_bytes, np.uint8)
            absent = np.empty(0, dtype)
        else:
            read = _SCALARS[field.type]
            absent = read(0)
        schema.fields[field.number] = (field.name, read, many)
        schema.absent[field.name] = absent
    return schema


def _reader(kind: Descriptor) -> Callable[[bytes, int, int], Any]:
    """A dict for a message with arrays, protobuf's own class for another one."""
    if _has_arrays(kind):
        schema = _schema(kind)
        return lambda data, begin, end: _decode(schema, data, begin, end)
    return lambda data, begin, end: parse(kind._concrete_class, data[begin:end])


def _decode(schema: _Schema, data: bytes, begin: int, end: int) -> Fields:
    found: Fields = {}
    for number, value, start, stop in _fields(data, begin, end):
        if number not in schema.fields:
            continue
        name, read, many = schema.fields[number]
        if (read in _SCALAR_READERS) != (value is not None):
            raise Unusual
        item = read(data, start, stop) if value is None else read(value)
        if many:
            found.setdefault(name, []).append(item)
        elif name in found:  # for protobuf to merge
            raise Unusual
        else:
            found[name] = item
    return {**schema.absent, **found}


def decode(kind: type, data: bytes) -> Fields:
    """All fields of a message of class `kind`, which has arrays, however it is encoded.

    Arrays are numpy arrays of their own memory (uint32 and choices: int32), empty where they are absent. A message is a
    dict if it has arrays, else protobuf's class, and None where it is absent; of many a list. InternalError: `data` is
    no such message.
    """
    schema = _schema(kind.DESCRIPTOR)
    try:
        return _decode(schema, data, 0, len(data))
    except (Unusual, IndexError):
        message = parse(kind, data)
        message.DiscardUnknownFields()
        again = message.SerializeToString()
    return _decode(schema, again, 0, len(again))


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
