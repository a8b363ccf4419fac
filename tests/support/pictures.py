"""Pictures for tests, and files that claim to be some."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def picture(
    size: tuple[int, int] = (8, 8), colour: Any = "red", kind: str = "PNG", mode: str = "RGB", **saved: Any
) -> bytes:
    """A picture of one colour."""
    file = BytesIO()
    Image.new(mode, size, colour).save(file, kind, **saved)
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
