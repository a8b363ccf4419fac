"""Deletes expired sessions, tokens, sign-ins, challenges, links, claims, deliveries, reports, facts of rules
and audit entries.

It also deletes approvals of earlier versions, unused pictures, and values of own fields that were deleted.

It also does what is due by the clock: it counts the votes of days that have ended, reminds owners of what they have to
answer, rejects what they did not answer in time, releases what rules held for long enough, and tells owners of the
first week of what went live. A deliverer does it, and where none runs with the server, a thread of each worker. They
may do it at once. A clock may be wrong: after a jump ahead nothing is due, and a table that would lose more than half
of its rows keeps them, until a person runs `flask tidy --all`.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial

from flask import Flask

from directory.db import deadline
from directory.db.errors import log_failure
from directory.db.transactions import transaction
from directory.services import audit, clock, day_counts, drafts, kept_links
from directory.services.accounts import mail_links, sessions
from directory.services.catalog import own_values
from directory.services.deleting import MostWouldGo
from directory.services.delivery import first_week, leases
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.people import kept_reports
from directory.services.pictures import logos
from directory.services.review import approvals, deadlines, holding
from directory.services.sign_in import ways_in

log = logging.getLogger(__name__)
FIRST, PERIOD = 30.0, 3600.0  # seconds from the start to the first time, and from one time to the next
AT_ONCE = 500  # rows that one transaction deletes


def purges(
    policy: DeliveryPolicy, audit_days: int | None, facts_days: int, *, guarded: bool = True
) -> dict[str, Callable[[int], int]]:
    """Return by table a function that deletes at most so many rows, and returns how many.

    If it is `guarded`, the function of a table whose rows cannot be replaced raises MostWouldGo. The others hold what
    lasts for minutes or days, and may well have expired as a whole, or pictures that nothing shows.
    """
    by_name: dict[str, Callable[[int], int]] = {
        "sessions": partial(sessions.purge, guarded=guarded),
        "tokens": partial(sessions.purge_tokens, guarded=guarded),
        "sign_in_attempts": ways_in.purge_sign_ins,
        "passkey_challenges": ways_in.purge_challenges,
        "mail_links": mail_links.purge,
        "approvals": approvals.purge,
        "review_claims": approvals.purge_claims,
        "logos": logos.purge,
        "project_fields": own_values.purge,
        "link_hosts": kept_links.purge_hosts,
        "reports": partial(kept_reports.purge, guarded=guarded),
        "rule_facts": partial(drafts.purge_facts, facts_days, guarded=guarded),
        "deliveries": partial(leases.purge, policy, guarded=guarded),
    }
    if audit_days is not None:
        by_name["audit_entries"] = partial(audit.purge, audit_days, guarded=guarded)
    return by_name


def by_clock(app: Flask) -> dict[str, Callable[[int], int]]:
    """Return by kind a function that does at most so much of what is due, and returns how much: 0 if nothing is left.

    They are for a clock that has not jumped (`clock.confirm`).
    """
    notify = app.extensions["webhooks"]
    due: dict[str, Callable[[int], int]] = {"holds": holding.release_due}
    due["weeks"] = partial(first_week.tell, notify=notify)
    if not app.config["CHANGES_DAYS"]:
        return {**due, "promises": deadlines.promise_nothing}
    closing = {"projects": partial(deadlines.close, notify=notify)}
    return {**due, **closing, "reminders": partial(deadlines.remind, notify=notify)}


def tidy(app: Flask, policy: DeliveryPolicy) -> bool:
    """Do a portion of what is due of each kind, each in a transaction of its own. Return whether there may be more."""
    if app.config["READ_ONLY"]:
        return False
    with app.app_context():
        more = []
        if _attempt(app, "known_time", lambda _most: clock.confirm()):
            _attempt(app, "day_counts", lambda _most: day_counts.close())
            more = [_attempt(app, kind, work) > 0 for kind, work in by_clock(app).items()]
        expired = purges(policy, app.config["AUDIT_RETENTION"], app.config["RULE_FACTS_DAYS"])
        more += [_attempt(app, table, purge) >= AT_ONCE for table, purge in expired.items()]
        return any(more)


def _attempt(app: Flask, table: str, work: Callable[[int], int]) -> int:
    """Do a portion. A failure is logged and counted, and the others have their turn."""
    try:
        with deadline.within(deadline.SECONDS):
            return transaction(partial(work, AT_ONCE))
    except MostWouldGo as refused:
        log.error("more than half of a table would go: %s", refused, extra={"table": table})
        outcome = "refused"
    except clock.ClockJumped as refused:
        log.error("nothing closes and nothing is released: %s", refused, extra={"table": table})
        outcome = "refused"
    except Exception as error:
        log_failure(log, "a purge failed", error, level=logging.WARNING, extra={"table": table})
        outcome = "failed"
    if "metrics" in app.extensions:
        app.extensions["metrics"].count_purge(outcome)
    return 0


def hourly(app: Flask, policy: DeliveryPolicy, ended: Callable[[float], object]) -> None:
    """Tidy once an hour until `ended`, which waits so many seconds for the end, returns something true.

    What is not promised any more ends at once.
    """
    if not app.config["CHANGES_DAYS"] and not app.config["READ_ONLY"]:
        with app.app_context():
            _attempt(app, "promises", deadlines.promise_nothing)
    pause = FIRST
    while not ended(pause):
        pause = 0 if tidy(app, policy) else PERIOD


def start(app: Flask) -> threading.Thread:
    """Tidy in a thread that ends with the process."""
    never = threading.Event()
    thread = threading.Thread(target=hourly, args=(app, DeliveryPolicy(), never.wait), name="housekeeping", daemon=True)
    thread.start()
    return thread
