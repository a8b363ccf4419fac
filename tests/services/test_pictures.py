"""Pictures that are uploaded as logos: what gets through, and what hostile ones cost."""

import os
import subprocess
import sys
import zlib
from io import BytesIO

import pytest
from PIL import Image

from directory.errors import Invalid
from directory.services import pictures
from tests.support.pictures import chunk, picture, png
from tests.support.serving import ROOT

PIXEL = zlib.compress(bytes(4))
MEGABYTES = 100


def square(content):
    """The larger of the pictures that are made of one."""
    return Image.open(BytesIO(pictures.as_logo(content)[1]))


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        *((mode, "PNG") for mode in ("RGB", "RGBA", "P", "L", "LA", "1", "I;16")),
        *((mode, "JPEG") for mode in ("RGB", "L", "CMYK")),
        *((mode, "WEBP") for mode in ("RGB", "RGBA")),
    ],
)
@pytest.mark.parametrize("size", [(1, 1), (40, 30), (700, 1400), (4096, 3)])
def test_every_kind_of_the_three_formats_becomes_a_square(mode, kind, size):
    made = pictures.as_logo(picture(size, None, kind, mode))
    images = [Image.open(BytesIO(each)) for each in made]
    assert [(image.format, image.size) for image in images] == [("WEBP", (64, 64)), ("WEBP", (256, 256))]


def test_colours_and_transparency_stay():
    image = Image.new("RGBA", (1000, 1000))
    image.paste((200, 40, 40, 255), (250, 250, 750, 750))
    file = BytesIO()
    image.save(file, "PNG")
    shown = square(file.getvalue())
    assert shown.getpixel((10, 10))[3] == 0
    assert all(abs(a - b) < 8 for a, b in zip(shown.getpixel((128, 128)), (200, 40, 40, 255), strict=True))
    deep = square(png(1, 1, zlib.compress(b"\0\x80\x00"), depth=16, colour=0))  # half of white, in 16 bits
    assert abs(deep.convert("RGB").getpixel((128, 128))[0] - 128) < 8


def test_a_picture_is_turned_as_its_camera_held_it():
    image = Image.new("RGB", (100, 50), "red")
    image.paste("blue", (0, 0, 50, 50))
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = 6  # a quarter to the right
    file = BytesIO()
    image.save(file, "JPEG", exif=exif, quality=95)
    shown = square(file.getvalue()).convert("RGB")
    top, bottom = shown.getpixel((128, 40)), shown.getpixel((128, 215))
    assert top[2] > 200 > 60 > top[0]
    assert bottom[0] > 200 > 60 > bottom[2]


def test_nothing_but_pixels_gets_through():
    exif = Image.Exif()
    exif[0x010E] = "SECRET"
    file = BytesIO()
    Image.new("RGB", (300, 300)).save(file, "JPEG", exif=exif, icc_profile=b"SECRET" * 50, comment=b"SECRET")
    given = file.getvalue() + b"<script>SECRET</script>PK\x03\x04"
    for made in pictures.as_logo(given):
        assert b"SECRET" not in made
        assert {made[at : at + 4] for at in (12,)} <= {b"VP8 ", b"VP8L", b"VP8X"}
        assert not Image.open(BytesIO(made)).info.keys() & {"exif", "icc_profile", "xmp", "comment"}


def truncated(kind):
    return picture((300, 300), kind=kind)[:-40]


def webp(kind, head):
    return b"RIFF" + (100).to_bytes(4, "little") + b"WEBP" + kind + (10).to_bytes(4, "little") + head


WRONG = {
    "nothing": b"", "text": b"<svg xmlns='http://www.w3.org/2000/svg'/>", "gif": picture(kind="GIF"),
    "bmp": picture(kind="BMP"), "tiff": picture(kind="TIFF"), "ico": picture((32, 32), kind="ICO"),
    "half a png": truncated("PNG"), "half a jpeg": truncated("JPEG")[:200], "half a webp": truncated("WEBP"),
    "png without pixels": png(9, 9, b""), "png of nothing": png(0, 0, PIXEL), "wrong depth": png(1, 1, PIXEL, depth=3),
    "only a head": b"\x89PNG\r\n\x1a\n", "only a riff": b"RIFF0000WEBP", "short webp": webp(b"VP8L", b"/"),
    "compressed text": png(1, 1, PIXEL, extra=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**24), 9))),
    "profile": png(1, 1, PIXEL, extra=chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2**24), 9))),
}  # fmt: skip
LARGE = {
    "png of 60,000": png(60_000, 60_000, PIXEL), "png of 4,097": picture((4_097, 1)),
    "jpeg of 4,097": picture((1, 4_097), kind="JPEG"), "webp of 4,097": picture((4_097, 1), kind="WEBP"),
    "lossless webp of 16,384": webp(b"VP8L", b"/" + b"\xff" * 9), "animation of 2^24": webp(b"VP8X", b"\xff" * 10),
}  # fmt: skip


@pytest.mark.parametrize("name", [*WRONG, *LARGE])
def test_anything_else_is_refused_in_words(name):
    with pytest.raises(Invalid) as caught:
        pictures.as_logo((WRONG | LARGE)[name])
    assert caught.value.detail == (pictures.TOO_LARGE if name in LARGE else pictures.NOT_ONE)


def test_what_would_take_too_much_memory_is_refused_before_it_is_decoded():
    progressive = picture((4_096, 4_096), kind="JPEG", progressive=True, subsampling=0)
    for content in (progressive, webp(b"VP8L", b"/" + (2_399 | 2_399 << 14).to_bytes(4, "little") + bytes(5))):
        with pytest.raises(Invalid) as caught:
            pictures.as_logo(content)
        assert caught.value.detail == pictures.TOO_MANY


COSTLY = {
    "png": lambda: picture((4_096, 4_096), mode="RGBA", colour=(1, 2, 3, 4), compress_level=1),
    "png of 16 bits": lambda: png(4_096, 4_096, zlib.compress(bytes(4_096 * (1 + 4_096 * 8)), 1), depth=16, colour=6),
    "webp": lambda: picture((2_300, 2_300), (1, 2, 3, 4), "WEBP", "RGBA", lossless=True, method=0),
    "progressive jpeg": lambda: picture((3_800, 3_800), kind="JPEG", progressive=True, subsampling=0),
    "more pixels than said": lambda: png(10, 10, zlib.compress(bytes(2**27), 1)),
}  # fmt: skip
MEASURE = """
import sys
from pathlib import Path
from directory.services import pictures
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
for path in sys.argv[1:]:
    content = Path(path).read_bytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is the present use again
    before = peak()
    pictures.as_logo(content)
    print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="memory is read from /proc")
def test_the_largest_pictures_take_less_than_a_hundred_megabytes(tmp_path):
    for name, make in COSTLY.items():
        (tmp_path / name).write_bytes(make())
    assert max(path.stat().st_size for path in tmp_path.iterdir()) <= pictures.UPLOAD_MAX
    paths = [str(tmp_path / name) for name in COSTLY]
    done = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, check=True, cwd=ROOT)
    taken = dict(zip(COSTLY, map(int, done.stdout.split()), strict=True))
    assert max(taken.values()) < MEGABYTES, taken
