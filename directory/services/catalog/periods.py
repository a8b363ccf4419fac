"""Periods of publication: a day, an ISO week, a month or a year in UTC, as `published` and the pages of the best say.

`2026-11-26`, `2026-W48`, `2026-11` and `2026` are periods. Each has one text, so texts can be compared.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from directory.language.messages import _

KINDS = DAY, WEEK, MONTH, YEAR = "day", "week", "month", "year"
MONTHS = (
    _("January"), _("February"), _("March"), _("April"), _("May"), _("June"), _("July"), _("August"), _("September"),
    _("October"), _("November"), _("December"),
)  # fmt: skip
FORM = re.compile(r"(\d{4})(?:-W(\d\d)|-(\d\d)(?:-(\d\d))?)?", re.ASCII)
LONGEST = len("2026-11-26")
SAYS = _("Must be a day (2026-11-26), an ISO week (2026-W48), a month (2026-11) or a year (2026), in UTC.")


@dataclass(frozen=True, slots=True)
class Period:
    """The days of a period, from `first` to `last`."""

    kind: str
    first: date
    last: date

    def __str__(self) -> str:
        """The period as addresses have it."""
        if self.kind == WEEK:
            year, week, _ = self.first.isocalendar()
            return f"{year:04}-W{week:02}"
        return self.first.isoformat()[: {DAY: 10, MONTH: 7, YEAR: 4}[self.kind]]

    @property
    def name(self) -> str:
        """The period in words, as "Week 48 of 2026"."""
        if self.kind == WEEK:
            year, week, _weekday = self.first.isocalendar()
            return _("Week {week} of {year}", week=week, year=year)
        month, year = MONTHS[self.first.month - 1], self.first.year
        if self.kind == DAY:
            return _("{day} {month} {year}", day=self.first.day, month=month, year=year)
        return _("{month} {year}", month=month, year=year) if self.kind == MONTH else str(year)

    @property
    def days(self) -> str:
        """The first and the last day of a week, as "23–29 November"."""
        first, last = self.first, self.last
        month, other = MONTHS[first.month - 1], MONTHS[last.month - 1]
        if first.month == last.month:
            return _("{first}–{last} {month}", first=first.day, last=last.day, month=month)
        return _("{first} {month} – {last} {other}", first=first.day, month=month, last=last.day, other=other)

    @property
    def instants(self) -> tuple[datetime, datetime]:
        """The first and the last instant of the period, both part of it."""
        return instants(self.first, self.last)


def parse(text: str) -> Period:
    """The period of a text. Raises ValueError with the reason."""
    match = FORM.fullmatch(text)
    if match is None:
        raise ValueError(SAYS)
    year, week, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        if match[2]:
            return containing(date.fromisocalendar(year, week, 1), WEEK)
        first = date(year, month if match[3] else 1, day if match[4] else 1)
    except ValueError:
        raise ValueError(SAYS) from None
    return containing(first, DAY if match[4] else MONTH if match[3] else YEAR)


def containing(day: date, kind: str) -> Period:
    """The period of a kind in which a day is."""
    if kind == WEEK:
        first = day - timedelta(days=day.weekday())
        return Period(WEEK, first, date.fromordinal(min(first.toordinal() + 6, date.max.toordinal())))
    if kind == MONTH:
        return Period(MONTH, day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))
    if kind == YEAR:
        return Period(YEAR, date(day.year, 1, 1), date(day.year, 12, 31))
    return Period(DAY, day, day)


def instants(first: date, last: date) -> tuple[datetime, datetime]:
    """The first and the last instant of whole days in UTC."""
    return datetime.combine(first, time.min, UTC), datetime.combine(last, time.max, UTC)


def ending(last: date, days: timedelta) -> tuple[datetime, datetime]:
    """The first and the last instant of so many whole days in UTC, the last of which is `last`."""
    return instants(last - days + timedelta(days=1), last)
