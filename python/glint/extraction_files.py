"""What extraction writes: a file for each finished chunk, and HDF5 in hloc's layout made of them.

Chunks lie in FILE.parts/ until all are finished. Each is written under another name first, so that it is there as a
whole or not at all, whenever the program is killed. The bytes of the result depend on files and options alone.
"""
from __future__ import annotations

import pathlib
import shutil
from typing import Any, Sequence

import numpy as np

from glint.extraction import Found


def hdf5() -> Any:
    """The module. ImportError says what to install."""
    try:
        import h5py as module
    except ImportError as error:
        raise ImportError(f"{error}: writing HDF5 needs h5py (Debian: python3-h5py)") from None
    return module


class Parts:
    """The finished chunks of one output. For one process at a time."""

    def __init__(self, output: pathlib.Path):
        self._output = output
        self._folder = output.with_name(output.name + ".parts")
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
        new.write_bytes(packed)
        new.replace(self._path(key))

    def merger(self, keys: Sequence[str], attributes: "dict[str, str]") -> "Merger":
        return Merger(self, keys, attributes, self._folder / "output.h5")

    def finish(self, merged: pathlib.Path) -> None:
        """The output is there, and the chunks are removed."""
        merged.replace(self._output)
        shutil.rmtree(self._folder)

    def _path(self, key: str) -> pathlib.Path:
        return self._folder / f"{key}.npz"


class Merger:
    """Makes the output of finished chunks, in the order of `keys`, while others are at work. To be closed."""

    def __init__(self, parts: Parts, keys: Sequence[str], attributes: "dict[str, str]", path: pathlib.Path):
        self._parts, self._keys, self._path, self._next = parts, keys, path, 0
        self._h5 = hdf5()
        self._plan = self._h5.h5p.create(self._h5.h5p.DATASET_CREATE)
        self._plan.set_obj_track_times(False)
        self._file = self._h5.File(path, "w")
        self._file.attrs.update(attributes)
        self._errors: "dict[str, str]" = {}
        self._warnings: "dict[str, str]" = {}

    def __enter__(self) -> "Merger":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def advance(self) -> None:
        """Appends the chunks that are finished, as far as no other one comes before them."""
        while self._next < len(self._keys) and self._parts.has(self._keys[self._next]):
            found = self._parts.read(self._keys[self._next])
            self._errors.update(found.errors)
            self._warnings.update(found.warnings)
            for image, arrays in sorted(found.arrays.items()):
                group = self._file.create_group(image)
                for name, array in sorted(arrays.items()):
                    self._put(group, name, array)
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
        self._file.close()
        self._parts.finish(self._path)
        return self._errors, self._warnings
