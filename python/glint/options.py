"""Options of detectors and streams as keyword arguments, turned into the messages of the wire contract."""
from __future__ import annotations

import difflib
from typing import Any, Optional, Sequence, TypeVar, Union

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from glint.errors import InvalidArgument, invalid, not_one_of, out_of_range
from glint.v1 import envelope_pb2, image_pb2, options_pb2

Region = Sequence[int]
GrayRange = Union[Sequence[int], str, image_pb2.GrayRange]
Detector = Union[str, options_pb2.DetectorOptions]
Options = TypeVar("Options", bound=Message)

# The wire's name, since C++ messages have a function descriptor() already.
_WIRE_NAMES = {"descriptor": "descriptor_kind"}
_INTEGERS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_INT64)
_LAST_ID = (1 << 64) - 1
_LAST_TIME = (1 << 63) - 1


def detector(preset: Optional[str] = None, **fields: Any) -> options_pb2.DetectorOptions:
    """The options of a detector: a preset, and fields of DetectorOptions that replace the preset's. Without a
    preset it is the one that the call's operation has by default.

    Choices are given by name, in any case: score="harris", descriptor="rbrief", pyramid="half". Field names and ranges
    are those of proto/glint/v1/options.proto. The server checks the ranges.

    Raises InvalidArgument for an unknown field, an unknown choice or a value of the wrong type.
    """
    if preset is not None and not isinstance(preset, str):
        raise invalid("preset", preset, "is not a string")
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


def present(options: Options) -> Optional[Options]:
    """The message if it says anything, else None: then the server's defaults hold."""
    return options if options.ByteSize() else None


def fill(fields: dict, *messages: Message, prefix: str = "") -> None:
    """Sets each of the fields that is not None in the first message that has it. Errors name them with the prefix.
    Raises InvalidArgument as detector()."""
    for name, value in fields.items():
        wire_name = _WIRE_NAMES.get(name, name)
        message = next((m for m in messages if wire_name in m.DESCRIPTOR.fields_by_name), None)
        if message is None:
            near = difflib.get_close_matches(name, [n for m in messages for n in m.DESCRIPTOR.fields_by_name], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            kinds = " or ".join(m.DESCRIPTOR.name for m in messages)
            raise InvalidArgument(f"{name}: not a field of {kinds}{hint}", field=name)
        if value is not None:
            _set(message, message.DESCRIPTOR.fields_by_name[wire_name], prefix + name, value)


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
        raise invalid(name, value, f"is not a value for it ({error})") from None


def names_of(enum: Any) -> "dict[int, str]":
    """The choices of an enum without its prefix, in lower case, by their numbers; without UNSPECIFIED."""
    prefix = enum.values_by_number[0].name[: -len("UNSPECIFIED")]
    return {v.number: v.name[len(prefix):].lower() for v in enum.values if v.number}


def _choice(enum: Any, name: str, value: Union[str, int]) -> int:
    names = names_of(enum)
    for number, text in names.items():
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if (isinstance(value, str) and value.lower() == text) or (is_number and value == number):
            return number
    raise not_one_of(name, value, list(names.values()))


def region(value: Optional[Region], name: str = "region") -> Optional[image_pb2.ImageRegion]:
    """(x, y, width, height) in pixels as a message; None stays None."""
    if value is None:
        return None
    try:
        x, y, width, height = (int(v) for v in value)
        return image_pb2.ImageRegion(x=x, y=y, width=width, height=height)
    except (TypeError, ValueError):
        raise invalid(name, value, "is not (x, y, width, height) in whole pixels from 0 on") from None


def gray_range(value: Optional[GrayRange], equalize: bool = False) -> Optional[image_pb2.GrayRange]:
    """What calls take as gray_range: (lowest, highest), "percentile" or "percentile:P" as a message; None, and a
    message, stay as they are. equalize: then by CLAHE, as cv2.createCLAHE() does. The server checks the percentile."""
    if value is None or isinstance(value, image_pb2.GrayRange):
        return value
    try:
        if isinstance(value, str):
            kind, colon, percentile = value.partition(":")
            if kind != "percentile":
                raise ValueError
            return image_pb2.GrayRange(percentile=float(percentile) if colon else 0.5, equalize=equalize)
        lowest, highest = (whole(v, "gray_range", 65535) for v in value)
    except (TypeError, ValueError):
        why = 'is not (lowest, highest) of the samples, "percentile" or "percentile:P"'
        raise invalid("gray_range", value, why) from None
    if not lowest < highest:
        raise out_of_range("gray_range.highest", highest, lowest + 1, 65535)
    return image_pb2.GrayRange(lowest=lowest, highest=highest, equalize=equalize)


def numbers(values: Any, name: str, count: Optional[int] = None) -> "list[float]":
    """Numbers, flat; `count` of them, unless that is None."""
    try:
        array = np.asarray(() if values is None else values, np.float64)
    except (TypeError, ValueError):
        raise invalid(name, values, "is not numbers" if count is None else f"is not {count} numbers") from None
    if count is not None and array.size != count:
        raise invalid(name, values if values is None else array, f"is not {count} numbers")
    return array.ravel().tolist()


def policy(value: Optional[str]) -> int:
    """An overload policy by name: block, drop_oldest, latest or reject; None: the server's default."""
    return 0 if value is None else _choice(envelope_pb2.OverloadPolicy.DESCRIPTOR, "policy", value)


def whole(value: Any, name: str, highest: int) -> int:
    """A whole number in 0..highest."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise invalid(name, value, "is not a whole number")
    if not 0 <= value.__index__() <= highest:
        raise out_of_range(name, value, 0, highest)
    return value.__index__()


def frame_id(value: Any) -> int:
    """Of what a stream sends: any number of 64 bits."""
    return whole(value, "frame_id", _LAST_ID)


def time_ns(value: Any, name: str = "time_ns") -> int:
    """A capture time, nanoseconds of any clock."""
    return whole(value, name, _LAST_TIME)


def nanoseconds(seconds: Optional[float], name: str) -> int:
    """A time in seconds as nanoseconds; None is 0."""
    if seconds is None:
        return 0
    try:
        value = float(seconds)
    except (TypeError, ValueError):
        raise invalid(name, seconds, "is not a number of seconds") from None
    if not 0 <= value <= 86400:
        raise out_of_range(name, value, 0, 86400)
    return round(value * 1e9)
