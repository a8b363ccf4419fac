"""Converts uploads to logos and pictures: decodes them within limits of size and memory, and encodes them again.

Only pixels are kept: no other byte of an upload is stored, such as metadata.
"""

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from directory.errors import Invalid, Unavailable
from directory.language.messages import _
from directory.models.base import addresses
from directory.services.pictures import picture_files
from directory.services.pictures.picture_files import PictureFile

if TYPE_CHECKING:
    from PIL.Image import Image

log = logging.getLogger(__name__)

T = TypeVar("T")
PictureList = list[dict[str, Any]]  # the pictures of a project, as callers see them

LARGE, SMALL = 256, 64  # pixels a side of a logo
WIDE, NARROW = 1_280, 640  # pixels of the longer side of a picture, at most
# Of WebP. Smooth transparency in full would cost more than all else, and is no better to look at.
LOGO_SAVED = {"quality": 88, "method": 4}
PICTURE_SAVED = {"quality": 80, "method": 2, "alpha_quality": 75}
UPLOAD_MAX, PICTURE_MAX = 2**20, 2**22  # bytes of a logo, of a picture
SIDE_MAX = 8_192  # pixels
MEMORY_MAX = 88 * 2**20  # bytes that decoding may take, estimated from the header by measurements of each format
WEBP_PIXEL, PNG_PIXEL, JPEG_PIXEL = 17, 5, 4  # bytes: libwebp holds several canvases
PNG_DEPTH = 24  # where a PNG says its bits
SCANNED_MAX = 10 * 2**24  # pixels that the scans of a JPEG may go over
BAND = 16  # rows of the reduced picture that are computed at once
FORMATS = ("PNG", "JPEG", "WEBP")
NOT_ONE = _("Is not a PNG, JPEG or WebP picture, or it is damaged.")
TOO_LARGE = _("Must be at most {number} pixels wide and high.", number=f"{SIDE_MAX:,}")
MILLIONS = {"png": MEMORY_MAX // PNG_PIXEL // 10**6, "webp": MEMORY_MAX // WEBP_PIXEL // 10**6}
TOO_MANY = _(
    "Has too many pixels: at most {png} million as a PNG, half as many with 16 bits, and {webp} million as a WebP. "
    "Send it as a JPEG that is not progressive.", **MILLIONS,
)  # fmt: skip
TOO_SLOW = _("Has too many scans for its pixels. Send it as a JPEG that is not progressive.")
UNSEEN = _("Is transparent everywhere.")
MULTI_PROCESS = b"mpet"  # the kind of a profile whose conversion may take any number of steps
PADDING = b"Z" * 64  # see _reduced
PICTURES_MAX = 5  # of a project
ALT_MAX = 140  # characters of the words of a picture
ID_MAX = 2**53 - 1  # the largest integer that every JSON parser keeps
TURN_SECONDS = 4.0  # for which a piece of work waits for its turn

_owners: set[int] = set()  # whose pictures are being converted
_owners_lock = threading.Lock()


class Turns:
    """Turns at costly work: one piece is done and at most `waiting` others wait, in threads that serve others."""

    def __init__(self, waiting: int) -> None:
        self._present, self._one = threading.BoundedSemaphore(1 + waiting), threading.Lock()

    @contextmanager
    def turn(self, refusal: str) -> Iterator[None]:
        """Do the work of the block in its turn. Raises Unavailable at once if too many wait, or after TURN_SECONDS."""
        if not self._present.acquire(blocking=False):
            raise Unavailable(refusal)
        try:
            if not self._one.acquire(timeout=TURN_SECONDS):
                raise Unavailable(refusal)
            try:
                yield
            finally:
                self._one.release()
        finally:
            self._present.release()


_turns_of_all = Turns(waiting=2)


class MadePicture(NamedTuple):
    """A picture as WebP, of at most 640 and of at most 1,280 pixels a side, and the pixels of the larger one."""

    files: tuple[bytes, bytes]
    width: int
    height: int


def as_logo(content: bytes, *, by: int | None = None) -> tuple[bytes, bytes]:
    """The picture as WebP of 64 and of 256 pixels a side. Raises Invalid, and Unavailable if others take too long.

    Only one is decoded at a time, to limit the memory of a process. A second one of the same user (`by`) meanwhile is
    refused, so that one user's pictures hold one thread and do not keep others out.
    """
    return _in_turn(lambda: _converted(content, 2 * LARGE, 4 * LARGE, _squares), by)


def as_picture(content: bytes, *, by: int | None = None) -> MadePicture:
    """The picture in its two sizes, never larger than it was sent; in turn with logos. Raises as `as_logo` does."""
    return _in_turn(lambda: _converted(content, WIDE, WIDE, _sizes), by)


def described(picture: MadePicture, digest: str, alt: str) -> dict[str, Any]:
    """A picture that is stored under the digest, as callers see it. Its id is new: no list had it before."""
    size = {"width": picture.width, "height": picture.height}
    return {"id": 1 + secrets.randbelow(ID_MAX), "alt": alt, **addresses(digest, "640", "1280"), **size}


def _in_turn(work: Callable[[], T], by: int | None) -> T:
    with _turn_of(by), _turns_of_all.turn(_("Other pictures are being converted. Try again shortly.")):
        return work()


@contextmanager
def _turn_of(owner: int | None) -> Iterator[None]:
    """Note whose picture is converted in the block. Raises Unavailable if another one of the user's is."""
    if owner is None:
        yield
        return
    with _owners_lock:
        if owner in _owners:
            raise Unavailable(_("Another picture of yours is being converted. Send this one when that is done."))
        _owners.add(owner)
    try:
        yield
    finally:
        with _owners_lock:
            _owners.discard(owner)


def _converted(content: bytes, least: int, most: int, convert: Callable[["Image"], T]) -> T:
    """What `convert` makes of the picture in sRGB, whose longer side has `least` to `most` pixels, or fewer as sent."""
    try:
        file = picture_files.read(content)
        image = _reduced(file, least)
        image = _in_srgb(_scaled(image, most) if max(image.size) > most else image, file.profile)
        if image.getchannel("A").getextrema()[1] == 0:
            raise _refusal(UNSEEN)
        return convert(image)
    except Invalid:
        raise
    except picture_files.TooManyScans:
        raise _refusal(TOO_SLOW) from None
    except Exception as error:  # decoders raise many kinds
        log.info("a picture cannot be decoded: %s", type(error).__name__)
        raise _refusal(NOT_ONE) from None


def _refusal(why: str) -> Invalid:
    return Invalid([{"pointer": "#", "detail": why}], why)


def _reduced(file: PictureFile, side: int) -> "Image":
    """The picture, turned upright, reduced to a longer side of `side` to twice as many pixels.

    A JPEG may lack the mark of its end. The decoder fills pixels that are missing too without an error. So it is
    decoded twice, the second time with bytes that change the picture unless its pixels are complete. Its scans count
    twice.
    """
    if not file.is_cut:
        return _decoded(file, side)
    end = picture_files.JPEG_END
    image, other = (_decoded(replace(file, content=file.content + more + end), side) for more in (b"", PADDING))
    if image.tobytes() != other.tobytes():
        raise _refusal(NOT_ONE)
    return image


def _decoded(file: PictureFile, side: int) -> "Image":
    from PIL import Image  # imported late: most commands do not need it

    Image.MAX_IMAGE_PIXELS = None  # we have limits of our own, and opening a PNG or a JPEG decodes nothing
    _require_small_webp(file.content)
    with Image.open(BytesIO(file.content), formats=FORMATS) as image:
        longer, pixels = max(image.size), image.width * image.height
        if longer > SIDE_MAX:
            raise _refusal(TOO_LARGE)
        # A JPEG can be decoded at a smaller scale.
        image.draft("RGB", (max(1, image.width * side // longer), max(1, image.height * side // longer)))
        if _memory(image, file, pixels) > MEMORY_MAX:
            raise _refusal(TOO_MANY)
        if pixels * file.scans * (2 if file.is_cut else 1) > SCANNED_MAX:
            raise _refusal(TOO_SLOW)
        image.load()
        turn = _turns().get(file.orientation)
        reduced = _in_bands(image, max(1, max(image.size) // side))
    return reduced if turn is None else reduced.transpose(turn)


def _require_small_webp(content: bytes) -> None:
    """Raise Invalid for a WebP that is too large: even opening it takes memory for all of its pixels."""
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return
    kind, head = content[12:16], content[20:30]
    if len(head) < 10:
        raise _refusal(NOT_ONE)
    if kind == b"VP8X":
        width, height = (1 + int.from_bytes(head[at : at + 3], "little") for at in (4, 7))
    elif kind == b"VP8L":
        bits = int.from_bytes(head[1:5], "little")
        width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    else:
        width, height = (int.from_bytes(head[at : at + 2], "little") & 0x3FFF for at in (6, 8))
    if max(width, height) > SIDE_MAX:
        raise _refusal(TOO_LARGE)
    if width * height * WEBP_PIXEL > MEMORY_MAX:
        raise _refusal(TOO_MANY)


def _memory(image: Any, file: PictureFile, pixels: int) -> int:
    """An estimate of the memory that decoding takes; 0 for a WebP, which was checked before.

    A PNG of 16 bits counts twice, for the bytes of its rows cost time. Of a JPEG whose parts come in several scans the
    decoder keeps all coefficients, two bytes for each sample of a component, next to the pixels.
    """
    if image.format == "PNG":
        return pixels * PNG_PIXEL * (2 if file.content[PNG_DEPTH] == 16 else 1)
    if not file.is_kept:
        return 0
    full = max(h for _, h, _, _ in image.layer) * max(v for _, _, v, _ in image.layer)
    kept = 2 * pixels * sum(h * v for _, h, v, _ in image.layer) // full
    return int(kept + JPEG_PIXEL * image.width * image.height)


def _in_bands(image: "Image", factor: int) -> "Image":
    """The picture reduced by an integer factor, some rows at a time: all at once would take three times its memory."""
    from PIL import Image

    size = (-(-image.width // factor), -(-image.height // factor))
    reduced = Image.new("RGBA", size)
    for top in range(0, image.height, BAND * factor):
        band = image.crop((0, top, image.width, min(top + BAND * factor, image.height)))
        reduced.paste(_as_rgba(band).reduce(factor), (0, top // factor))
    return reduced


def _in_srgb(image: "Image", profile: bytes) -> "Image":
    """The picture with the colours of its profile, in sRGB. A profile that does not fit or is damaged is left out."""
    if not profile or MULTI_PROCESS in profile:
        return image
    from PIL import Image, ImageCms

    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        mode = {"RGB ": "RGB", "GRAY": "L"}[source.profile.xcolor_space]
        shown = ImageCms.profileToProfile(image.convert(mode), source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, KeyError, ValueError) as error:
        log.info("a colour profile is left out: %s", type(error).__name__)
        return image
    return Image.merge("RGBA", (*shown.split(), image.getchannel("A")))  # type: ignore[union-attr]


def _as_rgba(band: "Image") -> "Image":
    if band.mode.startswith("I"):
        return _grey(band.convert("I"), band.info.get("transparency"))
    if band.mode == "CMYK":
        band = band.convert("RGB")
    return band if band.mode == "RGBA" else band.convert("RGBA")


def _grey(band: "Image", key: int | None) -> "Image":
    """Grey of 16 bits in 8 bits. `key` is the value that is transparent, if any."""
    from PIL import Image, ImageMath

    grey = band.point(lambda value: value * (1 / 256)).convert("L")
    shown = Image.new("L", band.size, 255)
    if key is not None:
        shown = ImageMath.lambda_eval(lambda names: names["convert"]((names["band"] != key) * 255, "L"), band=band)
    return Image.merge("RGBA", (grey, grey, grey, shown))


def _squares(image: "Image") -> tuple[bytes, bytes]:
    """A logo's two pictures: the whole picture in a square, on a transparent background."""
    from PIL import Image

    shown = _scaled(image, LARGE)
    square = Image.new("RGBA", (LARGE, LARGE))
    square.paste(shown, ((LARGE - shown.width) // 2, (LARGE - shown.height) // 2))
    return _encoded(_scaled(square, SMALL), LOGO_SAVED), _encoded(square, LOGO_SAVED)


def _sizes(image: "Image") -> MadePicture:
    small = _scaled(image, min(NARROW, max(image.size)))
    return MadePicture((_encoded(small, PICTURE_SAVED), _encoded(image, PICTURE_SAVED)), *image.size)


def _scaled(image: "Image", side: int) -> "Image":
    """The whole picture with a longer side of `side` pixels."""
    from PIL import Image

    scale = side / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _encoded(image: "Image", saved: dict[str, int]) -> bytes:
    file = BytesIO()
    image.save(file, "WEBP", **saved)
    return file.getvalue()


def _turns() -> dict[int, Any]:
    """The transposition that turns a picture upright, by its EXIF orientation."""
    from PIL.Image import Transpose

    return {
        2: Transpose.FLIP_LEFT_RIGHT, 3: Transpose.ROTATE_180, 4: Transpose.FLIP_TOP_BOTTOM, 5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270, 7: Transpose.TRANSVERSE, 8: Transpose.ROTATE_90,
    }  # fmt: skip
