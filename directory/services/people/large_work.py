"""Work on many accounts in short transactions, which it commits itself: for the routes and the commands.

It ends the sessions or API tokens of all users, and carries out a decision about many accounts.
"""

import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from directory.db.portions import PORTION_SECONDS, Portions
from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.extensions import db
from directory.models import Session, Token
from directory.services.accounts import sessions
from directory.services.identity import Caller
from directory.services.people import user_decisions
from directory.services.people.user_decisions import Decision


def end_all(model: Any, *, by: Caller | None, seconds: float = math.inf) -> tuple[int, int]:
    """End all that exist now, and return how many ended, and how many are left if that took more than `seconds`.

    The caller's own ends last, so that the caller can send the request again. Feed keys end with the tokens, and are in
    no number.
    """
    give_up_at, portions = time.monotonic() + seconds, Portions("ending")
    own = None if by is None else by.session_id if model is Session else by.token_id
    number, newest = transaction(partial(sessions.record_end_of_all, model, by=by))
    ended, last = 0, newest
    while model is Token and time.monotonic() < give_up_at:
        if not transaction(partial(sessions.end_feed_keys, portions.size)):
            break
    while time.monotonic() < give_up_at:
        began = portions.clock()
        ids = transaction(partial(sessions.end_portion, model, last, portions.size, but=own))
        portions.took(portions.clock() - began, len(ids))
        if not ids:
            own_ended = transaction(partial(sessions.end_portion, model, newest, 1)) if own else []
            return ended + len(own_ended), 0
        ended, last = ended + len(ids), ids[-1] - 1
    return ended, number - ended


def carry_out(decision: Decision, most: float = math.inf, seconds: float = math.inf) -> Iterator[int]:
    """Decide about all accounts in the order of their ids, and yield how many each transaction has changed.

    It ends after `most` changes or `seconds`, or if no account is left. Accounts that have too much for one transaction
    are left out.
    """
    give_up_at, portions, last = time.monotonic() + seconds, Portions("deciding", first=1), 0
    while most > 0 and time.monotonic() < give_up_at:
        ids = user_decisions.waiting(decision, int(min(portions.size, most)), last)
        db.session.rollback()
        if not ids:
            return
        began = portions.clock()
        try:
            changed, last = transaction(partial(user_decisions.decide_some, decision, ids, PORTION_SECONDS))
        except DirectoryError as error:
            if not user_decisions.is_skipped(error):
                raise
            portions.size = 1  # to find the one that has too much
            last = ids[0] if len(ids) == 1 else last
            continue
        portions.took(portions.clock() - began, len(ids))
        most -= changed
        yield changed
