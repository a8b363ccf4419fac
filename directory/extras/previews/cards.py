"""Cards: pictures of projects in previews of links, 1200 × 630 pixels, drawn when they are asked for.

A card is named by what it shows. One is drawn at a time in a process, which keeps the latest.
"""

import re
from collections import OrderedDict
from dataclasses import astuple, dataclass
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from directory.language.messages import _
from directory.services.pictures import logos
from directory.services.pictures.pictures import Turns

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

FONTS = Path(__file__).parent / "data"  # NotoSans-LICENSE.txt there says where they are from
DRAWING = 2  # another number makes other names: for a change of how cards are drawn
KEPT, KEPT_BYTES = 1_000, 64 * 2**20  # of the cards of a process
UNSEEN = {"Cf", "Mn", "Zs"}  # categories of characters that are not counted: signs, marks over letters, spaces
SIZE, MARGIN = (1_200, 630), 72
INK, MUTED, PAPER, ACCENT = "#1b2321", "#5a6461", "#faf9f6", "#0b6b62"
LOGO, PICTURE = 128, (440, 486)  # pixels: a side, and the most of the picture at the right
TITLES, TAGLINE, SITE = (76, 62, 50), 36, 30  # pixels of the fonts
TITLE_LINES, TAGLINE_LINES = 2, 3
# What is none of the characters of the fonts: Latin, Greek, Cyrillic, and their marks.
OTHERS = re.compile(
    "[^\u0020-\u007e\u00a0-\u024f\u0370-\u0377\u037a-\u037f\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u03e1\u03f0-\u045f"
    "\u0490\u0491\u1e00-\u1eff\u2010-\u2027\u2030\u2032\u2033\u2039\u203a\u20ac\u2116\u2122]"
)

_turns = Turns(waiting=1)
_cards: OrderedDict[str, bytes] = OrderedDict()  # by their names, the latest last


@dataclass(frozen=True, slots=True)
class Card:
    """What a card shows: `letters` where there is no logo. Logo and picture are digests, the accent is #rrggbb."""

    title: str
    tagline: str
    letters: str
    logo: str | None
    picture: str | None
    site: str
    accent: str = ACCENT

    @property
    def name(self) -> str:
        """A name that differs for cards that look different."""
        return sha256(repr((DRAWING, *astuple(self))).encode()).hexdigest()


def drawable(text: str) -> str:
    """What the fonts have of a text, with plain spaces; nothing where that is less than half of it."""
    spaced = " ".join(text.split())
    left = " ".join(OTHERS.sub("", spaced).split())
    return left if 2 * _seen(left) >= _seen(spaced) else ""


def advance(letter: str, size: int) -> float | None:
    """The width of a letter in the bold font of a size; None if the font lacks it."""
    return _font("Bold", size).getlength(letter) if not OTHERS.match(letter) else None


def _seen(text: str) -> int:
    return sum(category(letter) not in UNSEEN for letter in text)


def drawn(card: Card) -> bytes:
    """A card as PNG, kept or drawn now. Raises Unavailable if the drawing of others takes too long."""
    name = card.name
    if (kept := _cards.get(name)) is not None:
        return kept
    with _turns.turn(_("Other cards are being drawn. Try again shortly.")):
        if name not in _cards:
            _keep(name, _encoded(_draw(card)))
        return _cards[name]


def _keep(name: str, content: bytes) -> None:
    """Keep a card, and drop the oldest ones that are too many. Only one thread at a time calls it."""
    _cards[name] = content
    while len(_cards) > KEPT or (len(_cards) > 1 and sum(map(len, _cards.values())) > KEPT_BYTES):
        _cards.popitem(last=False)


def _draw(card: Card) -> "Image":
    from PIL import Image, ImageDraw  # imported late: most processes draw none

    image = Image.new("RGB", SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 20, SIZE[1]), card.accent)
    _draw_logo(image, draw, card)
    end = SIZE[0] - MARGIN if card.picture is None else _draw_picture(image, draw, card.picture) - 48
    width = end - MARGIN
    top = MARGIN + LOGO + 28
    title, tagline, site = map(drawable, (card.title, card.tagline, card.site))
    if not title:
        title, tagline, site = site, "", ""
    lines, font = _title(title, width)
    for line in lines:
        draw.text((MARGIN, top), line, INK, font)
        top += round(font.size * 1.15)
    font = _font("Regular", TAGLINE)
    for line in _lines(tagline, font, width, TAGLINE_LINES):
        draw.text((MARGIN, top + 12), line, MUTED, font)
        top += round(font.size * 1.3)
    font = _font("Bold", SITE)
    for line in _lines(site, font, width, 1):
        draw.text((MARGIN, SIZE[1] - 92), line, card.accent, font)
    return image


def _draw_logo(image: "Image", draw: Any, card: Card) -> None:
    box = (MARGIN, MARGIN, MARGIN + LOGO, MARGIN + LOGO)
    if card.logo is not None:
        logo = _stored(card.logo).resize((LOGO, LOGO))
        image.paste(logo, box[:2], logo)
        return
    draw.rounded_rectangle(box, 24, card.accent)
    middle = MARGIN + LOGO / 2
    draw.text((middle, middle), drawable(card.letters), "#ffffff", _font("Bold", 54), anchor="mm")


def _draw_picture(image: "Image", draw: Any, digest: str) -> int:
    """Draw a picture whole at the right, and return where it begins."""
    picture = _stored(digest)
    picture.thumbnail(PICTURE)
    left = SIZE[0] - MARGIN - picture.width
    top = (SIZE[1] - picture.height) // 2
    image.paste(picture, (left, top), picture)
    draw.rectangle((left - 1, top - 1, left + picture.width, top + picture.height), outline="#c9c6bd")
    return left


def _stored(digest: str) -> "Image":
    from PIL import Image

    return Image.open(BytesIO(logos.picture(digest)), formats=("WEBP",)).convert("RGBA")


@lru_cache
def _font(weight: str, size: int) -> "FreeTypeFont":
    from PIL import ImageFont

    return ImageFont.truetype(str(FONTS / f"NotoSans-{weight}.ttf"), size, layout_engine=ImageFont.Layout.BASIC)


def _title(text: str, width: int) -> tuple[list[str], "FreeTypeFont"]:
    """The lines of a title, in the largest font in which it and its words are whole, or else in the smallest."""
    for size in TITLES:
        font = _font("Bold", size)
        lines = _lines(text, font, width, TITLE_LINES)
        if " ".join(lines) == text:
            break
    return lines, font


def _lines(text: str, font: "FreeTypeFont", width: int, most: int) -> list[str]:
    """A text in at most so many lines, broken at spaces where that is possible. One that is cut ends in an ellipsis."""
    lines: list[str] = []
    rest = text.split()
    while rest and len(lines) < most:
        line = rest.pop(0)
        while rest and font.getlength(f"{line} {rest[0]}") <= width:
            line += f" {rest.pop(0)}"
        if font.getlength(line) > width:  # a word that is longer than a line
            fits = next(n for n in range(len(line), 0, -1) if font.getlength(line[:n]) <= width or n == 1)
            line, rest = line[:fits], [line[fits:], *rest]
        lines.append(line)
    if rest:
        cut = lines[-1]
        while cut and font.getlength(f"{cut}…") > width:
            cut = cut[:-1]
        lines[-1] = f"{cut.rstrip()}…"
    return lines


def _encoded(image: "Image") -> bytes:
    """The card as PNG of 256 colours: a picture in it makes it no larger than 756 KB."""
    from PIL import Image

    file = BytesIO()
    image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, "PNG", optimize=False)
    return file.getvalue()
