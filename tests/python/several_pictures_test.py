"""Files with several pictures in them are told from those with one, as by the command line."""
import struct
import unittest

from glint.several_pictures import several_pictures


def tiff(types, order, wide):
    """A page for each value of the tag NewSubfileType, and nothing else in it."""
    offset = "Q" if wide else "L"
    size = struct.calcsize(order + offset)
    file = (b"II" if order == "<" else b"MM") + struct.pack(order + "H", 43 if wide else 42)
    file += struct.pack(order + "HH", 8, 0) if wide else b""
    file += struct.pack(order + offset, len(file) + size)
    for i, kind in enumerate(types):
        file += struct.pack(order + ("Q" if wide else "H") + "HH" + offset + "L", 1, 254, 4, 1, kind)
        file += bytes(4) if wide else b""
        file += struct.pack(order + offset, len(file) + size if i + 1 < len(types) else 0)
    return file


def chunk(kind, data):
    return struct.pack(">L", len(data)) + kind + data + bytes(4)


def animated_png(frames):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + chunk(b"acTL", struct.pack(">LL", frames, 0))
            + chunk(b"IDAT", b"x"))


def gif(frames):
    shown = b"\x21\xf9\x04\1\1\1\1\0"
    image = b"\x2c" + bytes(8) + b"\x81" + b"," * 12 + b"\x02\x02,,\0"
    return b"GIF89a\2\0\2\0\x80\0\0" + b"c" * 6 + (shown + image) * frames + b";"


def animated_webp(frames):
    chunks = b"VP8X" + struct.pack("<L", 10) + b"\2" * 10 + (b"ANMF" + struct.pack("<L", 17) + b"x" * 18) * frames
    return b"RIFF" + struct.pack("<L", len(chunks) + 4) + b"WEBP" + chunks


def multi_picture_jpeg(types):
    index = b"MPF\0II" + struct.pack("<HLHHHLLL", 42, 8, 1, 0xB002, 7, 16 * len(types), 26, 0)
    index += b"".join(struct.pack("<L12x", kind) for kind in types)
    return b"\xff\xd8\xff\xe1\0\6Exif\xff\xe2" + struct.pack(">H", len(index) + 2) + index + b"\xff\xda"


GREY = b"P5\n# a comment\n3 2\n255\n" + b"P" * 6
DEEP = b"P6 2 1 65535\n" + b"P" * 12
BLACK = b"P4 9 2\n" + b"P" * 4
VIEW = 0x20020002


class SeveralPicturesTest(unittest.TestCase):
    def test_are_counted(self):
        cases = {
            animated_png(7): "7 frames (animated PNG)",
            gif(3): "3 frames (GIF)",
            animated_webp(4): "4 frames (animated WebP)",
            multi_picture_jpeg([VIEW, VIEW]): "2 views (multi-picture JPEG)",
            GREY + GREY + b"\n" + DEEP + BLACK: "4 pictures (PNM)",
            struct.pack(">L", 28) + b"ftypavis" + bytes(4): "a sequence of frames (AVIF)",
        }
        for order in "<>":
            for wide in (False, True):
                cases[tiff([0, 2, 0], order, wide)] = "3 pages (TIFF)"
        for file, what in cases.items():
            self.assertEqual(several_pictures(file), what)

    def test_one_is_one(self):
        files = [animated_png(1), gif(1), animated_webp(1), multi_picture_jpeg([0x20030000, 0x00010001, 0]),
                 GREY, DEEP, BLACK, b"", b"P", b"text"]
        for order in "<>":
            for wide in (False, True):
                files += [tiff([0], order, wide), tiff([0, 1, 1, 4, 5], order, wide)]
        for file in files:
            self.assertEqual(several_pictures(file), "", file[:20])

    def test_damaged_files_end(self):
        loop = tiff([0, 0], "<", False)
        self.assertEqual(several_pictures(loop[:-4] + struct.pack("<L", 8)), "2 pages (TIFF)")
        for file in (tiff([0, 0], ">", False), tiff([0, 0], "<", True), animated_png(3), gif(3), animated_webp(3),
                     multi_picture_jpeg([VIEW, VIEW]), b"P5 4294967295 4294967295 65535\n" + b"P" * 9):
            for at in range(len(file)):
                several_pictures(file[:at])
                several_pictures(file[:at] + b"\xff" + file[at + 1 :])


if __name__ == "__main__":
    unittest.main()
