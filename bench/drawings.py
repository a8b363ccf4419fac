"""Draws the demo's pictures and logos by rules: invented windows, with "Demo" in the title bar, and invented signs.

`python -m bench.drawings` writes all that demo.json names into `demo.zip` next to it, which `flask seed` reads.
"""

import random
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from directory.services.data import demo
from directory.services.pictures.pictures import LARGE, as_logo, as_picture

SIZE = demo.PICTURE  # pixels
SCALE = 2  # drawn so much larger, and then reduced, so that slanted edges are smooth
BAR = 0.1  # of the shorter side: the height of the title bar
PAPER, INK, LINE, FAINT, BUTTONS = "#f4f2ec", "#2b2f36", "#c9c6bd", "#e2dfd6", ("#ed6a5e", "#f5bf4f", "#62c554")

Point = tuple[float, float]


class Window:
    """A window to draw in: places are shares of its width and of its height below the title bar, from 0 to 1."""

    def __init__(self, size: tuple[int, int], colour: str) -> None:
        from PIL import Image, ImageDraw, ImageFont  # imported late: most commands do not need it

        self.colour, (self.width, self.height) = colour, (side * SCALE for side in size)
        self.image = Image.new("RGB", (self.width, self.height), PAPER)
        self.draw: Any = ImageDraw.Draw(self.image)
        self.top = round(BAR * min(self.width, self.height))
        self.draw.rectangle((0, 0, self.width, self.top), INK)
        for n, button in enumerate(BUTTONS):
            self.draw.circle(((n + 1) * self.top * 0.55, self.top / 2), self.top / 6, button)
        font = ImageFont.load_default(self.top / 2)
        self.draw.text((self.width - self.top / 2, self.top / 2), "Demo", LINE, font, anchor="rm")

    def box(self, left: float, top: float, width: float, height: float, colour: str) -> None:
        """A rectangle."""
        self.draw.rectangle((*self._at(left, top), *self._at(left + width, top + height)), colour)

    def line(self, points: Sequence[Point], colour: str) -> None:
        """A line through all of the points."""
        self.draw.line([self._at(*point) for point in points], colour, 5 * SCALE, joint="curve")

    def dot(self, at: Point, radius: float, colour: str) -> None:
        """A circle; its radius is a share of the width."""
        self.draw.circle(self._at(*at), radius * self.width, colour)

    def png(self) -> bytes:
        """The picture in PNG."""
        file = BytesIO()
        self.image.reduce(SCALE).save(file, "PNG", compress_level=1)
        return file.getvalue()

    def _at(self, x: float, y: float) -> Point:
        return x * self.width, self.top + y * (self.height - self.top)


def bars(window: Window, rng: random.Random) -> None:
    """Columns of different heights."""
    for n in range(8):
        height = rng.uniform(0.15, 0.8)
        window.box(0.07 + n * 0.11, 0.92 - height, 0.08, height, window.colour)


def curves(window: Window, rng: random.Random) -> None:
    """Three lines over a grid."""
    for n in range(5):
        window.box(0.06, 0.1 + n * 0.2, 0.88, 0.004, LINE)
    for level, colour in ((0.75, LINE), (0.5, INK), (0.3, window.colour)):
        window.line([(0.06 + n * 0.088, level + rng.uniform(-0.13, 0.13)) for n in range(11)], colour)


def table(window: Window, rng: random.Random) -> None:
    """Rows of four columns below a head."""
    window.box(0, 0, 1, 0.12, window.colour)
    for row in range(1, 8):
        window.box(0, row * 0.125 + 0.117, 1, 0.003, LINE)
        for column in range(4):
            window.box(0.05 + column * 0.24, row * 0.125 + 0.035, rng.uniform(0.06, 0.19), 0.04, LINE)


def text(window: Window, rng: random.Random) -> None:
    """Lines of words, indented as those of a program, and a column of files."""
    window.box(0, 0, 0.24, 1, FAINT)
    for n in range(11):
        top, left = 0.06 + n * 0.083, 0.3 + rng.choice((0, 0, 0.05, 0.1))
        window.box(0.04, top, rng.uniform(0.08, 0.16), 0.03, LINE)
        for colour in rng.sample((window.colour, INK, LINE), 3):
            width = rng.uniform(0.04, 0.17)
            window.box(left, top, width, 0.035, colour)
            left += width + 0.02


def graph(window: Window, rng: random.Random) -> None:
    """Dots with lines between them."""
    dots = [(0.1 + n * 0.16, rng.uniform(0.15, 0.85)) for n in range(6)]
    for n, dot in enumerate(dots):
        for other in dots[n + 1 : n + 3]:
            window.line((dot, other), LINE)
    for n, dot in enumerate(dots):
        window.dot(dot, rng.uniform(0.025, 0.05), INK if n % 3 else window.colour)


def shapes(window: Window, rng: random.Random) -> None:
    """A drawing of circles and boxes, and a bar of tools."""
    window.box(0, 0, 0.09, 1, FAINT)
    for n in range(7):
        window.box(0.025, 0.06 + n * 0.12, 0.04, 0.06, LINE)
    window.box(0.2 + rng.uniform(0, 0.1), 0.45, 0.4, 0.42, LINE)
    window.dot((rng.uniform(0.4, 0.5), 0.4), 0.15, window.colour)
    window.dot((rng.uniform(0.65, 0.75), 0.55), 0.11, INK)


def tiles(window: Window, rng: random.Random) -> None:
    """Six tiles, each with a small chart."""
    for n in range(6):
        left, top = 0.04 + n % 3 * 0.315, 0.06 + n // 3 * 0.46
        window.box(left, top, 0.29, 0.42, "#ffffff")
        window.box(left + 0.03, top + 0.05, rng.uniform(0.08, 0.2), 0.03, LINE)
        for bar in range(6):
            height = rng.uniform(0.05, 0.24)
            window.box(left + 0.03 + bar * 0.041, top + 0.38 - height, 0.03, height, window.colour)


KINDS: dict[str, Callable[[Window, random.Random], None]] = {
    kind.__name__: kind for kind in (bars, curves, table, text, graph, shapes, tiles)
}


def drawn(kind: str, colour: str, size: tuple[int, int] = SIZE) -> bytes:
    """A picture of one of KINDS in PNG, the same for the same arguments. `colour` is #rrggbb, `size` in pixels."""
    window = Window(size, colour)
    KINDS[kind](window, random.Random(f"{kind} {colour}"))
    return window.png()


def made_logo(name: str) -> tuple[bytes, bytes]:
    """A sign that shows no real logo, in a colour of the name's own, the same for the same name, as it is stored."""
    from PIL import Image, ImageDraw

    rng = random.Random(name)
    hue, side = rng.randrange(360), LARGE
    image = Image.new("RGB", (side, side), f"hsl({hue}, 55%, 40%)")
    draw: Any = ImageDraw.Draw(image)
    light, middle = f"hsl({hue}, 60%, 92%)", f"hsl({(hue + 40) % 360}, 65%, 62%)"
    turn, corners = rng.randrange(360), rng.choice((3, 4, 5, 6, 8))
    draw.regular_polygon((side / 2, side / 2, side * 0.38), corners, turn, middle)
    draw.circle((side * rng.uniform(0.35, 0.65), side * rng.uniform(0.35, 0.65)), side * rng.uniform(0.14, 0.24), light)
    file = BytesIO()
    image.save(file, "PNG", compress_level=1)
    return as_logo(file.getvalue())


def write() -> None:
    """Draw everything, and write it in the order of its names, without times: the same bytes for the same drawings."""
    made = {}
    for project in demo.data("demo")["projects"]:
        made |= zip(demo.logo_names(project["title"]), made_logo(project["title"]), strict=True)
        for each in project.get("pictures", ()):
            made[demo.picture_name(each)] = as_picture(drawn(each["drawing"], each["colour"])).files[0]
    with ZipFile(demo.DRAWN, "w", ZIP_STORED) as file:
        for name in sorted(made):
            file.writestr(ZipInfo(name), made[name])


if __name__ == "__main__":
    write()
