"""The periods of publication: which texts are one, what days they have, and what they are called."""

from datetime import UTC, date, datetime, timedelta

import pytest

from directory.services.catalog import periods
from tests.support.search_reference import spelled

NOT_ONE = (
    "", " 2026", "2026 ", "26", "0000", "20266", "2026-", "2026-0", "2026-00", "2026-13", "2026-1", "2026-11-",
    "2026-11-31", "2026-02-29", "2026-11-00", "2026-W", "2026-W00", "2026-W54", "2025-W53", "2026-w48", "2026-W8",
    "2026W48", "2026-W48-1", "20261126", "2026-11-26T00:00:00Z", "２０２６", "2026-11-26\n", "9999-W53", "today",
)  # fmt: skip


@pytest.mark.parametrize("text", NOT_ONE)
def test_other_texts_are_no_period(text: str) -> None:
    with pytest.raises(ValueError, match="Must be a day"):
        periods.parse(text)


@pytest.mark.parametrize(
    ("text", "first", "last", "name"),
    [
        ("2026-11-26", date(2026, 11, 26), date(2026, 11, 26), "26 November 2026"),
        ("2026-W48", date(2026, 11, 23), date(2026, 11, 29), "Week 48 of 2026"),
        ("2026-W01", date(2025, 12, 29), date(2026, 1, 4), "Week 1 of 2026"),
        ("2026-W53", date(2026, 12, 28), date(2027, 1, 3), "Week 53 of 2026"),
        ("2026-11", date(2026, 11, 1), date(2026, 11, 30), "November 2026"),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29), "February 2024"),
        ("2026", date(2026, 1, 1), date(2026, 12, 31), "2026"),
        ("0001-W01", date(1, 1, 1), date(1, 1, 7), "Week 1 of 1"),
        ("9999-W52", date(9999, 12, 27), date(9999, 12, 31), "Week 52 of 9999"),
    ],
)
def test_a_period_has_its_days_and_its_name(text: str, first: date, last: date, name: str) -> None:
    period = periods.parse(text)
    assert (period.first, period.last, period.name, str(period)) == (first, last, name, text)
    assert period.instants[0] == datetime(first.year, first.month, first.day, tzinfo=UTC)
    assert period.instants[1] == datetime(last.year, last.month, last.day, 23, 59, 59, 999_999, UTC)


def test_each_day_of_ten_years_is_in_the_four_periods_that_strftime_names() -> None:
    day = date(2019, 12, 25)
    while day.year < 2030:
        of_day = [periods.containing(day, kind) for kind in (periods.DAY, periods.WEEK, periods.MONTH, periods.YEAR)]
        assert {str(each) for each in of_day} == spelled(day)
        assert all(periods.parse(str(each)) == each for each in of_day)
        assert all(each.first <= day <= each.last for each in of_day)
        day += timedelta(days=1)
