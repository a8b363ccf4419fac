"""Whose turn it is at a host: one request at a time over all processes, and a second between the starts of two."""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import case, select, update

from directory.db.transactions import insert_into, transaction
from directory.extensions import db, modify
from directory.extras.links.states import is_over
from directory.extras.links.transport import HostBusy
from directory.models import LinkHost
from directory.services.clock import database_clock
from directory.services.delivery.deliverer import Context

BETWEEN, HELD = timedelta(seconds=1), timedelta(seconds=20)  # a request ends within ten
PATIENCE, LONGEST = 1.5, 86_400.0  # seconds that one waits for a turn, and for which a host can ask to be left alone


@dataclass(frozen=True, slots=True)
class Turns:
    """Gives turns in transactions of their own. `pause` waits so many seconds."""

    context: Context
    pause: Callable[[float], Any]
    clock: Callable[[], datetime] = database_clock

    def __call__(self, host: str, left: float = math.inf) -> Callable[[float], None]:
        """Take the turn at a host, and return what gives it back.

        Raises HostBusy if it is not free within PATIENCE, or within the seconds that are `left`.
        """
        token, waited, patience = secrets.token_hex(16), 0.0, min(PATIENCE, left)
        with self.context():
            while (seconds := transaction(lambda: self._take(host, token))) > 0:
                if seconds > patience - waited:
                    raise HostBusy(seconds)
                self.pause(seconds)
                waited += seconds
        return partial(self._give_back, host, token)

    def _take(self, host: str, token: str) -> float:
        """Take the turn; the seconds until it is free, 0 if it was."""
        at = self.clock()
        held = {"next_at": at + BETWEEN, "leased_until": at + HELD, "lease_token": token}
        taking = insert_into(LinkHost).values(host=host, **held)
        is_free = is_over(LinkHost.next_at, at, timedelta(seconds=LONGEST))
        is_free &= LinkHost.leased_until.is_(None) | is_over(LinkHost.leased_until, at, HELD)
        taking = taking.on_conflict_do_update(index_elements=["host"], set_=held, where=is_free)
        if db.session.scalar(taking.returning(LinkHost.host)) is not None:
            return 0.0
        row = db.session.execute(select(LinkHost.next_at, LinkHost.leased_until).where(LinkHost.host == host)).one()
        until = max(row.next_at, at + BETWEEN) if row.leased_until is not None else row.next_at
        return float(max((until - at).total_seconds(), 0.05))

    def _give_back(self, host: str, token: str, wait: float) -> None:
        """Give the turn back. The host asked to be left alone for `wait` seconds."""
        with self.context():

            def end() -> None:
                until = self.clock() + timedelta(seconds=min(wait, LONGEST))
                later = case((LinkHost.next_at < until, until), else_=LinkHost.next_at)
                free = {"next_at": later, "leased_until": None, "lease_token": None}
                modify(update(LinkHost).where(LinkHost.host == host, LinkHost.lease_token == token).values(free))

            transaction(end)
