"""Pictures that are uploaded, as logos or as pictures: what gets through, and what hostile ones cost."""

import os
import random
import re
import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO

import pytest
from PIL import Image, ImageCms, ImageFile

from directory.errors import Invalid, Unavailable
from directory.services.pictures import picture_files, pictures
from tests.support import cpu, effort
from tests.support.dear_pictures import (
    END,
    FIRST,
    FOUR,
    FULL,
    GREY,
    REFINED,
    SEQUENTIAL,
    SMALLER,
    every_shape,
    jpeg,
    rows_of_png,
    smooth,
)  # fmt: skip
from tests.support.pictures import chunk, picture, png
from tests.support.serving import ROOT

PIXEL = zlib.compress(bytes(4))
MEGABYTES = 100
SECONDS = 1.5  # of CPU; the dearest picture takes some 1.1


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
@pytest.mark.parametrize("size", [(1, 1), (40, 30), (700, 1400), (8192, 3)])
def test_every_kind_of_the_three_formats_becomes_a_square(mode, kind, size):
    made = pictures.as_logo(picture(size, "white" if "A" in mode else None, kind, mode))
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
    exif[picture_files.ORIENTATION] = 6  # a quarter to the right
    file = BytesIO()
    image.save(file, "JPEG", exif=exif, quality=95)
    shown = square(file.getvalue()).convert("RGB")
    top, bottom = shown.getpixel((128, 40)), shown.getpixel((128, 215))
    assert top[2] > 200 > 60 > top[0]
    assert bottom[0] > 200 > 60 > bottom[2]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_keeps_its_form_and_its_colours_in_srgb(kind):
    made = pictures.as_picture(picture((1600, 400), (220, 20, 20), kind, icc_profile=swapped_profile()))
    assert (made.width, made.height) == (1280, 320)
    for file, size in zip(made.files, ((640, 160), (1280, 320)), strict=True):
        image = Image.open(BytesIO(file))
        red, green, blue = image.convert("RGB").getpixel((9, 9))
        assert (image.size, red < 60, green > 180, blue < 60) == (size, True, True, True)


def test_nothing_but_pixels_gets_through():
    exif = Image.Exif()
    exif[0x010E] = "SECRET"
    file = BytesIO()
    Image.new("RGB", (300, 300)).save(file, "JPEG", exif=exif, icc_profile=b"SECRET" * 50, comment=b"SECRET")
    given = file.getvalue() + b"<script>SECRET</script>PK\x03\x04"
    for made in (*pictures.as_logo(given), *pictures.as_picture(given).files):
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
}  # fmt: skip
LARGE = {
    "png of 60,000": png(60_000, 60_000, PIXEL), "png of 8,193": picture((8_193, 1)),
    "jpeg of 8,193": picture((1, 8_193), kind="JPEG"), "webp of 8,193": picture((8_193, 1), kind="WEBP"),
    "lossless webp of 16,384": webp(b"VP8L", b"/" + b"\xff" * 9), "animation of 2^24": webp(b"VP8X", b"\xff" * 10),
}  # fmt: skip


@pytest.mark.parametrize("name", [*WRONG, *LARGE])
def test_anything_else_is_refused_in_words(name):
    with pytest.raises(Invalid) as caught:
        pictures.as_logo((WRONG | LARGE)[name])
    assert caught.value.detail == (pictures.TOO_LARGE if name in LARGE else pictures.NOT_ONE)


def test_what_would_take_too_much_memory_is_refused_before_it_is_decoded():
    progressive = picture((4_096, 4_096), kind="JPEG", progressive=True, subsampling=0)
    first_alone = jpeg(4_096, FULL, 0xC0, [([0], SEQUENTIAL)]) + END
    wide = webp(b"VP8L", b"/" + (2_399 | 2_399 << 14).to_bytes(4, "little") + bytes(5))
    for content in (progressive, first_alone, wide):
        with pytest.raises(Invalid) as caught:
            pictures.as_logo(content)
        assert caught.value.detail == pictures.TOO_MANY


COSTLY = {
    "png": lambda: picture((4_096, 4_096), mode="RGBA", colour=(1, 2, 3, 4), compress_level=1),
    "png of 16 bits": lambda: rows_of_png(3_030, 16, 6, 1, 0),
    "png of most pixels": lambda: rows_of_png(4_290, 8, 6, 1, 1),
    "jpeg of several scans": lambda: jpeg(3_600, FULL, 0xC0, [([at], SEQUENTIAL) for at in range(3)]) + END,
    "webp": lambda: picture((2_300, 2_300), (1, 2, 3, 4), "WEBP", "RGBA", lossless=True, method=0),
    "progressive jpeg": lambda: picture((3_600, 3_600), kind="JPEG", progressive=True, subsampling=0),
    "more pixels than said": lambda: png(10, 10, zlib.compress(bytes(2**27), 1)),
    "jpeg that is hardly reduced": lambda: picture((2_559, 2_559), kind="JPEG"),
    "png that is hardly reduced": lambda: picture((2_559, 2_559), mode="RGBA", icc_profile=swapped_profile()),
}  # fmt: skip
MEASURE = """
import sys
from pathlib import Path
from directory.services.pictures import pictures
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
for convert in (pictures.as_logo, pictures.as_picture):
    for path in sys.argv[1:]:
        content = Path(path).read_bytes()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is the present use again
        before = peak()
        convert(content)
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
    names = [f"{name} as a {kind}" for kind in ("logo", "picture") for name in COSTLY]
    taken = dict(zip(names, map(int, done.stdout.split()), strict=True))
    assert max(taken.values()) < MEGABYTES, taken


def test_a_second_head_of_a_jpeg_hides_no_coefficients_from_the_estimate():
    progressive = jpeg(9, FULL, 0xC2, [(range(3), SMALLER)])
    assert picture_files.read(progressive + jpeg(9, FULL, 0xC0, [(range(3), SEQUENTIAL)])[2:] + END).is_kept


def refine(content, times):
    """A progressive JPEG with its first scan of refinements repeated: each goes over all pixels and changes none."""
    at = [found.start() for found in re.finditer(b"\xff\xda", content)]
    scan = content[at[-1] : -2]
    return content[:-2] + scan * times + content[-2:]


def tiff(entries, size):
    """EXIF with many entries, each of which names the same bytes as its data."""
    rows = b"".join(struct.pack("<HHII", 1000 + number, 7, size, 8) for number in range(entries))
    return b"II*\0" + struct.pack("<IH", 8, entries) + rows + bytes(4)


def jpeg_with(kind, data, content=None):
    content = content or picture((300, 200), kind="JPEG")
    return content[:2] + bytes([0xFF, kind]) + (len(data) + 2).to_bytes(2) + data + content[2:]


def refused_undecoded(content, monkeypatch):
    """Why a picture is refused, none of whose pixels is decoded."""
    decoded = []
    with monkeypatch.context() as patched:
        patched.setattr(ImageFile.ImageFile, "load", decoded.append)
        with pytest.raises(Invalid) as caught:
            pictures.as_picture(content)
    assert decoded == []
    return caught.value.detail


def grey_jpeg(scans, end=END):
    return jpeg(4_096, GREY, 0xC2, [([0], SMALLER)] * scans) + end


def test_a_jpeg_of_more_pixels_times_scans_is_refused_before_it_is_decoded_and_one_of_the_usual_number_is_taken(
    monkeypatch,
):
    assert pictures.SCANNED_MAX == 10 * 4_096**2
    assert pictures.as_picture(grey_jpeg(10)).width == pictures.as_picture(grey_jpeg(5, end=b"")).width == 1_280
    many = picture((300, 300), 128, "JPEG", "L", progressive=True)
    for content in (grey_jpeg(11), grey_jpeg(6, end=b""), refine(many, 20), refine(many, 500)):
        assert refused_undecoded(content, monkeypatch) == pictures.TOO_SLOW


@pytest.mark.parametrize("frame", sorted(set(range(0xC3, 0xD0)) - {0xC4, 0xC8, 0xCC}))
@pytest.mark.parametrize("end", [END, b""])
def test_a_jpeg_of_a_kind_that_no_browser_shows_is_refused_before_it_is_decoded(frame, end, monkeypatch):
    given = jpeg(4_096, GREY, frame, [([0], SMALLER)] * 20) + end
    assert len(given) < 600
    assert refused_undecoded(given, monkeypatch) == pictures.NOT_ONE


@pytest.mark.parametrize("saved", [
    {"kind": "PNG"}, {"kind": "PNG", "mode": "RGBA", "colour": (9, 9, 9, 99)}, {"kind": "JPEG", "quality": 95},
    {"kind": "JPEG", "progressive": True, "subsampling": 0},
])  # fmt: skip
def test_a_picture_of_the_largest_usual_screen_is_taken(saved):
    made = pictures.as_picture(picture((5_120, 2_880), **saved))
    assert (made.width, made.height) == (1_280, 720)


def test_a_long_jpeg_is_decoded_at_a_smaller_scale_too(monkeypatch):
    loaded, load = [], ImageFile.ImageFile.load
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda image: loaded.append(image.size) or load(image))
    pictures.as_picture(picture((8_192, 1_000), kind="JPEG"))
    assert loaded[0] == (2_048, 250)


REFINEMENTS = [(range(3), SMALLER), ([0], FIRST), *[([0], REFINED)] * 18]
HOSTILE = {
    "most scans": lambda: grey_jpeg(10),
    "most scans in colour": lambda: jpeg(3_600, FULL, 0xC2, [(range(3), SMALLER)] * 12, bytes(80_000)) + END,
    "most refined": lambda: jpeg(3_600, FULL, 0xC2, REFINEMENTS[:12], bytes(80_000)) + END,
    "most scans and restarts": lambda: jpeg(2_559, FOUR, 0xC2, [(range(4), SMALLER)] * 20, bytes(40_000), 1) + END,
    "most pixels and no end": lambda: jpeg(8_192, FULL, 0xC0, [(range(3), SEQUENTIAL)], bytes(900_000)),
    "refined and no end": lambda: jpeg(3_600, FULL, 0xC2, REFINEMENTS[:6], bytes(160_000)),
    "arithmetic coding and no end": lambda: jpeg(4_096, GREY, 0xCA, REFINEMENTS, bytes(2)),
    "most pixels of 16 bits": lambda: rows_of_png(3_030, 16, 6, 4, 1),
    "most pixels in colour": lambda: rows_of_png(4_290, 8, 6, 4, 1),
    "most pixels in grey": lambda: rows_of_png(4_290, 16, 4, 1, 1),
    "scans in a thumbnail": lambda: jpeg_with(0xE1, b"Exif\0\0" + b"\xff\xda" * 9_000),
    "much exif in a jpeg": lambda: jpeg_with(0xE1, b"Exif\0\0" + tiff(5_000, 60_000)),
    "much exif in a webp": lambda: picture(kind="WEBP", exif=tiff(60_000, 700_000)),
    "pictures in a jpeg": lambda: jpeg_with(0xE2, b"MPF\0" + tiff(5_000, 60_000)),
    "text": lambda: png(1, 1, PIXEL, extra=chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**24), 9)) * 20),
    "large profile": lambda: png(1, 1, PIXEL, extra=chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2**24), 9))),
    "damaged profile": lambda: png(1, 1, PIXEL, extra=chunk(b"iCCP", b"a\0\0damaged")),
    "tiny chunks": lambda: png(1, 1, PIXEL, extra=chunk(b"tEXt", b"") * 80_000),
    "tiny segments": lambda: b"\xff\xd8" + b"\xff\xfe\0\2" * 200_000 + picture(kind="JPEG")[2:],
    "pixels in tiny parts": lambda: png(1, 1, PIXEL, extra=chunk(b"IDAT", b"") * 80_000),
    "animation": lambda: animation(2_000),
    "bytes that fill up": lambda: b"\xff\xd8" + b"\xff" * (pictures.UPLOAD_MAX - 3) + b"\0",
    "bytes that fill up a scan": lambda: (jpeg := picture(kind="JPEG"))[:-2] + b"\xff" * 900_000 + b"\0" + jpeg[-2:],
    "marks without a segment": lambda: (jpeg := picture(kind="JPEG"))[:-2] + b"\xff\xd0" * 500_000 + jpeg[-2:],
    "many profiles": lambda: png(1, 1, PIXEL, extra=chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(2**21), 9)) * 400),
}  # fmt: skip


def animation(frames):
    file = BytesIO()
    first, *rest = (Image.new("RGB", (9, 9), (number % 256, number // 256, 0)) for number in range(frames))
    first.save(file, "WEBP", save_all=True, append_images=rest)
    return file.getvalue()


def test_of_an_animation_the_first_picture_is_taken():
    file, first, second = BytesIO(), Image.new("RGB", (9, 9), (250, 0, 0)), Image.new("RGB", (9, 9), (0, 0, 250))
    first.save(file, "WEBP", save_all=True, append_images=[second], lossless=True)
    content = picture_files.read(file.getvalue()).content
    assert content.count(b"ANMF") == 1 < file.getvalue().count(b"ANMF")
    red, green, blue = square(file.getvalue()).convert("RGB").getpixel((128, 128))
    assert red > 200 > 50 > max(green, blue)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_picture_costs_much(name, recwarn):
    content = HOSTILE[name]()
    for convert, most in ((pictures.as_logo, pictures.UPLOAD_MAX), (pictures.as_picture, pictures.PICTURE_MAX)):
        assert len(content) <= most
        with cpu.at_most(SECONDS), suppress(Invalid):
            convert(content)
    assert not recwarn.list


@pytest.mark.slow
def test_no_shape_of_a_picture_costs_much():
    shapes, taken = [*every_shape()], 0
    for what, make in random.Random(effort.SEED).sample(shapes, int(effort.ASKED or 60)):
        content = make()
        with cpu.at_most(SECONDS, what), suppress(Invalid):
            pictures.as_picture(content)
            taken += 1
    assert taken > 0


LARGER = {
    "smooth and transparent": lambda: smooth(1_280, 32, "PNG"),
    "larger, smooth and transparent": lambda: smooth(2_300, 64, quality=90, method=0),
    "lossless": lambda: smooth(1_280, 64, lossless=True, method=0),
    "noise": lambda: noise((1_020, 1_020), "RGBA", "PNG"),
    "noise of twice the size": lambda: noise((2_559, 2_559), "L", "JPEG", quality=60),
    "bytes that fill up": lambda: b"\xff\xd8" + b"\xff" * (pictures.PICTURE_MAX - 3) + b"\0",
    "tiny segments": lambda: b"\xff\xd8" + b"\xff\xe0\0\2" * 10**6 + picture(kind="JPEG")[2:],
    "tiny chunks": lambda: png(1, 1, PIXEL, extra=chunk(b"tEXt", b"") * 340_000),
}  # fmt: skip


def noise(size, mode, kind, **saved):
    file = BytesIO()
    pixels = random.Random(1).randbytes(size[0] * size[1] * len(mode))
    Image.frombytes(mode, size, pixels).save(file, kind, **saved)
    return file.getvalue()


@pytest.mark.parametrize("name", LARGER)
def test_no_larger_upload_costs_much_as_a_picture(name):
    content = LARGER[name]()
    assert pictures.UPLOAD_MAX < len(content) <= pictures.PICTURE_MAX
    with cpu.at_most(SECONDS), suppress(Invalid):
        made = pictures.as_picture(content)
        assert sum(map(len, made.files)) < pictures.PICTURE_MAX


def test_the_marks_within_the_pixels_of_a_jpeg_are_neither_searched_one_by_one_nor_lost():
    noise, file = Image.effect_noise((300, 300), 60), BytesIO()
    noise.save(file, "JPEG", restart_marker_blocks=1, comment=b"no")
    whole = file.getvalue()
    assert whole.count(b"\xff\xd0") > 10
    kept = picture_files.read(whole).content
    assert kept == whole.replace(b"\xff\xfe\0\4no", b"")
    assert len(picture_files.MARKER.findall(whole)) < 20


def test_metadata_of_any_size_is_left_out():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for extra in (
        chunk(b"iCCP", b"a\0\0" + zlib.compress(profile + os.urandom(400_000))),
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + b"x" * 400_000),
    ):
        pictures.as_logo(png(1, 1, PIXEL, extra=extra))


def test_a_jpeg_without_the_mark_of_its_end_is_taken_and_one_that_is_cut_off_is_not():
    noise = Image.effect_noise((300, 300), 60)
    for progressive in (False, True):
        file = BytesIO()
        noise.save(file, "JPEG", progressive=progressive)
        whole = file.getvalue()
        assert pictures.as_logo(whole[:-1]) == pictures.as_logo(whole[:-2]) == pictures.as_logo(whole)
        for cut in (len(whole) // 2, len(whole) - 300):
            with pytest.raises(Invalid):
                pictures.as_logo(whole[:cut])


@pytest.mark.parametrize(("colour", "row", "key"), [
    (0, b"\x12\x34" * 2 + b"\x12\x99" * 2, b"\x12\x34"),
    (2, b"\x12\x34\x56\x78\x9a\xbc" * 2 + b"\x80\x00" * 6, b"\x12\x34\x56\x78\x9a\xbc"),
])  # fmt: skip
def test_the_transparent_colour_of_a_picture_of_16_bits_is_transparent(colour, row, key):
    given = png(4, 4, zlib.compress((b"\0" + row) * 4), depth=16, colour=colour, extra=chunk(b"tRNS", key))
    shown = square(given)
    assert [shown.getpixel((x, 128))[3] > 127 for x in (20, 230)] == [False, True]


def test_a_picture_that_is_transparent_everywhere_is_refused():
    with pytest.raises(Invalid) as caught:
        pictures.as_logo(picture(colour=(9, 9, 9, 0), mode="RGBA"))
    assert caught.value.detail == pictures.UNSEEN


def swapped_profile():
    """A profile of sRGB whose red is green, and whose green is red."""
    data = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    red, green = data.index(b"rXYZ", 128), data.index(b"gXYZ", 128)
    data[red : red + 4], data[green : green + 4] = data[green : green + 4], data[red : red + 4]
    return bytes(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_colours_are_converted_to_srgb(kind):
    shown = square(picture((300, 300), (220, 20, 20), kind, icc_profile=swapped_profile()))
    red, green, blue, *_ = shown.getpixel((128, 128))
    assert (red < 60, green > 180, blue < 60) == (True, True, True)


@pytest.mark.parametrize("profile", [b"SECRET" * 50, swapped_profile() + b"mpet"])
def test_a_profile_that_cannot_be_used_is_left_out(profile):
    shown = square(picture((300, 300), (220, 20, 20), "PNG", icc_profile=profile))
    assert shown.getpixel((128, 128))[0] > 180


def test_a_cmyk_picture_with_a_profile_and_a_grey_one_are_taken():
    pictures.as_logo(picture((30, 30), kind="JPEG", mode="CMYK", icc_profile=swapped_profile()))
    grey = picture((30, 30), 77, "PNG", "L", icc_profile=swapped_profile())
    assert abs(square(grey).getpixel((128, 128))[0] - 77) < 12


def test_a_second_picture_of_a_user_meanwhile_is_refused_at_once_and_those_of_others_are_not(monkeypatch):
    monkeypatch.setattr(pictures, "TURN_SECONDS", 3600)
    with pictures._turn_of(1), ThreadPoolExecutor(1) as pool:
        second = pool.submit(pictures.as_logo, picture(), by=1)
        with pytest.raises(Unavailable, match="of yours"):
            second.result(60)
        assert pictures.as_logo(picture(), by=2)
    assert pictures.as_logo(picture(), by=1)


@pytest.mark.parametrize(("exif", "expected"), [
    (b"", 1), (b"II*\0", 1), (b"no EXIF at all", 1), (b"II*\0" + struct.pack("<I", 9_999) + bytes(9), 1),
    (b"II*\0" + struct.pack("<IHHHII", 8, 1, 0x0112, 3, 1, 6) + bytes(4), 6),
    (b"MM\0*" + struct.pack(">IHHHIHH", 8, 1, 0x0112, 3, 1, 8, 0) + bytes(4), 8),
])  # fmt: skip
def test_the_orientation_is_read_from_exif_of_any_shape(exif, expected):
    assert picture_files._orientation(exif) == expected
    pictures.as_logo(png(1, 1, PIXEL, extra=chunk(b"eXIf", exif)))


def test_a_picture_that_has_to_wait_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(pictures, "TURN_SECONDS", 0.05)
    with pictures._turns_of_all.turn(""), pytest.raises(Unavailable):
        pictures.as_logo(picture())
