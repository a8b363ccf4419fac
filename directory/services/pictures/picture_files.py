"""Takes an uploaded file apart: what holds pixels, its orientation and its colour profile, and nothing else.

The decoder gets a file without metadata. Metadata can be large, and of hostile files it can cost more than the pixels.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

PROFILE_MAX = 2**20  # bytes of a colour profile; larger ones are left out
SCANS_MAX = 20  # of a JPEG; encoders write about ten
SEGMENTS_MAX = 2_000  # of a JPEG; a profile of a megabyte has 16
ENTRIES_MAX = 500  # of EXIF; cameras write some tens
ORIENTATION = 0x0112  # of EXIF
PNG_HEAD = b"\x89PNG\r\n\x1a\n"
PNG_KEPT = {b"IHDR", b"PLTE", b"tRNS", b"IEND"}
DEEP_RGB = bytes([16, 2])  # depth and kind of colour in the head of a PNG
JPEG_HEAD, JPEG_END = b"\xff\xd8", b"\xff\xd9"
EXIF_HEAD, ICC_HEAD = b"Exif\0\0", b"ICC_PROFILE\0"
FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # the kinds of a JPEG
PROGRESSIVE = 0xC2
SHOWN = {0xC0, 0xC1, PROGRESSIVE}  # the kinds that browsers show; others, as with arithmetic coding, can cost much more
# Without the bytes that may fill up before it. Markers that have no segment are left with the pixels between them.
MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd7\xff])", re.DOTALL)
SCAN, END, APP0, APP1, APP2, ADOBE, LAST_APP, COMMENT = 0xDA, 0xD9, 0xE0, 0xE1, 0xE2, 0xEE, 0xEF, 0xFE
WEBP_FLAGS = ~0x2C & 0xFF  # of the extended header, without those of profile, EXIF and XMP


class TooManyScans(ValueError):
    """A JPEG has so many scans or segments that its decoding would take long."""


@dataclass(slots=True)
class PictureFile:
    """A file with pixels alone, and what was said of them.

    Of a JPEG its scans and the number of its components, whether its end is missing, and whether a decoder keeps all of
    its coefficients.
    """

    content: bytes
    orientation: int = 1
    profile: bytes = b""
    scans: int = 0
    parts: bytes = b""
    is_cut: bool = False
    is_kept: bool = False


def read(content: bytes) -> PictureFile:
    """The parts of a PNG, a JPEG or a WebP. Raises ValueError for what is none of them, or is damaged."""
    if content.startswith(PNG_HEAD):
        return _png(content)
    if content.startswith(JPEG_HEAD):
        return _jpeg(content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _webp(content)
    raise ValueError("none of the three formats")


def _png(content: bytes) -> PictureFile:
    file, has_profile, pixels, pieces = PictureFile(b""), False, [], {b"head": PNG_HEAD}
    for kind, start, end in _chunks(content, 8, ">", 12):
        data = content[start:end]
        if kind == b"IDAT":
            pixels.append(data)
        elif kind == b"tRNS" and pieces[b"IHDR"][16:18] == DEEP_RGB:
            pieces[kind] = _chunk(kind, bytes(at % 2 and data[at - 1] for at in range(6)))  # as 8 bits: the decoder's
        elif kind in PNG_KEPT:
            pieces[kind] = content[start - 8 : end + 4]
        elif kind == b"iCCP" and not has_profile:  # a second one is none
            has_profile, file.profile = True, _inflated(data.partition(b"\0")[2][1:])
        elif kind == b"eXIf":
            file.orientation = _orientation(data)
        if kind == b"IEND":
            break
    last = pieces.pop(b"IEND", b"")
    file.content = b"".join([*pieces.values(), _chunk(b"IDAT", b"".join(pixels)), last])
    return file


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def _chunks(content: bytes, at: int, order: str, around: int) -> Iterator[tuple[bytes, int, int]]:
    """The kind of each chunk of a PNG or a RIFF, and where its data begin and end. Raises ValueError."""
    while at + 8 <= len(content):
        first, second = content[at : at + 4], content[at + 4 : at + 8]
        kind, size = (second, first) if order == ">" else (first, second)
        length = int.from_bytes(size, "big" if order == ">" else "little")
        end = at + 8 + length
        if end > len(content):
            raise ValueError("a chunk is cut off")
        yield kind, at + 8, end
        at = end + around - 8 + (length % 2 if order == "<" else 0)


def _inflated(data: bytes) -> bytes:
    """A compressed profile; nothing if it is too large or damaged."""
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(data, PROFILE_MAX)
    except zlib.error:
        return b""
    return unpacked if unpacking.eof else b""


def _jpeg(content: bytes) -> PictureFile:
    """A JPEG without its metadata. Raises TooManyScans, ValueError."""
    file, pieces, profile, at = PictureFile(b""), [JPEG_HEAD], {}, 2
    while marker := MARKER.search(content, at):
        kind = marker[1][0]
        start = marker.end()
        if kind == END:
            file.content = b"".join([*pieces, content[at : marker.start()], JPEG_END])
            break
        end = start + max(2, int.from_bytes(content[start : start + 2]))
        data = content[start + 2 : end]
        _note(file, kind, data)
        if file.scans > SCANS_MAX or len(pieces) > 2 * SEGMENTS_MAX:
            raise TooManyScans
        pieces.append(content[at : marker.start()] if file.scans else b"")  # the pixels before the marker
        if kind == APP2 and data.startswith(ICC_HEAD):
            profile[data[12:13]] = data[14:]
        if not (APP0 < kind <= LAST_APP or kind == COMMENT) or kind == ADOBE:
            pieces.append(content[marker.end() - 2 : end])
        at = end
    else:
        file.is_cut, file.content = True, b"".join([*pieces, content[at:].rstrip(b"\xff")])
    if not file.scans:
        raise ValueError("no pixels")  # the decoder would search for them byte by byte
    joined = b"".join(profile[number] for number in sorted(profile))
    file.profile = joined if len(joined) <= PROFILE_MAX else b""
    return file


def _note(file: PictureFile, kind: int, data: bytes) -> None:
    """Note what a segment of a JPEG says of its pixels. Raises ValueError for a JPEG that no browser shows."""
    if kind in FRAMES:
        if kind not in SHOWN:
            raise ValueError("no browser shows it")
        file.is_kept, file.parts = file.is_kept or kind == PROGRESSIVE, data[5:6]
    elif kind == SCAN:
        file.scans += 1
        file.is_kept = file.is_kept or data[:1] != file.parts
    elif kind == APP1 and data.startswith(EXIF_HEAD):
        file.orientation = _orientation(data[6:])


def _webp(content: bytes) -> PictureFile:
    """A WebP without its metadata, and of an animation the first picture. Raises ValueError."""
    file, kept, animated = PictureFile(b""), [], False
    for kind, start, end in _chunks(content, 12, "<", 8):
        data = content[start:end]
        if kind == b"EXIF":
            file.orientation = _orientation(data.removeprefix(EXIF_HEAD))
        elif kind == b"ICCP":
            file.profile = data if len(data) <= PROFILE_MAX else b""
        elif kind == b"VP8X":
            kept.append(kind + content[start - 4 : start] + bytes([data[0] & WEBP_FLAGS]) + data[1:])
        elif kind in (b"VP8 ", b"VP8L", b"ALPH", b"ANIM") or (kind == b"ANMF" and not animated):
            animated = animated or kind == b"ANMF"
            kept.append(content[start - 8 : end] + bytes(len(data) % 2))
    whole = b"WEBP" + b"".join(kept)
    file.content = b"RIFF" + len(whole).to_bytes(4, "little") + whole
    return file


def _orientation(exif: bytes) -> int:
    """How the camera was held, from the first directory of EXIF; 1 if it does not say."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None or len(exif) < 10:
        return 1
    first = struct.unpack_from(f"{order}I", exif, 4)[0]
    count = min(ENTRIES_MAX, (len(exif) - first - 2) // 12)
    if count < 1:
        return 1
    count = min(count, struct.unpack_from(f"{order}H", exif, first)[0])
    entries = exif[first + 2 : first + 2 + 12 * count]
    return next((value for tag, value in struct.iter_unpack(f"{order}H6xH2x", entries) if tag == ORIENTATION), 1)
