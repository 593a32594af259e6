"""Pictures for the tests of videos: the same pixels as PNG files and as y4m."""
import random
import struct
import zlib

RATE = 25


def grey_frames(count, width, height, seed=1):
    """Rectangles that move; rows of bytes, without gaps."""
    numbers = random.Random(seed)
    boxes = [(numbers.randrange(-20, width), numbers.randrange(-20, height), numbers.randrange(5, 30),
              numbers.randrange(5, 30), numbers.randrange(256), numbers.randrange(1, 3)) for _ in range(60)]
    frames = []
    for number in range(count):
        rows = [bytearray([90]) * width for _ in range(height)]
        for left, top, box_width, box_height, value, speed in boxes:
            begin, end = max(0, left + speed * number), max(0, min(width, left + speed * number + box_width))
            for y in range(max(0, top), min(height, top + box_height)):
                rows[y][begin:end] = bytes([value]) * (end - begin)
        frames.append(b"".join(rows))
    return frames


def y4m(frames, width, height, chroma="420jpeg", rate=f"{RATE}:1"):
    half = ((width + 1) // 2) * ((height + 1) // 2)
    planes = {"420jpeg": 2 * half, "422": 2 * ((width + 1) // 2) * height, "444": 2 * width * height, "mono": 0}[chroma]
    header = f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C{chroma}\n".encode()
    return header + b"".join(b"FRAME\n" + frame + bytes([128]) * planes for frame in frames)


def png(frame, width, height, channels=1):
    """`frame`: grey, or with 3 channels R, G and B of each pixel."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = width * channels
    rows = b"".join(b"\0" + frame[y * row:(y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def coloured(frames, width, height):
    """R, G and B of each pixel: that of a frame, of the one after it, and of the first one upside down."""
    count, size = len(frames), width * height
    upside_down = b"".join(frames[0][y * width:(y + 1) * width] for y in reversed(range(height)))
    return [bytes(plane[i] for i in range(size) for plane in (frames[n], frames[(n + 1) % count], upside_down))
            for n in range(count)]
