"""What extraction writes: a file for each finished chunk, and HDF5 in hloc's layout made of them.

Chunks lie in FILE.parts/ until all are finished. Each is written under another name first, so that it is there as a
whole or not at all, whenever the program is killed. The bytes of the result depend on files and options alone.
"""
from __future__ import annotations

import contextlib
import io
import os
import pathlib
import shutil
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from glint.extraction import Found
from glint.names import text_of


def hdf5() -> Any:
    """The module. ImportError says what to install."""
    try:
        import h5py as module
    except ImportError as error:
        raise ImportError(f"{error}: writing HDF5 needs h5py (Debian: python3-h5py)") from None
    return module


class CannotWrite(OSError):
    """The output or a part of it, which the message names."""


@contextlib.contextmanager
def _writing(path: pathlib.Path) -> Iterator[None]:
    """Errors of the system as CannotWrite."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(f"{text_of(path)}: cannot be written: {error.strerror or error}") from error


class _Disk(io.RawIOBase):
    """A new file for HDF5 that takes all bytes: check() raises the first error. HDF5 1.10 is not told of it, since it
    ends a process in which a write has failed by a fault. What was not written is in memory; so stop after check()."""

    def __init__(self, path: pathlib.Path):
        self._file = open(path, "w+b", buffering=0)
        self._at, self._end = 0, 0
        self._error: Optional[OSError] = None
        self._unwritten: "list[tuple[int, bytes]]" = []

    def check(self) -> None:
        """Raises the first error."""
        if self._error is not None:
            raise self._error

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

    def write(self, data: Any) -> int:
        start, left = self._at, memoryview(data).cast("B")
        size = len(left)
        try:
            while left:
                written = os.pwrite(self._file.fileno(), left, self._at)
                left, self._at = left[written:], self._at + written
        except OSError as error:
            self._error = self._error or error
            self._unwritten.append((start, bytes(data)))
        self._at = start + size
        self._end = max(self._end, self._at)
        return size

    def readinto(self, data: Any) -> int:
        view, start = memoryview(data).cast("B"), self._at
        found = os.pread(self._file.fileno(), len(view), start)
        view[:] = found + bytes(len(view) - len(found))
        for at, kept in self._unwritten:
            low, high = max(at, start), min(at + len(kept), start + len(view))
            if low < high:
                view[low - start : high - start] = kept[low - at : high - at]
        self._at = start + len(view)
        return len(view)

    def truncate(self, size: Optional[int] = None) -> int:
        size = self._at if size is None else size
        self._end = size
        try:
            os.ftruncate(self._file.fileno(), size)
        except OSError as error:
            self._error = self._error or error
        return size

    def close(self) -> None:
        super().close()
        self._file.close()


class Parts:
    """The finished chunks of one output. For one process at a time. Whatever cannot be written is a CannotWrite."""

    def __init__(self, output: pathlib.Path):
        self._output = output
        self._folder = output.with_name(output.name + ".parts")
        with _writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)

    def has(self, key: str) -> bool:
        """Whether a chunk is finished."""
        return self._path(key).exists()

    def read(self, key: str) -> Found:
        """A finished chunk. OSError: its file is damaged; then it is removed."""
        try:
            return Found.unpack(self._path(key).read_bytes())
        except ValueError as error:
            self._path(key).unlink(missing_ok=True)
            raise OSError(f"{self._path(key)}: damaged ({error})") from None

    def write(self, key: str, packed: bytes) -> None:
        new = self._path(key).with_suffix(".new")
        with _writing(new):
            new.write_bytes(packed)
            new.replace(self._path(key))

    def merger(self, keys: Sequence[str], attributes: "dict[str, str]") -> "Merger":
        return Merger(self, keys, attributes, self._folder / "output.h5")

    def finish(self, merged: pathlib.Path) -> None:
        """The output is there, and the chunks are removed."""
        with _writing(self._output):
            merged.replace(self._output)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, key: str) -> pathlib.Path:
        return self._folder / f"{key}.npz"


class Merger:
    """Makes the output of finished chunks, in the order of `keys`, while others are at work. To be closed. Errors are
    those of Parts."""

    def __init__(self, parts: Parts, keys: Sequence[str], attributes: "dict[str, str]", path: pathlib.Path):
        self._parts, self._keys, self._path, self._next = parts, keys, path, 0
        self._h5 = hdf5()
        self._plan = self._h5.h5p.create(self._h5.h5p.DATASET_CREATE)
        self._plan.set_obj_track_times(False)
        with _writing(path):
            self._disk = _Disk(path)
            self._file = self._h5.File(self._disk, "w")
            self._file.attrs.update(attributes)
        self._errors: "dict[str, str]" = {}
        self._warnings: "dict[str, str]" = {}

    def __enter__(self) -> "Merger":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        with contextlib.suppress(OSError):  # finish() has closed it, or there is another error
            self._disk.close()

    def advance(self) -> None:
        """Appends the chunks that are finished, as far as no other one comes before them."""
        while self._next < len(self._keys) and self._parts.has(self._keys[self._next]):
            found = self._parts.read(self._keys[self._next])
            self._errors.update(found.errors)
            self._warnings.update(found.warnings)
            with _writing(self._path):
                for image, arrays in sorted(found.arrays.items()):
                    group = self._file.create_group(image)
                    for name, array in sorted(arrays.items()):
                        self._put(group, name, array)
                self._disk.check()
            self._next += 1

    def _put(self, group: Any, name: str, array: np.ndarray) -> None:
        """group.create_dataset(), in two thirds of its time."""
        h5 = self._h5
        kind = h5.h5t.py_create(array.dtype, logical=True)
        dataset = h5.h5d.create(group.id, name.encode(), kind, h5.h5s.create_simple(array.shape), self._plan)
        dataset.write(h5.h5s.ALL, h5.h5s.ALL, array)

    def finish(self) -> "tuple[dict[str, str], dict[str, str]]":
        """When all chunks are finished; returns the errors and the warnings by name."""
        self.advance()
        if self._next < len(self._keys):
            raise OSError(f"chunk {self._keys[self._next]} has gone")
        with _writing(self._path):
            self._file.close()
            self._disk.check()
            self._disk.close()
        self._parts.finish(self._path)
        return self._errors, self._warnings
