"""Draws the demo's pictures and logos by rules: invented windows, with "Demo" in the title bar, and invented signs.

`python -m bench.drawings` writes all that demo.json names into `demo.zip` next to it, which `flask seed` reads.
"""

import math
import random
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from directory.services.data import demo
from directory.services.pictures.pictures import LARGE, as_logo

SIZE = demo.PICTURE  # pixels
SCALE = 2  # drawn so much larger, and then reduced, so that slanted edges are smooth
COLOURS = 32  # of a stored picture
BAR = 0.075  # of the shorter side: the height of the title bar
PAPER, INK, MUTED, LINE, FAINT, WHITE = "#fbfbfc", "#1f2933", "#7b8794", "#d9dee4", "#f0f2f5", "#ffffff"
NIGHT, NIGHT_SIDE, NIGHT_INK, NIGHT_MUTED = "#1e2430", "#171c26", "#d6deeb", "#66738a"
STRINGS, NAMES = "#a5d6a7", "#82b1ff"  # of a program
BUTTONS = ("#ed6a5e", "#f5bf4f", "#62c554")

Point = tuple[float, float]


class Window:
    """A window to draw in: places are shares of its width and of its height below the title bar, from 0 to 1."""

    def __init__(self, size: tuple[int, int], colour: str, *, dark: bool = False) -> None:
        from PIL import Image, ImageDraw  # imported late: most commands do not need it

        self.colour, (self.width, self.height) = colour, (side * SCALE for side in size)
        self.unit = min(self.width / SIZE[0], self.height / SIZE[1])  # a pixel of a picture of the usual size
        self.image = Image.new("RGB", (self.width, self.height), NIGHT if dark else PAPER)
        self.draw: Any = ImageDraw.Draw(self.image)
        self.top = round(BAR * min(self.width, self.height))
        self.draw.rectangle((0, 0, self.width, self.top), NIGHT_SIDE if dark else FAINT)
        for n, button in enumerate(BUTTONS):
            self.draw.circle(((n + 1) * self.top * 0.6, self.top / 2), self.top / 6, button)
        self.draw.text((self.width / 2, self.top / 2), "Demo", NIGHT_MUTED if dark else MUTED, self._font(12), "mm")

    def box(self, left: float, top: float, width: float, height: float, colour: str, radius: float = 0) -> None:
        """A rectangle, whose corners are round by so many pixels."""
        places = (*self._at(left, top), *self._at(left + width, top + height))
        self.draw.rounded_rectangle(places, radius * self.unit, colour)

    def line(self, points: Sequence[Point], colour: str, wide: float = 2.5) -> None:
        """A line through all of the points."""
        self.draw.line([self._at(*point) for point in points], colour, round(wide * self.unit), joint="curve")

    def area(self, points: Sequence[Point], colour: str) -> None:
        """What the points enclose."""
        self.draw.polygon([self._at(*point) for point in points], colour)

    def dot(self, at: Point, radius: float, colour: str) -> None:
        """A circle; its radius is a share of the width."""
        self.draw.circle(self._at(*at), radius * self.width, colour)

    def say(self, at: Point, text: str, colour: str = INK, size: float = 12, anchor: str = "lm") -> float:
        """A text. Returns where it ends."""
        font = self._font(size)
        self.draw.text(self._at(*at), text, colour, font, anchor)
        return float(at[0] + font.getlength(text) / self.width)

    def tint(self, share: float, other: str = WHITE) -> str:
        """The colour of the window, mixed with so much of another one."""
        return mixed(self.colour, other, share)

    def png(self) -> bytes:
        """The picture in PNG."""
        file = BytesIO()
        self.image.reduce(SCALE).save(file, "PNG", compress_level=1)
        return file.getvalue()

    def _at(self, x: float, y: float) -> Point:
        return x * self.width, self.top + y * (self.height - self.top)

    def _font(self, size: float) -> Any:
        from PIL import ImageFont

        return ImageFont.load_default(size * self.unit)


def mixed(colour: str, other: str, share: float) -> str:
    """A colour with a share of another one."""
    parts = (tuple(int(each[at : at + 2], 16) for at in (1, 3, 5)) for each in (colour, other))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*parts, strict=True))


def head(window: Window, title: str, button: str) -> None:
    """The head of a page: its title, a search, and a button."""
    window.say((0.04, 0.075), title, size=17)
    window.box(0.52, 0.035, 0.26, 0.08, WHITE, 6)
    window.say((0.54, 0.075), "Search", MUTED, 11)
    window.box(0.81, 0.035, 0.15, 0.08, window.colour, 6)
    window.say((0.885, 0.075), button, WHITE, 11, "mm")


def wave(rng: random.Random, points: int, low: float, high: float) -> list[float]:
    """Heights that go up and down, without jumps."""
    turns = [(rng.uniform(0.6, 2.2), rng.uniform(0, 6.3), weight) for weight in (1.0, 0.5, 0.3)]
    raw = [sum(w * math.sin(t * 6.3 * n / points + at) for t, at, w in turns) for n in range(points)]
    least, most = min(raw), max(raw)
    return [low + (high - low) * (each - least) / (most - least) for each in raw]


def bars(window: Window, rng: random.Random) -> None:
    """Columns of different heights."""
    window.say((0.06, 0.09), "Downloads", MUTED, 12)
    window.say((0.06, 0.17), f"{rng.randrange(12, 98)},{rng.randrange(100, 999)}", size=26)
    for n in range(4):
        y = 0.3 + n * 0.19
        window.box(0.1, y, 0.84, 0.003, LINE)
        window.say((0.085, y), f"{(3 - n) * 4}k", MUTED, 10, "rm")
    best = rng.randrange(2, 9)
    for n, height in enumerate(wave(rng, 10, 0.12, 0.52)):
        left = 0.115 + n * 0.083
        window.box(left, 0.87 - height, 0.058, height, window.colour if n == best else window.tint(0.55), 4)
        window.say((left + 0.029, 0.93), f"{n + 3:02}", MUTED, 10, "mm")


def curves(window: Window, rng: random.Random) -> None:
    """Three lines over a grid."""
    window.say((0.06, 0.085), "Requests per second", size=15)
    for n, (name, colour) in enumerate((("read", window.colour), ("write", "#3d4b5f"), ("cached", "#aab4c0"))):
        window.dot((0.62 + n * 0.125, 0.085), 0.008, colour)
        window.say((0.636 + n * 0.125, 0.085), name, MUTED, 11)
    for n in range(5):
        y = 0.2 + n * 0.165
        window.box(0.1, y, 0.85, 0.003, LINE)
        window.say((0.085, y), str((4 - n) * 250), MUTED, 10, "rm")
    for n in range(6):
        window.say((0.1 + n * 0.17, 0.93), f"{8 + 2 * n:02}:00", MUTED, 10, "mm")
    lines = [wave(rng, 61, level, level + 0.22) for level in (0.24, 0.47, 0.62)]
    first, *others = (
        [(0.1 + 0.85 * n / 60, y + rng.uniform(-0.008, 0.008)) for n, y in enumerate(each)] for each in lines
    )
    window.area([*first, (0.95, 0.86), (0.1, 0.86)], window.tint(0.9, PAPER))
    for points, colour in zip((*others, first), ("#3d4b5f", "#aab4c0", window.colour), strict=True):
        window.line(points, colour)


PEOPLE = ("Ada", "Bela", "Chika", "Dilan", "Emre", "Fay", "Gil", "Hana", "Ivo", "Jun", "Kofi", "Lena")
THINGS = ("lamp", "kettle", "ladder", "pencil", "bicycle", "mirror", "basket", "anchor", "button", "candle")
STATES = (("open", "#d9f2e1", "#1b7f43"), ("paid", "#dfeafd", "#1d56b3"), ("late", "#fde4df", "#b3391d"))


def table(window: Window, rng: random.Random) -> None:
    """Rows of five columns below a head."""
    head(window, "Orders", "New order")
    columns = ((0.04, "Number"), (0.19, "Customer"), (0.42, "Thing"), (0.63, "State"), (0.96, "Total"))
    window.box(0, 0.15, 1, 0.09, FAINT)
    for left, name in columns:
        window.say((left, 0.195), name, MUTED, 11, "rm" if left > 0.9 else "lm")
    chosen = rng.randrange(1, 5)
    for row in range(9):
        y = 0.285 + row * 0.09
        if row == chosen:
            window.box(0, y - 0.045, 1, 0.09, window.tint(0.88))
        window.box(0, y + 0.043, 1, 0.003, LINE)
        state, light, deep = rng.choice(STATES)
        window.say((0.04, y), f"#{2041 - row}", window.colour)
        window.say((0.19, y), f"{rng.choice(PEOPLE)} {rng.choice('ABCDEKLMRS')}.")
        window.say((0.42, y), f"{rng.randrange(2, 9)} {rng.choice(THINGS)}s", "#52606d")
        window.box(0.63, y - 0.029, 0.075, 0.058, light, 9)
        window.say((0.6675, y - 0.002), state, deep, 10, "mm")
        window.say((0.96, y), f"{rng.randrange(4, 900)}.{rng.choice(('00', '50', '90'))}", anchor="rm")


FILES = ("src", "  app.py", "  data.py", "  views.py", "tests", "  test_app.py", "notes.md", "setup.cfg")
CODE = (
    "from |data| import |load, save", "", "# the lamps that are on", "def |lit|(lamps, hour=|20|):",
    "    for |lamp| in |lamps:", "        if |lamp.off| or |hour < |6|:", "            continue",
    '        yield |lamp.name, |"on"', "", "class |House|:", '    street = |"Long Lane"',
    "    def |count|(self):", "        return |len(self.lamps)", "", "async def |main|(path):",
    "    rooms = await |load(path)", "    for |room| in |rooms:", '        print(|room, |"ready"|)',
    "    return |rooms", "", "if |__name__| == |\"__main__\":", "    run(|main|(|\"house.db\"|))",
)  # fmt: skip
WORDS = {"from", "import", "def", "for", "in", "if", "or", "continue", "yield", "class", "return", "async", "await"}


def text(window: Window, rng: random.Random) -> None:
    """The lines of a program, and a column of files."""
    window.box(0, 0, 0.22, 1, NIGHT_SIDE)
    accent, begin = window.tint(0.55), rng.randrange(len(CODE))
    chosen = rng.randrange(1, 4)
    for n, name in enumerate(FILES):
        y = 0.07 + n * 0.075
        if n == chosen:
            window.box(0.01, y - 0.034, 0.2, 0.068, mixed(window.colour, NIGHT, 0.45), 5)
        window.say((0.03 + 0.02 * name.count("  "), y), name.strip(), NIGHT_INK if n == chosen else NIGHT_MUTED, 11)
    for n in range(17):
        y, line = 0.055 + n * 0.056, CODE[(begin + n) % len(CODE)]
        window.say((0.265, y), str(n + 1), mixed(NIGHT_MUTED, NIGHT, 0.4), 11, "rm")
        left = 0.29 + 0.024 * (len(line) - len(line.lstrip())) / 4 * 1.4
        for part in line.strip().split("|"):
            word = part.strip()
            is_known = bool({*word.replace("(", " ").split()} & WORDS) and not word.startswith("#")
            colour = NIGHT_MUTED if word.startswith("#") else STRINGS if word.startswith('"') else NIGHT_INK
            colour = accent if is_known else NAMES if word.isidentifier() and len(word) > 3 else colour
            left = window.say((left, y), part, colour, 12.5)
    window.box(0.22, 0.955, 0.78, 0.045, mixed(window.colour, NIGHT, 0.2))
    window.say((0.24, 0.977), "main", WHITE, 10)
    window.say((0.98, 0.977), f"Ln {rng.randrange(3, 40)}, Col {rng.randrange(1, 60)}", WHITE, 10, "rm")


def graph(window: Window, rng: random.Random) -> None:
    """Boxes with lines between them."""
    names = rng.sample(("web", "api", "auth", "queue", "mail", "cache", "search", "store", "files", "jobs"), 7)
    levels = (0.5,), (0.24, 0.76), (0.16, 0.5, 0.84), (0.5,)
    places = [(0.13 + n * 0.25, y + rng.uniform(-0.04, 0.04)) for n, level in enumerate(levels) for y in level]
    for column in range(1, 24):
        for row in range(1, 14):
            window.dot((column / 24, row / 14), 0.0016, LINE)
    for begin, end in ((0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (2, 5), (3, 6), (4, 6), (5, 6)):
        (x, y), (to_x, to_y) = places[begin], places[end]
        steps = [n / 20 for n in range(21)]
        curve = [(x + (to_x - x) * s, y + (to_y - y) * (3 * s * s - 2 * s**3)) for s in steps]
        window.line(curve, window.tint(0.35) if begin in (0, 2) else "#b6c0cb", 2)
    for n, ((x, y), name) in enumerate(zip(places, names, strict=True)):
        is_main = n in (0, 2, 4)
        window.box(x - 0.086, y - 0.066, 0.172, 0.132, LINE, 9)
        window.box(x - 0.084, y - 0.063, 0.168, 0.126, window.colour if is_main else WHITE, 8)
        window.say((x - 0.06, y - 0.018), name, WHITE if is_main else INK, 13)
        about = f"{rng.randrange(2, 90)} ms"
        window.say((x - 0.06, y + 0.03), about, window.tint(0.7) if is_main else MUTED, 10)
        window.dot((x + 0.06, y - 0.018), 0.007, "#58c27d" if n % 5 else "#f5bf4f")


def shapes(window: Window, rng: random.Random) -> None:
    """A drawing of hills and a sun, a bar of tools, and a list of layers."""
    window.box(0, 0, 0.08, 1, NIGHT_SIDE)
    for n in range(8):
        chosen = n == 2
        window.box(0.017, 0.04 + n * 0.1, 0.046, 0.074, window.colour if chosen else NIGHT, 6)
        window.dot((0.04, 0.077 + n * 0.1), 0.008, WHITE if chosen else NIGHT_MUTED)
    window.box(0.08, 0, 0.7, 1, "#2b3342")
    left, right, top, end = 0.12, 0.74, 0.08, 0.92
    window.box(left, top, right - left, end - top, window.tint(0.82))
    sun = rng.uniform(0.3, 0.6)
    for radius, share in ((0.1, 0.66), (0.075, 0.45), (0.05, 0.0)):
        window.dot((sun, 0.36), radius, mixed("#f6c453", window.tint(0.82), share))
    for level, share in ((0.5, 0.55), (0.62, 0.3), (0.76, 0.0)):
        heights = wave(rng, 41, level - 0.07, level + 0.07)
        points = [(left + (right - left) * n / 40, y) for n, y in enumerate(heights)]
        window.area(
            [*points, (right, end), (left, end)], window.tint(share) if share else mixed(window.colour, INK, 0.35)
        )
    window.box(0.78, 0, 0.22, 1, NIGHT_SIDE)
    window.say((0.8, 0.06), "Layers", NIGHT_INK, 12)
    for n, name in enumerate(("Hills, near", "Hills, far", "Sun", "Sky")):
        y = 0.15 + n * 0.1
        if n == 1:
            window.box(0.79, y - 0.045, 0.2, 0.09, mixed(window.colour, NIGHT, 0.4), 5)
        window.box(0.8, y - 0.03, 0.035, 0.06, window.tint(0.2 + n * 0.2), 3)
        window.say((0.85, y), name, NIGHT_INK if n == 1 else NIGHT_MUTED, 10.5)
    for n in range(10):
        hue = mixed(window.colour, ("#f6c453", INK)[n % 2], n / 12)
        window.box(0.8 + n % 5 * 0.037, 0.65 + n // 5 * 0.07, 0.03, 0.05, hue, 4)


def tiles(window: Window, rng: random.Random) -> None:
    """Six tiles, each with a small chart."""
    window.box(0, 0, 1, 1, FAINT)
    names = ("Visits", "Builds", "Errors", "Disk", "Jobs", "Latency")
    for n, name in enumerate(names):
        left, top = 0.03 + n % 3 * 0.3185, 0.05 + n // 3 * 0.465
        window.box(left, top, 0.303, 0.435, LINE, 9)
        window.box(left + 0.0015, top + 0.0025, 0.3, 0.43, WHITE, 8)
        window.say((left + 0.025, top + 0.06), name, MUTED, 11)
        unit = (",0", "", "", " %", "", " ms")[n]
        number = f"{rng.randrange(10, 99)}{unit.replace(',0', f',{rng.randrange(100, 999)}')}"
        window.say((left + 0.025, top + 0.135), number, size=21)
        window.say((left + 0.28, top + 0.06), f"+{rng.randrange(1, 30)} %", "#1b7f43", 10, "rm")
        heights = wave(rng, 13, 0.05, 0.19)
        if n % 2:
            for at, height in enumerate(heights[:10]):
                colour = window.colour if at > 6 else window.tint(0.6)
                window.box(left + 0.025 + at * 0.0257, top + 0.4 - height, 0.019, height, colour, 2)
        else:
            points = [(left + 0.025 + at * 0.0212, top + 0.4 - height) for at, height in enumerate(heights)]
            window.area([*points, (left + 0.28, top + 0.4), (left + 0.025, top + 0.4)], window.tint(0.85))
            window.line(points, window.colour)


def packed(png: bytes) -> bytes:
    """A picture as WebP without loss, of its COLOURS: half as long as with losses, and letters stay sharp."""
    from PIL import Image

    file = BytesIO()
    image = Image.open(BytesIO(png)).quantize(COLOURS).convert("RGB")
    image.save(file, "WEBP", lossless=True, quality=100, method=6)
    return file.getvalue()


KINDS: dict[str, Callable[[Window, random.Random], None]] = {
    kind.__name__: kind for kind in (bars, curves, table, text, graph, shapes, tiles)
}
DARK = {"text", "shapes"}


def drawn(kind: str, colour: str, size: tuple[int, int] = SIZE) -> bytes:
    """A picture of one of KINDS in PNG, the same for the same arguments. `colour` is #rrggbb, `size` in pixels."""
    window = Window(size, colour, dark=kind in DARK)
    KINDS[kind](window, random.Random(f"{kind} {colour}"))
    return window.png()


Sign = Callable[[Any, str, str], None]
MIDDLE = LARGE  # of the square that a sign is drawn in, which is reduced by SCALE


def _around(radius: float, corners: int, turn: float = 0) -> list[Point]:
    """The corners of a regular polygon; `turn` is a share of the circle."""
    angles = ((n / corners + turn) * 2 * math.pi for n in range(corners))
    return [(MIDDLE + radius * math.sin(at), MIDDLE - radius * math.cos(at)) for at in angles]


def _ring(draw: Any, light: str, soft: str) -> None:
    draw.circle((MIDDLE, MIDDLE), 150, None, light, 40)
    draw.circle((MIDDLE, MIDDLE), 52, soft)


def _layers(draw: Any, light: str, soft: str) -> None:
    for n, colour in enumerate((soft, soft, light)):
        y = MIDDLE + 74 - n * 74
        draw.polygon([(MIDDLE, y - 84), (MIDDLE + 160, y), (MIDDLE, y + 84), (MIDDLE - 160, y)], colour)


def _cell(draw: Any, light: str, soft: str) -> None:
    draw.line([*_around(150, 6), *_around(150, 6)[:2]], light, 38, joint="curve")
    draw.polygon(_around(62, 6), soft)


def _pair(draw: Any, light: str, soft: str) -> None:
    draw.circle((MIDDLE + 62, MIDDLE), 112, soft)
    draw.circle((MIDDLE - 62, MIDDLE), 112, light)


def _steps(draw: Any, light: str, soft: str) -> None:
    for n, (height, colour) in enumerate(((130, soft), (220, soft), (310, light))):
        left = MIDDLE - 165 + n * 118
        draw.rounded_rectangle((left, MIDDLE + 155 - height, left + 94, MIDDLE + 155), 24, colour)


def _arrows(draw: Any, light: str, soft: str) -> None:
    for left, colour in ((MIDDLE - 130, soft), (MIDDLE + 10, light)):
        draw.line([(left, MIDDLE - 130), (left + 130, MIDDLE), (left, MIDDLE + 130)], colour, 56, joint="curve")


def _peaks(draw: Any, light: str, soft: str) -> None:
    draw.polygon([(MIDDLE + 70, MIDDLE - 90), (MIDDLE + 215, MIDDLE + 140), (MIDDLE - 60, MIDDLE + 140)], soft)
    draw.polygon([(MIDDLE - 50, MIDDLE - 150), (MIDDLE + 120, MIDDLE + 140), (MIDDLE - 215, MIDDLE + 140)], light)


def _four(draw: Any, light: str, soft: str) -> None:
    for n, colour in enumerate((light, soft, soft, light)):
        left, top = MIDDLE - 150 + n % 2 * 160, MIDDLE - 150 + n // 2 * 160
        draw.rounded_rectangle((left, top, left + 140, top + 140), 70 if colour == soft else 34, colour)


def _leaf(draw: Any, light: str, soft: str) -> None:
    draw.pieslice((MIDDLE - 160, MIDDLE - 160, MIDDLE + 160, MIDDLE + 160), 90, 360, light)
    draw.circle((MIDDLE + 82, MIDDLE + 82), 66, soft)


def _star(draw: Any, light: str, soft: str) -> None:
    inner, outer = _around(66, 4, 1 / 8), _around(190, 4)
    draw.polygon([point for pair in zip(outer, inner, strict=True) for point in pair], light)
    draw.circle((MIDDLE + 128, MIDDLE - 128), 42, soft)


SIGNS: tuple[Sign, ...] = (_ring, _layers, _cell, _pair, _steps, _arrows, _peaks, _four, _leaf, _star)


def made_logo(name: str) -> tuple[bytes, bytes]:
    """A sign that shows no real logo, in a colour of the name's own, the same for the same name, as it is stored."""
    from PIL import Image, ImageDraw

    rng = random.Random(name)
    hue, side = rng.randrange(360), LARGE * SCALE
    is_dark = rng.random() < 0.75
    paper = f"hsl({hue}, {rng.randrange(45, 75)}%, {rng.randrange(32, 46)}%)" if is_dark else f"hsl({hue}, 60%, 92%)"
    light = "#ffffff" if is_dark else f"hsl({hue}, 60%, 36%)"
    soft = f"hsl({(hue + rng.choice((0, 30, 180))) % 360}, 70%, {74 if is_dark else 62}%)"
    image = Image.new("RGB", (side, side), paper)
    rng.choice(SIGNS)(ImageDraw.Draw(image), light, soft)
    file = BytesIO()
    image.reduce(SCALE).save(file, "PNG", compress_level=1)
    return as_logo(file.getvalue())


def write() -> None:
    """Draw everything, and write it in the order of its names, without times: the same bytes for the same drawings."""
    made: dict[str, bytes] = {}
    for project in demo.data("demo")["projects"]:
        made |= zip(demo.logo_names(project["title"]), made_logo(project["title"]), strict=True)
        for each in project.get("pictures", ()):
            made[demo.picture_name(each)] = packed(drawn(each["drawing"], each["colour"]))
    with ZipFile(demo.DRAWN, "w", ZIP_STORED) as file:
        for name in sorted(made):
            file.writestr(ZipInfo(name), made[name])


if __name__ == "__main__":
    write()
