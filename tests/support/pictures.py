"""Pictures for tests, and files that claim to be some."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw


def picture(
    size: tuple[int, int] = (8, 8), colour: Any = "red", kind: str = "PNG", mode: str = "RGB", **saved: Any
) -> bytes:
    """A picture of one colour."""
    file = BytesIO()
    Image.new(mode, size, colour).save(file, kind, **saved)
    return file.getvalue()


def window(size: tuple[int, int], colour: str) -> bytes:
    """A picture of a window with a chart in it, in PNG."""
    image = Image.new("RGB", size, "#f4f2ec")
    draw, (width, height) = ImageDraw.Draw(image), size
    draw.rectangle((0, 0, width, height // 14), "#2b2f36")
    for n in range(3):
        x, y, r = height // 24 + n * height // 14, height // 28, height // 56
        draw.ellipse((x - r, y - r, x + r, y + r), ("#ed6a5e", "#f5bf4f", "#62c554")[n])
    for n, share in enumerate((3, 5, 4, 7, 6, 8, 5, 9)):
        left, top = width * (2 * n + 1) // 18, height - height * share // 12
        draw.rectangle((left, top, left + width // 14, height - height // 12), colour)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(
    width: int, height: int, data: bytes, *, depth: int = 8, colour: int = 2, extra: bytes = b"", interlaced: int = 0
) -> bytes:
    """A PNG whose head says what it likes."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    return b"\x89PNG\r\n\x1a\n" + head + extra + chunk(b"IDAT", data) + chunk(b"IEND", b"")


RED = picture()
