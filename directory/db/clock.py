"""The present instant by the database's clock, however wrong the clock of this host is or becomes.

PostgreSQL tells its time to each new connection, and from time to time to an old one. In between a process adds the
time that has passed by a clock that nobody can set. So all hosts agree on what has expired. A SQLite file has no clock
but its host's.
"""

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

log = logging.getLogger(__name__)
TOLERANCE = timedelta(seconds=2)  # a host whose clock differs by less is right: the answer itself takes time
LEARN_EVERY = 600.0  # seconds
STATEMENT = "extract(epoch FROM clock_timestamp())"
# It also counts while the machine sleeps; only Linux has it.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Reference(NamedTuple):
    """An instant that the database has told, and when that was by the steady clock."""

    instant: datetime
    at: float


class _Known:
    """What this process knows: the last reference, and whether the host's clock was wrong then."""

    reference: Reference | None = None
    is_wrong = False


def steady() -> float:
    """Seconds by a clock that nobody can set."""
    return time.clock_gettime(_STEADY)


def learn(epoch: str, asked_at: float) -> None:
    """Note the database's time, the value of STATEMENT, which was asked at `asked_at` by `steady` and has just arrived.

    It is taken for the time half-way between. An answer that has taken too long for that is ignored, and the database
    is asked again with the next connection. A wrong clock is logged once.
    """
    arrived_at = steady()
    if arrived_at - asked_at >= TOLERANCE.total_seconds():
        return
    _Known.reference = Reference(datetime.fromtimestamp(float(epoch), UTC), (asked_at + arrived_at) / 2)
    difference = skew()
    is_wrong = abs(difference) >= TOLERANCE.total_seconds()
    if is_wrong and not _Known.is_wrong:
        log.warning("the clock of this host is wrong", extra={"seconds": round(difference, 1)})
    _Known.is_wrong = is_wrong


def forget() -> None:
    """Follow the host's clock from now on, as a SQLite database does."""
    _Known.reference, _Known.is_wrong = None, False


def is_due() -> bool:
    """Whether the database should be asked again. A virtual machine that was frozen has missed time."""
    known = _Known.reference
    return known is None or steady() > known.at + LEARN_EVERY


def now() -> datetime:
    """The present instant in UTC, with microseconds: what the host's clock says, unless the database disagrees."""
    host, known = datetime.fromtimestamp(time.time(), UTC), _Known.reference
    if known is None:
        return host
    expected = known.instant + timedelta(seconds=steady() - known.at)
    return host if abs(host - expected) < TOLERANCE else expected


def skew() -> float:
    """By how many seconds the host's clock is ahead of the database's; 0 if that is not known."""
    host: Any = datetime.fromtimestamp(time.time(), UTC)
    known = _Known.reference
    return 0.0 if known is None else (host - known.instant).total_seconds() - (steady() - known.at)
