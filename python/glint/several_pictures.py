"""Files with more than one picture in them, of which decoders give the first alone: the rules of the command line
(client/cli/source/several_pictures.h)."""
from __future__ import annotations

import re
from typing import Iterator

_PNM_NUMBER = re.compile(rb"(?:\s|#[^\n]*\n)+(\d+)")


def several_pictures(data: bytes) -> str:
    """What a file has, for people: "5 pages (TIFF)". Empty: one picture, or no file of these formats. Smaller copies
    and masks of a page of TIFF, and previews and maps in a JPEG, are no pictures of their own."""
    if data[4:12] == b"ftypavis":
        return "a sequence of frames (AVIF)"
    for begin, count, what in (
        (b"II", _pages_of_tiff, "pages (TIFF)"),
        (b"MM", _pages_of_tiff, "pages (TIFF)"),
        (b"\x89PNG\r\n\x1a\n", _frames_of_png, "frames (animated PNG)"),
        (b"GIF8", _frames_of_gif, "frames (GIF)"),
        (b"RIFF", _frames_of_webp, "frames (animated WebP)"),
        (b"\xff\xd8\xff", _views_of_jpeg, "views (multi-picture JPEG)"),
        (b"P", _pictures_of_pnm, "pictures (PNM)"),
    ):
        if data.startswith(begin):
            pictures = count(data)
            return f"{pictures} {what}" if pictures > 1 else ""
    return ""


class _Numbers:
    """Unsigned numbers in a file; 0 where it ends before."""

    def __init__(self, data: bytes, big_endian: bool):
        self.data, self.order = data, "big" if big_endian else "little"

    def __call__(self, place: int, size: int) -> int:
        found = self.data[place : place + size]
        return int.from_bytes(found, self.order) if len(found) == size else 0  # type: ignore[arg-type]


def _pages_of_tiff(data: bytes) -> int:
    number = _Numbers(data, data.startswith(b"MM"))
    wide = number(2, 2) == 43  # BigTIFF
    if number(2, 2) not in (42, 43):
        return 0
    offset_size, count_size, entry_size = (8, 8, 20) if wide else (4, 2, 12)
    seen: "set[int]" = set()
    directory, pages = number(8 if wide else 4, offset_size), 0
    while 0 < directory < len(data) and directory not in seen:
        seen.add(directory)
        entries = number(directory, count_size)
        if entries > (len(data) - directory) // entry_size:
            break
        places = [directory + count_size + i * entry_size for i in range(entries)]
        tags = {number(place, 2): place + 4 + offset_size for place in places}
        # NewSubfileType: bits of a smaller copy and a mask; SubfileType: a smaller copy.
        copy_or_mask = 254 in tags and number(tags[254], 4) & 5 != 0
        old_copy = 255 in tags and number(tags[255], 2) == 2
        pages += not (copy_or_mask or old_copy)
        directory = number(directory + count_size + entries * entry_size, offset_size)
    return pages


def _frames_of_png(data: bytes) -> int:
    number, chunk = _Numbers(data, True), 8
    while chunk + 12 <= len(data):
        kind = data[chunk + 4 : chunk + 8]
        if kind == b"acTL":
            return number(chunk + 8, 4)
        if kind in (b"IDAT", b"IEND"):
            break
        chunk += 12 + number(chunk, 4)
    return 1


def _frames_of_webp(data: bytes) -> int:
    number, chunk, frames = _Numbers(data, False), 12, 0
    if data[8:12] != b"WEBP":
        return 0
    while chunk + 8 <= len(data):
        frames += data[chunk : chunk + 4] == b"ANMF"
        size = number(chunk + 4, 4)
        chunk += 8 + size + size % 2
    return frames


def _frames_of_gif(data: bytes) -> int:
    number, frames = _Numbers(data, False), 0

    def table(flags: int) -> int:
        return 3 << ((flags & 7) + 1) if flags & 0x80 else 0

    at = 13 + table(number(10, 1))
    while at < len(data):
        if data[at] == 0x2C:  # an image: its descriptor, table and code size
            frames += 1
            at += 11 + table(number(at + 9, 1))
        elif data[at] == 0x21:  # an extension
            at += 2
        else:
            break
        while size := number(at, 1):
            at += 1 + size
        at += 1
    return frames


def _pictures_of_pnm(data: bytes) -> int:
    """Binary ones; of plain ones a file has one by definition."""
    at, pictures = 0, 0
    while data[at : at + 2] in (b"P4", b"P5", b"P6"):
        kind = data[at + 1 : at + 2]
        numbers: "list[int]" = []
        at += 2
        for _ in range(2 if kind == b"4" else 3):
            found = _PNM_NUMBER.match(data, at)
            if not found:
                return pictures
            numbers.append(int(found[1]))
            at = found.end()
        pictures += 1
        width, height = numbers[:2]
        row = (width + 7) // 8 if kind == b"4" else width * (3 if kind == b"6" else 1) * (1 + (numbers[2] > 255))
        at += 1 + row * height
        while data[at : at + 1].isspace():
            at += 1
    return pictures


def _segments_before_scan(data: bytes) -> "Iterator[tuple[int, bytes]]":
    number, at = _Numbers(data, True), 2
    while number(at, 1) == 0xFF and number(at + 1, 1) != 0xDA and number(at + 2, 2) >= 2:
        size = number(at + 2, 2)
        yield data[at + 1], data[at + 4 : at + 2 + size]
        at += 2 + size


def _views_of_jpeg(data: bytes) -> int:
    """Those that the index (CIPA DC-007) has as parts of a panorama or views of one scene."""
    for marker, segment in _segments_before_scan(data):
        if marker != 0xE2 or not segment.startswith(b"MPF\0"):
            continue
        index = segment[4:]
        number = _Numbers(index, index.startswith(b"MM"))
        directory = number(4, 4)
        for field in range(directory + 2, directory + 2 + 12 * number(directory, 2), 12):
            if number(field, 2) == 0xB002:
                first, size = number(field + 8, 4), number(field + 4, 4)
                entries = range(first, min(first + size, len(index)), 16)
                return sum((number(entry, 4) >> 16) & 0xFF == 2 for entry in entries)
    return 1
