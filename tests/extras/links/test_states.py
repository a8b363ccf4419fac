"""What is known of a link after looks, as a function of time; no test waits."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from directory.extras.links import states
from directory.extras.links.states import Days, Entry, Seen
from directory.models import LinkState

OK, MOVED, GONE, UNREACHABLE, UNKNOWN = map(Seen, LinkState)
NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
URL = "https://lamp.example/"
DAYS = Days()
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def looks(*seen: tuple[timedelta, Seen], days: Days = DAYS) -> list[Entry]:
    """What is known after each look, so long after the first."""
    known: list[Entry] = []
    for after, each in seen:
        known.append(states.after(known[-1] if known else None, URL, each, NOON + after, days, 7))
    return known


def at_their_times(seen: Seen, number: int, days: Days = DAYS) -> list[Entry]:
    """The same of looks that are made when they are due and see the same."""
    known, at = list[Entry](), NOON
    for _ in range(number):
        known.append(states.after(known[-1] if known else None, URL, seen, at, days, 7))
        at = states.instant(known[-1]["due"])
    return known


def test_a_look_is_known_with_its_time_and_since_when_it_is_so() -> None:
    first, second, third = looks(
        (timedelta(), OK), (DAY, OK), (2 * DAY, Seen(LinkState.MOVED, 200, "https://b.example/"))
    )
    assert [first[name] for name in states.SHOWN] == [
        "ok", None, "2026-11-03T12:00:00.000000Z", "2026-11-03T12:00:00.000000Z", None, False,
    ]  # fmt: skip
    assert (second["since"], second["checked_at"]) == (first["since"], "2026-11-04T12:00:00.000000Z")
    assert (third["since"], third["final_url"]) == ("2026-11-05T12:00:00.000000Z", "https://b.example/")
    assert states.dead_since(third) is states.dead_since(None) is None


def test_what_fails_is_looked_at_after_an_hour_then_daily_until_it_is_dead_and_then_in_turn() -> None:
    known = at_their_times(GONE, 6)
    times = [states.instant(each["checked_at"]) - NOON for each in known]
    assert times[:5] == [timedelta(), HOUR, HOUR + DAY, HOUR + 2 * DAY, HOUR + 3 * DAY]
    assert [each["dead"] for each in known] == [False, False, False, False, True, True]
    assert states.instant(known[4]["due"]) == states.next_turn(7, states.instant(known[4]["checked_at"]), 7)
    assert states.dead_since(known[5]) == NOON
    assert [each["dead"] for each in at_their_times(UNREACHABLE, 9)] == [False] * 8 + [True]


@pytest.mark.parametrize(
    ("days", "number"), [(Days(gone=0), 3), (Days(gone=1), 3), (Days(gone=2), 4), (Days(gone=10), 12)]
)
def test_it_takes_three_looks_and_the_days_of_the_setting(days: Days, number: int) -> None:
    assert [each["dead"] for each in at_their_times(GONE, number, days)] == [False] * (number - 1) + [True]


@pytest.mark.parametrize("other", [OK, MOVED, UNKNOWN])
def test_any_other_state_begins_anew_and_what_is_dead_answers_at_once(other: Seen) -> None:
    gone = [(timedelta(days=n), GONE) for n in (0, 1, 2)]
    again = looks(*gone, (3 * DAY, other), *((timedelta(days=n), GONE) for n in (4, 5, 6)))
    assert not any(each["dead"] for each in again)
    dead = looks(*gone, (3 * DAY, GONE), (4 * DAY, other))
    assert [each["dead"] for each in dead[-2:]] == [True, False]
    assert dead[-1]["failing"] is None


def test_both_failures_count_together_by_the_longer_time() -> None:
    mixed = looks(*((timedelta(days=n), (GONE, UNREACHABLE)[n % 2]) for n in range(8)))
    assert [each["dead"] for each in mixed] == [False] * 7 + [True]
    short = [(timedelta(days=n), (GONE, UNREACHABLE)[n % 2]) for n in range(4)]
    dead = [each["dead"] for each in looks(*short, days=Days(gone=3, unreachable=1))]
    assert dead == [False, False, False, True]


def test_a_long_pause_between_two_looks_counts_for_two_days_and_a_clock_that_goes_back_for_nothing() -> None:
    assert not looks((timedelta(), GONE), (HOUR, GONE), (30 * DAY, GONE))[-1]["dead"]
    assert looks((timedelta(), GONE), (HOUR, GONE), (30 * DAY, GONE), (60 * DAY, GONE))[-1]["dead"]
    assert looks((timedelta(), GONE), (-DAY, GONE))[-1]["failing"]["seconds"] == 0


def test_another_address_begins_anew() -> None:
    [*_, dead] = at_their_times(GONE, 5)
    other = states.after(dead, "https://other.example/", GONE, NOON, Days(), 7)
    assert (other["dead"], other["failing"]["looks"]) == (False, 1)


@pytest.mark.parametrize("number", [2, 1_000])
def test_the_turns_of_projects_are_spread_evenly_whichever_their_ids(number: int) -> None:
    turns = sorted(states.next_turn(each, NOON, 7) for each in range(5_000, 5_000 + number))
    assert all(NOON < each <= NOON + 7 * DAY for each in turns)
    gaps = [after - before for before, after in itertools.pairwise(turns)]
    assert max(gaps, default=DAY) <= 3 * 7 * DAY / number


def test_a_turn_comes_again_after_the_period_to_the_second() -> None:
    first: Any = states.next_turn(42, NOON, 7)
    assert states.next_turn(42, first, 7) - first == timedelta(days=7)
    assert states.next_turn(42, first - timedelta(seconds=1), 7) == first


def test_in_a_week_100_000_projects_are_looked_at_once_each_and_as_many_in_each_hour() -> None:
    hours = [0] * (7 * 24)
    for project in range(1, 100_001):
        turn = states.next_turn(project, NOON, 7)
        hours[(turn - NOON - timedelta(microseconds=1)) // HOUR] += 1
    assert sum(hours) == 100_000
    assert 590 <= min(hours) <= max(hours) <= 600
