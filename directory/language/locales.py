"""How a language writes days and numbers, and in which direction, by CLDR.

locales.json has the facts; `.ci/messages.py` makes it with Babel, which the service does not need.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("locales.json")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Locale:
    """The facts of a language. `name` is its own name of itself, `direction` "ltr" or "rtl".

    `pattern` is a format of a day, with the fields day, month (its name in `months`), number (that of the month) and
    year. Thousands are separated by `group`, from so many digits before it on as `least`; `sizes` are the digits of the
    last group, and of the others. `between` stands between two sentences.
    """

    name: str = "English"
    direction: str = "ltr"
    pattern: str = "{month} {day}, {year}"
    months: tuple[str, ...] = MONTHS
    group: str = ","
    least: int = 1
    sizes: tuple[int, int] = (3, 3)
    between: str = " "

    def day(self, at: date) -> str:
        """A day, as "Nov 20, 2026"."""
        return self.pattern.format(day=at.day, month=self.months[at.month - 1], number=at.month, year=at.year)

    def number(self, number: int) -> str:
        """A whole number, as "12,345"."""
        digits, (last, others) = str(abs(number)), self.sizes
        if len(digits) < last + self.least:
            return str(number)
        head, groups = digits[:-last], [digits[-last:]]
        while head:
            head, groups = head[:-others], [head[-others:], *groups]
        return ("-" if number < 0 else "") + self.group.join(groups)


ENGLISH = Locale()


def from_longest(tag: str) -> Iterator[str]:
    """A tag and, one after the other, what is left of it without its last part: RFC 4647, section 3.4."""
    parts = tag.split("-")
    return ("-".join(parts[:length]) for length in range(len(parts), 0, -1))


@cache
def locale_of(tag: str) -> Locale:
    """The facts of a language, else those of the language without its region, else English ones under its tag."""
    if tag == "en":
        return ENGLISH
    if known := next(filter(None, map(_known().get, from_longest(tag))), None):
        return Locale(**{**known, "months": tuple(known["months"]), "sizes": tuple(known["sizes"])})
    return ENGLISH if tag.startswith("en-") else Locale(name=tag)


@cache
def _known() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
