"""Deletes expired sessions, tokens, sign-ins, challenges, links, deliveries and audit entries, and unused logos.

A deliverer does it, and where none runs beside the server, a thread of each worker. They may do it at once.
"""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from flask import Flask

from directory.db import deadline
from directory.db.transactions import transaction
from directory.models import now
from directory.services import audit, logos
from directory.services.accounts import mail_links, sessions
from directory.services.delivery import claims
from directory.services.delivery.schedule import Policy
from directory.services.sign_in import attempts, passkeys

log = logging.getLogger(__name__)
FIRST, PERIOD = 30.0, 3600.0  # seconds from the start to the first time, and from one time to the next
AT_ONCE = 500  # rows that one transaction deletes


def purges(policy: Policy, audit_days: int | None) -> list[Callable[[int], int]]:
    """Return functions that delete at most so many rows each, and return how many."""
    found: list[Callable[[int], int]] = [
        sessions.purge,
        sessions.purge_tokens,
        attempts.purge,
        passkeys.purge,
        mail_links.purge,
        logos.purge,
        partial(claims.purge, policy),
    ]
    if audit_days is not None:
        found.append(partial(audit.purge, now() - timedelta(days=audit_days)))
    return found


def tidy(app: Flask, policy: Policy) -> bool:
    """Delete a portion of each kind, each in a transaction of its own. Return whether there may be more."""
    if app.config["READ_ONLY"]:
        return False
    try:
        with app.app_context(), deadline.within(deadline.SECONDS):
            due = purges(policy, app.config["AUDIT_RETENTION"])
            return AT_ONCE in [transaction(partial(purge, AT_ONCE)) for purge in due]
    except Exception as error:
        log.warning("housekeeping is put off: %s", type(error).__name__)
        return False


def hourly(app: Flask, policy: Policy, ended: Callable[[float], object]) -> None:
    """Tidy once an hour until `ended`, which waits so many seconds for the end, returns something true."""
    pause = FIRST
    while not ended(pause):
        pause = 0 if tidy(app, policy) else PERIOD


def start(app: Flask) -> threading.Thread:
    """Tidy in a thread that ends with the process."""
    never = threading.Event()
    thread = threading.Thread(target=hourly, args=(app, Policy(), never.wait), name="housekeeping", daemon=True)
    thread.start()
    return thread
