"""What is known of a link after a look: a pure function of what was known before, what was seen, and when.

An entry is stored as JSON, with times as answers write them.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, or_

from directory.models import LinkState
from directory.services.clock import timestamp

Entry = dict[str, Any]
SHOWN = ("state", "status", "since", "checked_at", "final_url", "dead")
FAILED = (LinkState.GONE, LinkState.UNREACHABLE)
LEAST = 3  # looks in a row before a link is dead
SOON, DAILY = timedelta(hours=1), timedelta(days=1)  # the time to the second look after one that failed, and to others
LONGEST_GAP = timedelta(days=2)  # between two looks counts for no more
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # the due time of what is looked at first, before all regular looks
FORGE = "forge"  # the name of what a forge says of the repository
_GOLDEN = 0.6180339887498949  # its multiples are spread evenly over the unit interval, however many there are


@dataclass(frozen=True, slots=True)
class Days:
    """The settings: the days between two looks at what works, and those after which a link is dead."""

    between: int = 7
    gone: int = 3
    unreachable: int = 7


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look saw of a link; the status is the last answer's."""

    state: LinkState
    status: int | None = None
    final_url: str | None = None


@dataclass(slots=True)
class Looked:
    """What was seen now, by link; and the seconds after which those may be looked at whose host was busy."""

    entries: dict[str, Entry] = field(default_factory=dict)
    busy: float | None = None


def after(before: Entry | None, url: str, seen: Seen, at: datetime, days: Days, project_id: int) -> Entry:
    """What is known of the link of a project after a look. What was known of another address is nothing."""
    if before is not None and before["url"] != url:
        before = None
    is_new = before is None or before["state"] != seen.state
    failing = _failing(before, seen, at)
    dead = failing is not None and (failing["dead"] or _is_dead(failing, days))
    if failing is None or dead:
        due = next_turn(project_id, at, days.between)
    else:
        due = at + (SOON if failing["looks"] == 1 else DAILY)
    return {
        "url": url, "state": seen.state.value, "status": seen.status,
        "since": timestamp(at) if is_new or before is None else before["since"], "checked_at": timestamp(at),
        "final_url": seen.final_url, "dead": dead, "due": timestamp(due),
        "failing": None if failing is None else {**failing, "dead": dead},
    }  # fmt: skip


def _failing(before: Entry | None, seen: Seen, at: datetime) -> dict[str, Any] | None:
    """The looks in a row that failed, with the last one: since when, how many, their time, and what they saw."""
    if seen.state not in FAILED:
        return None
    known = before["failing"] if before is not None else None
    if known is None or before is None:
        return {"from": timestamp(at), "looks": 1, "seconds": 0.0, "states": [seen.state.value], "dead": False}
    gap = min(max(at - instant(before["checked_at"]), timedelta()), LONGEST_GAP)
    states = sorted({*known["states"], seen.state.value})
    return {**known, "looks": known["looks"] + 1, "seconds": known["seconds"] + gap.total_seconds(), "states": states}


def _is_dead(failing: dict[str, Any], days: Days) -> bool:
    """Whether a link failed often enough for long enough: what it takes longest for any of the states seen."""
    needed = max({"gone": days.gone, "unreachable": days.unreachable}[state] for state in failing["states"])
    return bool(failing["looks"] >= LEAST and failing["seconds"] >= timedelta(days=needed).total_seconds())


def next_turn(project_id: int, at: datetime, days: int) -> datetime:
    """The next time that a project's links have their turn, once in so many days; those of all projects are spread."""
    period = timedelta(days=days)
    first = EPOCH + period * (project_id * _GOLDEN % 1)
    return first + period * ((at - first) // period + 1)


def is_over(time: Any, at: datetime, longest: timedelta) -> ColumnElement[bool]:
    """Whether a time, set to `longest` from then at most, has come, or only a wrong clock can have set it.

    `at` may be somewhat earlier than when another process set the time, which says nothing about that one's clock.
    """
    return or_(time <= at, time > at + 2 * longest)


def is_misplanned(due: Any, at: datetime, days: int) -> Any:
    """Whether a time is later than any turn: by a clock that was wrong, or LINK_CHECK_DAYS that were more."""
    return due > at + timedelta(days=days) + DAILY


def dead_since(entry: Entry | None) -> datetime | None:
    """When the first of the looks failed by which a link is dead; None if it is not."""
    return instant(entry["failing"]["from"]) if entry is not None and entry["dead"] else None


def instant(text: str) -> datetime:
    """A stored time."""
    return datetime.fromisoformat(text)
