"""Features of many files in chunks: what a chunk is, and the work on one, which a Dask worker does, too.

A chunk is some images, or some frames of a video. Work on it needs the files and a Glint server, and keeps nothing.
"""
from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import pathlib
import re
import struct
import time
import zipfile
import zlib
from typing import Any, Iterator, Optional, Sequence

import numpy as np

from glint import drawing
from glint.calls import Frame
from glint.client import Client
from glint.encoding import pieces, size_of
from glint.errors import GlintError, InvalidArgument, Unavailable, invalid
from glint.features import Features
from glint.image import fields_of
from glint.names import text_of
from glint.several_pictures import several_pictures
from glint.v1 import image_pb2

_PICTURES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"  # such files begin with; the server decodes them, OpenCV others
_VIDEOS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm")
_TRIES = 7
_FIRST_WAIT = 0.5  # seconds, doubled with each try
_OTHER_BYTES = 1024  # of a message, beside the image
_LAYOUT = 3  # of Found.pack()


@dataclasses.dataclass(frozen=True)
class Work:
    """How features are found. server: None: that of GLINT_SERVER where the work is done. fields: of DetectorOptions."""

    preset: str = "orb"
    fields: "tuple[tuple[str, Any], ...]" = ()
    server: Optional[str] = None
    window: int = 8


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Images (name, path); or frames first..last-1 of one video, named NAME/NUMBER. last: None: to its end."""

    images: "tuple[tuple[str, str], ...]"
    first: int = -1
    last: Optional[int] = None

    @property
    def is_video(self) -> bool:
        return self.first >= 0

    def key(self, work: Work) -> str:
        """A name for the result: another one if files or options change."""
        files = [(name, path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for name, path in self.images]
        what = [_LAYOUT, files, self.first, self.last, work.preset, sorted(work.fields)]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()


@dataclasses.dataclass
class Found:
    """Of a chunk: arrays of each image in hloc's layout, what went wrong with others, and what is doubtful, by name."""

    arrays: "dict[str, dict[str, np.ndarray]]" = dataclasses.field(default_factory=dict)
    errors: "dict[str, str]" = dataclasses.field(default_factory=dict)
    warnings: "dict[str, str]" = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.arrays) + len(self.errors)

    def pack(self) -> bytes:
        """All of it as one piece, which is quicker to send and to keep than thousands of arrays."""
        items = [(image, name, array) for image, arrays in self.arrays.items() for name, array in arrays.items()]
        kinds = [(image, name, array.dtype.str, array.shape) for image, name, array in items]
        layout = {"errors": self.errors, "warnings": self.warnings, "arrays": kinds}
        data = np.frombuffer(b"".join(array.tobytes() for _, _, array in items), np.uint8)
        file = io.BytesIO()
        np.savez(file, layout=np.array(json.dumps(layout)), data=data)
        return file.getvalue()

    @staticmethod
    def unpack(packed: bytes) -> "Found":
        """What pack() made; arrays cannot be written to. ValueError: it is damaged."""
        try:
            with np.load(io.BytesIO(packed), allow_pickle=False) as file:
                layout, data = json.loads(str(file["layout"])), file["data"]
        except (OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(str(error)) from None
        found = Found(errors=layout["errors"], warnings=layout["warnings"])
        begin = 0
        for image, name, kind, shape in layout["arrays"]:
            array = np.frombuffer(data, kind, int(np.prod(shape)), begin).reshape(shape)
            found.arrays.setdefault(image, {})[name] = array
            begin += array.nbytes
        return found


def files_of(sources: Sequence[str]) -> "list[tuple[str, str]]":
    """(name, path) of each picture and video, by name. A folder's files are named by their path in it, as text
    (glint/names.py); hidden ones, and those in hidden folders, are passed over.

    Raises InvalidArgument for what is neither and for a name that comes twice.
    """
    found: "dict[str, str]" = {}
    for source in sources:
        root = pathlib.Path(source)
        if not root.exists():
            raise invalid("source", text_of(source), "is not there")
        files = sorted(p for p in root.rglob("*") if _in_folder(p, root)) if root.is_dir() else [root]
        if not files or not _known(files[0]):
            known = " ".join((*_PICTURES, *_VIDEOS))
            raise invalid("source", text_of(source), f"is or has no picture or video ({known})")
        for path in files:
            name = text_of(path.relative_to(root).as_posix() if root.is_dir() else path.name)
            if name in found:
                both = f"{text_of(found[name])} and {text_of(path.resolve())}"
                raise invalid("source", name, f"is in two sources: {both}")
            found[name] = str(path.resolve())
    return sorted(found.items())


def _known(path: pathlib.Path) -> bool:
    return path.suffix.lower() in (*_PICTURES, *_VIDEOS)


def _hidden(path: pathlib.Path, root: pathlib.Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _in_folder(path: pathlib.Path, root: pathlib.Path) -> bool:
    return not _hidden(path, root) and path.is_file() and _known(path)


def others_in(sources: Sequence[str]) -> "list[str]":
    """What files_of() passes over in folders, beside hidden files: names that are no picture's and no video's, and
    links that lead nowhere."""
    others: "list[str]" = []
    for root in map(pathlib.Path, sources):
        for path in root.rglob("*") if root.is_dir() else ():
            if not (_hidden(path, root) or path.is_dir() or _in_folder(path, root)):
                others.append(text_of(path.relative_to(root).as_posix()))
    return sorted(others)


def chunks_of(files: "Sequence[tuple[str, str]]", size: int) -> "list[Chunk]":
    """All files in chunks of at most `size` images or frames, the last one of a video apart."""
    is_video = [pathlib.Path(path).suffix.lower() in _VIDEOS for _, path in files]
    images = [file for file, video in zip(files, is_video) if not video]
    chunks = [Chunk(tuple(images[i : i + size])) for i in range(0, len(images), size)]
    for file, video in zip(files, is_video):
        if video:
            starts = list(range(0, max(_frames_of(file[1]), 1), size))
            chunks += [Chunk((file,), a, b) for a, b in zip(starts, [*starts[1:], None])]
    return chunks


def _frames_of(path: str) -> int:
    """As the file says, which can be wrong; 0 if it cannot be read."""
    cv2 = drawing.cv2()
    try:
        return int(_video(path).get(cv2.CAP_PROP_FRAME_COUNT))
    except OSError:
        return 0


def _video(path: str) -> Any:
    """cv2.VideoCapture of a file. OpenCV's module takes names in UTF-8 alone. OSError: it cannot be read."""
    with open(path, "rb") as file:
        return drawing.cv2().VideoCapture(path if text_of(path) == path else f"/proc/self/fd/{file.fileno()}")


def extract(chunk: Chunk, work: Work) -> Found:
    """The work on a chunk. A server that is away or busy is waited for; its error after half a minute."""
    tries = 0
    while True:
        try:
            with Client(work.server) as client:
                return _extract(client, chunk, work)
        except GlintError as error:
            tries += 1
            if tries == _TRIES or not _passes(error):
                raise
            time.sleep(_FIRST_WAIT * 2 ** (tries - 1))


def extract_packed(chunk: Chunk, work: Work) -> "tuple[int, bytes]":
    """extract(), packed, and how many images that is."""
    found = extract(chunk, work)
    return len(found), found.pack()


def _passes(error: Optional[GlintError]) -> bool:
    """Whether it may go well later."""
    return isinstance(error, Unavailable) or (error is not None and error.retry_after is not None)


def _extract(client: Client, chunk: Chunk, work: Work) -> Found:
    found, sent = Found(), []
    limit = client.info().limits.max_message_bytes - _OTHER_BYTES

    def frames() -> Iterator[Frame]:
        for name, image, size in _read(chunk, found):
            try:
                size_of_message = size_of(pieces(image_pb2.Image.DESCRIPTOR, fields_of(image)))
                if size_of_message > limit:
                    raise invalid("image", size_of_message, f"bytes are more than the server's limit of {limit}")
            except InvalidArgument as error:
                found.errors[name] = str(error)
                continue
            sent.append((name, size))
            yield Frame(image, id=len(sent) - 1)

    for result in client.stream(frames(), work.preset, window=work.window, **dict(work.fields)):
        name, size = sent[result.frame_id]
        if result.ok:
            found.arrays[name] = _arrays(result.features, size)
            for warning in result.features.warnings:
                found.warnings[name] = "; ".join(filter(None, (found.warnings.get(name), str(warning))))
        elif _passes(result.error):
            result.check()
        else:
            found.errors[name] = str(result.error)
    return found


def _arrays(features: Features, size: "tuple[int, int]") -> "dict[str, np.ndarray]":
    """What hloc reads: keypoints (n, 2), scores (n), descriptors (bytes, n), image_size; and the rest of a keypoint."""
    arrays = {
        "image_size": np.array(size, np.int64),
        "keypoints": features.points,
        "scores": features.response,
        "sizes": features.size,
        "angles": features.angle,
        "octaves": features.octave,
    }
    if features.descriptors is not None:
        arrays["descriptors"] = np.ascontiguousarray(features.descriptors.T)
    return arrays


def _read(chunk: Chunk, found: Found) -> "Iterator[tuple[str, Any, tuple[int, int]]]":
    """(name, image, (width, height)) of each image that can be read; of others an error."""
    if chunk.is_video:
        yield from _read_video(chunk, found)
        return
    for name, path in chunk.images:
        try:
            data = pathlib.Path(path).read_bytes()
            image, size = _image_of(data)
        except (OSError, ValueError, ImportError) as error:
            found.errors[name] = str(error)
            continue
        if image is data and data.startswith(_JPEG) and lacks_end_marker(data):
            found.warnings[name] = "the JPEG lacks its end marker; its last bytes may have been cut off"
        yield name, image, size


def _image_of(data: bytes) -> "tuple[Any, tuple[int, int]]":
    """What is sent of a file, by what is in it, whatever its name: the same as the command line sends."""
    if several := several_pictures(data):
        raise ValueError(f"has {several}, of which the first alone would be read; save each as a file of its own")
    if data.startswith(_PNG):
        return data, size_of_png(data)
    if data.startswith(_JPEG):
        return data, size_of_jpeg(data)
    cv = drawing.cv2()
    pixels = None
    if data:
        file, as_stored = np.frombuffer(data, np.uint8), cv.IMREAD_IGNORE_ORIENTATION
        pixels = cv.imdecode(file, cv.IMREAD_UNCHANGED | as_stored)
        if pixels is not None and (pixels.dtype != np.uint16 or pixels.ndim != 2):
            pixels = cv.imdecode(file, cv.IMREAD_GRAYSCALE | as_stored)
    if pixels is None:
        raise ValueError("no JPEG, no PNG, and nothing that OpenCV can read")
    return pixels, (pixels.shape[1], pixels.shape[0])


def _read_video(chunk: Chunk, found: Found) -> "Iterator[tuple[str, Any, tuple[int, int]]]":
    """Frames as they are stored: a phone's are not turned, as no picture is whose EXIF says so."""
    ((name, path),) = chunk.images
    cv = drawing.cv2()
    try:
        video = _video(path)
    except OSError as error:
        found.errors[name] = str(error)
        return
    if not video.isOpened():
        found.errors[name] = "OpenCV cannot open it"
        return
    video.set(cv.CAP_PROP_ORIENTATION_AUTO, 0)
    number = 0
    while chunk.last is None or number < chunk.last:
        if number < chunk.first:  # by decoding: seeking is not exact in every format
            if not video.grab():
                break
        else:
            good, pixels = video.read()
            if not good:
                break
            yield f"{name}/{number:06}", pixels, (pixels.shape[1], pixels.shape[0])
        number += 1
    said = int(video.get(cv.CAP_PROP_FRAME_COUNT))  # of some formats an estimate
    if chunk.last is None and number < said:
        found.warnings[name] = f"ends at frame {number}, and says that it has {said}: it may have been cut off"


def size_of_png(data: bytes) -> "tuple[int, int]":
    """Width and height. ValueError: there is no header."""
    if len(data) < 24 or data[12:16] != b"IHDR":
        raise ValueError("not a PNG file")
    return struct.unpack(">II", data[16:24])  # type: ignore[return-value]


# A marker, and not a fill byte, a 0xff of a scan's data, or a restart in it; bytes between segments are passed over.
_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")


def _segments(data: bytes) -> "Iterator[tuple[int, int]]":
    """(marker, where its length is) of each segment of a JPEG (ITU-T T.81, annex B); the end marker has none."""
    at = 2
    while found := _MARKER.search(data, at):
        at = found.end()
        yield data[at - 1], at
        if data[at - 1] == 0xD9:
            return
        at += int.from_bytes(data[at : at + 2], "big")


def size_of_jpeg(data: bytes) -> "tuple[int, int]":
    """Width and height, from the first start of a frame. ValueError: there is none."""
    for marker, at in _segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC) and at + 7 <= len(data):
            height, width = struct.unpack(">HH", data[at + 3 : at + 7])
            return width, height
    raise ValueError("a JPEG file without a picture")


def lacks_end_marker(data: bytes) -> bool:
    """Whether a JPEG has no end marker after its last scan: its last bytes were lost."""
    return all(marker != 0xD9 for marker, _ in _segments(data))
