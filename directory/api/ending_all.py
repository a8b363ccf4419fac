"""Ends the sessions, or the API tokens, of all users in short transactions: for the routes and the commands."""

import math
import time
from functools import partial
from typing import Any

from directory.db.portions import Portions
from directory.db.transactions import transaction
from directory.models import Session
from directory.services.accounts import sessions
from directory.services.accounts.identity import Caller


def end_all(model: Any, *, by: Caller | None, seconds: float = math.inf) -> tuple[int, int]:
    """End all that exist now, and return how many ended, and how many are left if that took more than `seconds`.

    The caller's own ends last, so that the caller can send the request again.
    """
    give_up_at, portions = time.monotonic() + seconds, Portions("ending")
    own = None if by is None else by.session_id if model is Session else by.token_id
    number, newest = transaction(partial(sessions.record_end_of_all, model, by=by))
    ended, last = 0, newest
    while time.monotonic() < give_up_at:
        began = portions.clock()
        ids = transaction(partial(sessions.end_portion, model, last, portions.size, but=own))
        portions.took(portions.clock() - began, len(ids))
        if not ids:
            own_ended = transaction(partial(sessions.end_portion, model, newest, 1)) if own else []
            return ended + len(own_ended), 0
        ended, last = ended + len(ids), ids[-1] - 1
    return ended, number - ended
