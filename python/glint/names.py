r"""File names as text: names are bytes, and what programs read is UTF-8.

A byte that is no part of a character in UTF-8 becomes "\xe4", and a backslash before "x" and two hexadecimal digits in
lower case "\x5c". So different names have different texts. features/utf8.h has the same rule, for JSON and CSV.
"""
from __future__ import annotations

import os
import re
from typing import Union

_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})")
_BACKSLASH = re.compile(rb"\\(?=x[0-9a-f]{2})")


def text_of(path: "Union[str, os.PathLike[str]]") -> str:
    """A path, as Python has it of the system's bytes, as text."""
    return _BACKSLASH.sub(rb"\\x5c", os.fsencode(path)).decode("utf-8", "backslashreplace")


def path_of(text: str) -> str:
    """The path that has this text, for open() and the like."""
    return os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text.encode()))
