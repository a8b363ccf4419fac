"""The accent colour of the site, and the colours that follow from it in the light and the dark look."""

import re

CONTRAST = 4.5  # WCAG 2.2, level AA, for text
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
# The backgrounds of text (directory/web/src/styles/base.css) against which a colour has the least contrast.
LIGHT, DARK, DARK_SHEET = (241, 239, 234), (34, 39, 37), (26, 30, 29)
Colour = tuple[int, int, int]


def accent(value: str) -> dict[str, str]:
    """The colours of links and buttons by an accent colour; empty without one.

    Buttons have white text in the light look, so white on the colour needs the contrast. On backgrounds that are not
    white, and in the dark look, a darker or lighter shade is used where the colour itself has too little contrast.
    """
    if not value:
        return {}
    if not re.fullmatch("#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", value):
        raise ValueError(f"{value!r} is not a colour such as #0b6b62")
    given = _parsed(value)
    if (found := contrast(WHITE, given)) < CONTRAST:
        darker = _hex(_until(given, BLACK, (WHITE,)))
        why = f"white text on {value} has a contrast of {found:.1f}, and {CONTRAST} is needed: {darker} would do"
        raise ValueError(why)
    soft, dark_soft = _mixed(given, WHITE, 0.88), _mixed(given, DARK_SHEET, 0.78)
    light, dark = _until(given, BLACK, (LIGHT, soft)), _until(given, WHITE, (DARK, dark_soft))
    shades = {"light": light, "light-soft": soft, "dark": dark, "dark-soft": dark_soft}
    return {name: _hex(shade) for name, shade in shades.items()}


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _until(colour: Colour, towards: Colour, backgrounds: tuple[Colour, ...]) -> Colour:
    """The colour, mixed with black or white as little as the contrast with all backgrounds takes."""
    shades = (_mixed(colour, towards, step / 100) for step in range(101))
    return next(shade for shade in shades if all(contrast(shade, each) >= CONTRAST for each in backgrounds))


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _parsed(value: str) -> Colour:
    digits = value[1:] if len(value) == 7 else "".join(digit * 2 for digit in value[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
