"""Decisions about many accounts, one short transaction for each: for the route and the commands."""

import time
from collections.abc import Iterator

from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.extensions import db
from directory.services.accounts import user_decisions
from directory.services.accounts.user_decisions import Decision

LOOKED_UP = 100  # accounts whose ids are read at a time


def carry_out(decision: Decision, most: int | None = None, seconds: float = float("inf")) -> Iterator[int]:
    """Decide about one account after the other, and yield the id of each that was changed.

    It ends after `most` changes or `seconds`, or if no account is left. Accounts that have too much for one transaction
    are left out.
    """
    give_up_at, changed = time.monotonic() + seconds, 0
    for user_id in _waiting(decision):
        if time.monotonic() >= give_up_at or changed == most:
            return
        if _is_decided(decision, user_id):
            changed += 1
            yield user_id


def _waiting(decision: Decision) -> Iterator[int]:
    """The ids of the accounts, read in portions."""
    last = 0
    while ids := user_decisions.waiting(decision, LOOKED_UP, last):
        db.session.rollback()
        yield from ids
        last = ids[-1]


def _is_decided(decision: Decision, user_id: int) -> bool:
    try:
        return transaction(lambda: user_decisions.decide_one(decision, user_id))
    except DirectoryError as error:
        if not user_decisions.is_skipped(error):
            raise
        return False
