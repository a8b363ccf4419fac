"""Pictures that are small as files and dear to decode: each format in the shapes that its decoders know."""

import random
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO

from PIL import Image

from tests.support.pictures import chunk, png

END = b"\xff\xd9"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a PNG, by its kind of colour
DEPTHS = {0: (1, 8, 16), 2: (8, 16), 3: (1, 8), 4: (8, 16), 6: (8, 16)}
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
PALETTE = chunk(b"PLTE", bytes(6)) + chunk(b"tRNS", b"\0\xff")
Scan = tuple[Sequence[int], bytes]  # the components that it has, and the range and precision of its coefficients
GREY, FULL, HALVED, FOUR = ((1, 1),), ((1, 1),) * 3, ((2, 2), (1, 1), (1, 1)), ((1, 1),) * 4
SMALLER, SEQUENTIAL, FIRST, REFINED = b"\0\0\0", b"\0\x3f\0", b"\1\x3f\1", b"\1\x3f\x10"


def rows(width: int, height: int, depth: int, colour: int, filtered: int) -> bytes:
    """Rows of a PNG by one filter, whose bytes are sums of ones."""
    return (bytes([filtered]) + b"\1" * -(-width * CHANNELS[colour] * depth // 8)) * height


def rows_of_png(side: int, depth: int, colour: int, filtered: int, interlaced: int) -> bytes:
    """A square PNG that all its filters go over."""
    passes = [(len(range(x, side, dx)), len(range(y, side, dy))) for x, y, dx, dy in PASSES]
    sizes = passes if interlaced else [(side, side)]
    data = zlib.compress(b"".join(rows(*size, depth, colour, filtered) for size in sizes), 1)
    return png(side, side, data, depth=depth, colour=colour, extra=PALETTE * (colour == 3), interlaced=interlaced)


def segment(kind: int, data: bytes) -> bytes:
    """A segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, kind, len(data) + 2) + data


def jpeg(
    side: int, parts: Sequence[tuple[int, int]], frame: int, scans: Sequence[Scan], data: bytes = b"", restarts: int = 0
) -> bytes:
    """A square JPEG without the mark of its end: a bit is a code, and each scan has the same data."""
    of_parts = b"".join(bytes([at, across << 4 | down, 0]) for at, (across, down) in enumerate(parts, 1))
    codes = bytes([1, *[0] * 15, 0])
    return b"".join([
        b"\xff\xd8", segment(0xDB, bytes([0] + [1] * 64)),
        segment(frame, struct.pack(">BHHB", 8, side, side, len(parts)) + of_parts),
        segment(0xC4, b"\0" + codes + b"\x10" + codes), segment(0xDD, struct.pack(">H", restarts)) if restarts else b"",
        *(segment(0xDA, bytes([len(these), *(byte for at in these for byte in (at + 1, 0))]) + range_) + data
          for these, range_ in scans),
    ])  # fmt: skip


def jpegs(side: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """JPEGs of a side, of every kind of frame, with few scans and with many, whole and cut."""
    for frame in (0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCA, 0xCB):
        for parts in (GREY, FULL, HALVED, FOUR):
            these = range(len(parts))
            for scans in (1, 5, 10, 20):
                several = {
                    "all": [(these, SMALLER if frame in {0xC2, 0xCA} else SEQUENTIAL)] * scans,
                    "one by one": [([at % len(parts)], SEQUENTIAL) for at in range(scans)],
                    "refined": [(these, SMALLER), ([0], FIRST), *[([0], REFINED)] * (scans - 2)],
                }
                for name, each in several.items():
                    for data, restarts in ((b"", 0), (bytes(40_000), 0), (bytes(40_000), 1)):
                        for end in (END, b""):
                            made = partial(jpeg, side, parts, frame, each, data, restarts)
                            what = f"{side} {frame:x} {parts} {scans} {name} {len(data)} {restarts} {end!r}"
                            yield f"jpeg {what}", lambda made=made, end=end: made() + end  # type: ignore[misc]


def pngs(side: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """PNGs of a side, of every kind of colour, depth and filter, interlaced and not."""
    for colour, depths in DEPTHS.items():
        for depth in depths:
            for filtered in range(5):
                for interlaced in (0, 1):
                    shape = (side, depth, colour, filtered, interlaced)
                    yield f"png {shape}", partial(rows_of_png, *shape)


def smooth(side: int, parts: int, kind: str = "WEBP", **saved: object) -> bytes:
    """A picture of smooth colours and smooth transparency, which costs an encoder most."""
    given = Image.frombytes("RGBA", (parts, parts), random.Random(1).randbytes(parts * parts * 4))
    file = BytesIO()
    given.resize((side, side), Image.Resampling.BICUBIC).save(file, kind, **saved)
    return file.getvalue()


def webps(side: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """WebPs of a side, lossless or not, in several parts of colour."""
    for parts in (2, 64, 512):
        for saved in ({"lossless": True, "method": 0}, {"quality": 90, "method": 0}, {"alpha_quality": 9}):
            yield f"webp {side} {parts} {saved}", partial(smooth, side, parts, **saved)


def every_shape() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Every picture of this module by a name, in sizes that are taken, and in some that are not."""
    for side in (2_559, 4_090, 8_192):
        yield from jpegs(side)
    for side in (2_559, 3_030, 4_290, 4_800):
        yield from pngs(side)
    for side in (1_280, 2_300):
        yield from webps(side)
