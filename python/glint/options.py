"""Options of detectors and streams as keyword arguments, turned into the messages of the wire contract."""
from __future__ import annotations

import difflib
from typing import Any, Optional, Sequence, Union

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from glint.errors import InvalidArgument
from glint.v1 import feature_detection_pb2 as pb
from glint.v1 import options_pb2

Region = Sequence[int]
Detector = Union[str, options_pb2.DetectorOptions]

# The wire's name, since C++ messages have a function descriptor() already.
_WIRE_NAMES = {"descriptor": "descriptor_kind"}
_INTEGERS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_INT64)


def detector(preset: Optional[str] = None, **fields: Any) -> options_pb2.DetectorOptions:
    """The options of a detector: a preset, and fields of DetectorOptions that replace the preset's. Without a
    preset it is the one that the call's operation has by default.

    Choices are given by name, in any case: score="harris", descriptor="rbrief", pyramid="half". Field names and ranges
    are those of proto/glint/v1/options.proto. The server checks the ranges.

    Raises InvalidArgument for an unknown field, an unknown choice or a value of the wrong type.
    """
    if preset is not None and not isinstance(preset, str):
        raise InvalidArgument(f"preset: {preset!r} is not a string")
    options = options_pb2.DetectorOptions(preset=preset or "")
    fill(fields, options)
    return options


def split(preset: Optional[Detector], fields: dict, *messages: Message) -> options_pb2.DetectorOptions:
    """The detector's options of a call; `fields` of one of the messages are set there instead.

    Raises InvalidArgument as detector().
    """
    if isinstance(preset, options_pb2.DetectorOptions):
        options = options_pb2.DetectorOptions()
        options.CopyFrom(preset)
    else:
        options = detector(preset)
    fill(fields, *messages, options)
    return options


def fill(fields: dict, *messages: Message) -> None:
    """Sets each of the fields that is not None in the first message that has it. Raises InvalidArgument as detector()."""
    for name, value in fields.items():
        wire_name = _WIRE_NAMES.get(name, name)
        message = next((m for m in messages if wire_name in m.DESCRIPTOR.fields_by_name), None)
        if message is None:
            near = difflib.get_close_matches(name, [n for m in messages for n in m.DESCRIPTOR.fields_by_name], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            kinds = " or ".join(m.DESCRIPTOR.name for m in messages)
            raise InvalidArgument(f"{name}: not a field of {kinds}{hint}")
        if value is not None:
            _set(message, message.DESCRIPTOR.fields_by_name[wire_name], name, value)


def _set(options: Message, field: Any, name: str, value: Any) -> None:
    if field.enum_type is not None:
        value = _choice(field.enum_type, name, value)
    elif field.type in _INTEGERS and not isinstance(value, bool) and hasattr(value, "__index__"):
        value = value.__index__()
    elif field.type == FieldDescriptor.TYPE_BOOL and isinstance(value, np.bool_):
        value = bool(value)
    try:
        if field.type == FieldDescriptor.TYPE_FLOAT and not isinstance(value, (str, bool)):
            value = float(value)
        setattr(options, field.name, value)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name}: {value!r} is not a value for it ({error})") from None


def _choice(enum: Any, name: str, value: Union[str, int]) -> int:
    first = enum.values_by_number[0].name
    prefix = first[: -len("UNSPECIFIED")]
    if isinstance(value, str):
        found = enum.values_by_name.get(prefix + value.upper())
        if found is not None:
            return found.number
    elif not isinstance(value, bool) and value in enum.values_by_number:
        return int(value)
    names = ", ".join(v.name[len(prefix):].lower() for v in enum.values[1:])
    raise InvalidArgument(f'{name}: "{value}" is not one of {names}')


def region(value: Optional[Region], name: str = "region") -> Optional[pb.Region]:
    """(x, y, width, height) in pixels as a message; None stays None."""
    if value is None:
        return None
    try:
        x, y, width, height = (int(v) for v in value)
        return pb.Region(x=x, y=y, width=width, height=height)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}: {value!r} is not (x, y, width, height) in whole pixels from 0 on") from None


def policy(value: str) -> int:
    """An overload policy by name: block, drop_oldest, latest or reject."""
    return _choice(pb.OverloadPolicy.DESCRIPTOR, "policy", value)


def nanoseconds(seconds: Optional[float], name: str) -> int:
    """A time in seconds as nanoseconds; None is 0."""
    if seconds is None:
        return 0
    try:
        value = float(seconds)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}: {seconds!r} is not a number of seconds") from None
    if not 0 <= value <= 86400:
        raise InvalidArgument(f"{name}: {value} s is not in 0..86400")
    return round(value * 1e9)
