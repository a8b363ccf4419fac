"""A badge for pages elsewhere: the site's name and a project's votes, as a picture and as the HTML that shows it."""

import unicodedata
from html import escape
from typing import Any, NamedTuple

from directory.extras.previews import cards
from directory.language.catalogues import ENGLISH, Catalogue
from directory.language.messages import END_ISOLATE, ISOLATE
from directory.services.site import Site, path_of

HEIGHT, SPACE, NAME_MAX = 28, 10, 40
SIZE = 12  # pixels of the font
NARROW, WIDE = 7.2, 13.0  # pixels of a letter that the cards' font lacks, and of one of the scripts with wide ones
UNSEEN = {"Cf", "Mn"}  # categories of characters that take no room: isolates, and marks over letters
FONT = f'font-family="system-ui,-apple-system,Segoe UI,Roboto,sans-serif" font-size="{SIZE}" text-anchor="middle"'


class Colours(NamedTuple):
    """The colours of a badge: of the name and its ground, of the votes and their ground, and of the edge."""

    name: str
    ground: str
    votes: str
    accent: str
    edge: str


LIGHT = Colours("#1d2422", "#ffffff", "#ffffff", "#0b6b62", "#c9d1ce")
DARK = Colours("#e8eeec", "#171d1b", "#06201d", "#53cdbd", "#3a4441")


def drawn(name: str, votes: str, colours: Colours, language: Catalogue = ENGLISH) -> str:
    """The badge as SVG. The votes are said in `language`; the name comes first in its direction, and has its own."""
    name = name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 1].rstrip()}…"
    wide, votes_wide = _width(name), _width(votes)
    width, middle = wide + votes_wide, HEIGHT // 2 + 4
    direction = language.locale.direction
    of_name = f"{ISOLATE}{name}{END_ISOLATE}" if language.isolates else name
    name_at, votes_at = (votes_wide, 0) if direction == "rtl" else (0, wide)
    label = escape(f"{of_name}: {votes}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}" '
        f'role="img" aria-label="{label}" lang="{language.tag}" direction="{direction}"><title>{label}</title>'
        f'<clipPath id="c"><rect width="{width}" height="{HEIGHT}" rx="6"/></clipPath><g clip-path="url(#c)">'
        f'<rect x="{name_at}" width="{wide}" height="{HEIGHT}" fill="{colours.ground}"/>'
        f'<rect x="{votes_at}" width="{votes_wide}" height="{HEIGHT}" fill="{colours.accent}"/></g>'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{HEIGHT - 1}" rx="5.5" fill="none" stroke="{colours.edge}"/>'
        f'<g {FONT}>{_text(of_name, name_at + wide / 2, wide, middle, colours.name)}'
        f'{_text(votes, votes_at + votes_wide / 2, votes_wide, middle, colours.votes)}</g></svg>'
    )  # fmt: skip


def _width(text: str) -> int:
    """The width of a part in pixels, as fonts differ; `_text` fits the text into it."""
    shown = (letter for letter in text if unicodedata.category(letter) not in UNSEEN)
    return round(sum(map(_advance, shown))) + 2 * SPACE


def _advance(letter: str) -> float:
    advance = cards.advance(" " if letter.isspace() else letter, SIZE)
    return advance or (WIDE if unicodedata.east_asian_width(letter) in "WF" else NARROW)


def _text(text: str, x: float, width: int, y: int, colour: str) -> str:
    return (
        f'<text x="{x:g}" y="{y}" textLength="{width - 2 * SPACE}" lengthAdjust="spacingAndGlyphs" fill="{colour}" '
        f'font-weight="600">{escape(text)}</text>'
    )


class Snippet(NamedTuple):
    """The address of a project's badge on this site, and the HTML that shows it on another one."""

    path: str
    html: str


def snippet(project: dict[str, Any], site: Site) -> Snippet | None:
    """What an owner copies; None where the site's address is not known."""
    if not site.url:
        return None
    path = f"/p/{project['id']}/badge.svg"
    page, picture = (escape(site.address(target)) for target in (path_of(project), path))
    return Snippet(path, f'<a href="{page}"><img src="{picture}" height="{HEIGHT}" alt="{escape(site.name)}"></a>')
