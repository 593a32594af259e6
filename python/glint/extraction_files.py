"""What extraction writes: a file for each finished chunk, and HDF5 in hloc's layout made of them.

Chunks lie in FILE.parts/ until all are finished. Each is written under another name first, so that it is there as a
whole or not at all, whenever the program is killed. The bytes of the result depend on files and options alone.
"""
from __future__ import annotations

import json
import pathlib
import shutil
import zipfile
import zlib
from typing import Any, Iterable

import numpy as np

from glint.extraction import Found

_ERRORS = "errors"
_SEPARATOR = "\n"  # between an image's name and an array's


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
            with np.load(self._path(key), allow_pickle=False) as columns:
                found = Found(errors=json.loads(str(columns[_ERRORS])))
                for column in columns.files:
                    if _SEPARATOR in column:
                        image, name = column.rsplit(_SEPARATOR, 1)
                        found.arrays.setdefault(image, {})[name] = columns[column]
                return found
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            self._path(key).unlink(missing_ok=True)
            raise OSError(f"{self._path(key)}: damaged ({error})") from None

    def write(self, key: str, found: Found) -> None:
        images = found.arrays.items()
        columns = {f"{image}{_SEPARATOR}{name}": array for image, arrays in images for name, array in arrays.items()}
        new = self._path(key).with_suffix(".new")
        with open(new, "wb") as file:
            np.savez(file, **{_ERRORS: np.array(json.dumps(found.errors))}, **columns)
        new.replace(self._path(key))

    def merge(self, keys: Iterable[str], attributes: "dict[str, str]") -> "dict[str, str]":
        """Makes the output of all chunks, in the order of `keys`, and removes them; returns the errors by name."""
        errors: "dict[str, str]" = {}
        new = self._folder / "output.h5"
        with hdf5().File(new, "w") as file:
            file.attrs.update(attributes)
            for key in keys:
                found = self.read(key)
                errors.update(found.errors)
                for image, arrays in sorted(found.arrays.items()):
                    group = file.create_group(image)
                    for name, array in sorted(arrays.items()):
                        group.create_dataset(name, data=array, track_times=False)
        new.replace(self._output)
        shutil.rmtree(self._folder)
        return errors

    def _path(self, key: str) -> pathlib.Path:
        return self._folder / f"{key}.npz"
