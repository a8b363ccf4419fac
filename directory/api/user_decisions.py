"""Decisions about many accounts, in short transactions of some accounts each: for the route and the commands."""

import math
import time
from collections.abc import Iterator
from functools import partial

from directory.db.portions import PORTION_SECONDS, Portions
from directory.db.transactions import transaction
from directory.errors import DirectoryError
from directory.extensions import db
from directory.services.accounts import user_decisions
from directory.services.accounts.user_decisions import Decision


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
