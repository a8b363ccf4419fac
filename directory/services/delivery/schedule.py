"""When a notification is tried, and for how long a try may last.

Due times and leases are by the database's clock, on PostgreSQL its server's: deliverers on several machines then agree
on what is due and on whose lease has ended, however wrong their own clocks are. A SQLite file has one machine and its
clock.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from directory.models import now
from directory.services.clock import database_clock

MINUTE, HOUR = 60.0, 3600.0
# Seconds from the end of one try to the next: ten tries in about three days.
DELAYS = (0.0, 5.0, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR)
JITTER = 0.2
LONGEST_WAIT = 24 * HOUR  # that a receiver can ask for with Retry-After
RETENTION = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How deliveries are tried; all numbers are seconds. Tests and measurements bring a policy of their own.

    A lease outlasts the exchange by `slack`, the time to write down how it went.
    """

    connect: float = 3.0
    deadline: float = 15.0
    slack: float = 5.0
    poll: float = 0.5
    delays: tuple[float, ...] = DELAYS
    clock: Callable[[], datetime] = database_clock

    @property
    def lease(self) -> timedelta:
        """How long a lease holds."""
        return timedelta(seconds=self.deadline + self.slack)

    def wait(self, tries: int, retry_after: float | None) -> timedelta | None:
        """The time from failed try number `tries` to the next one; None where that was the last.

        Retry-After can only delay the next try. If it could shorten the wait, all ten tries could be over within an
        outage that the schedule is made to outlast.
        """
        if tries >= len(self.delays):
            return None
        usual = self.delays[tries] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 (jitter, no secret)
        return timedelta(seconds=max(usual, min(retry_after or 0.0, LONGEST_WAIT)))


def retry_after(header: str | None) -> float | None:
    """The seconds that a Retry-After asks for, as a number or until a date; None where it makes no sense."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:10])
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now()).total_seconds())
