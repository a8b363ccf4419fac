"""Leases of due deliveries, and the outcome of each try.

A lease has an end and a fencing token, and is committed before anything is sent. That of a deliverer that dies ends,
and another deliverer takes the work. A deliverer that reports too late holds a token that is no longer in the row, so
its report changes nothing. A try counts only after it is reported.
"""

import secrets
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, literal_column, or_, select, update

from directory.extensions import db, modify
from directory.models import Delivery, DeliveryAttempt, DeliveryState
from directory.services.deleting import delete_some, require_minority
from directory.services.delivery import outbox
from directory.services.delivery.schedule import RETENTION, DeliveryPolicy

# A literal: with a parameter neither database could use the partial index of the pending ones.
PENDING = Delivery.state == literal_column("'pending'")
GONE = 410
ERROR_MAX = 200
RECIPIENT_REFUSED = "the recipient was refused"  # an error: the try failed because of the recipient, not of the server


@dataclass(frozen=True, slots=True)
class Lease:
    """A due delivery that is ours until the lease ends. `tries` were made before; `taken` is of time.monotonic()."""

    delivery_id: int
    webhook_id: str
    event: str
    payload: str
    tries: int
    token: str
    at: datetime
    taken: float = field(default_factory=time.monotonic)

    def age(self) -> float:
        """The seconds since it was taken."""
        return time.monotonic() - self.taken


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a try: the receiver's status, or the reason why there is none; `retry_after` in seconds.

    `error` may be RECIPIENT_REFUSED, together with a status. An outcome that `is_final` is not tried again.
    """

    status: int | None
    error: str | None
    milliseconds: int
    response: str = ""
    retry_after: float | None = None
    is_final: bool = False

    @property
    def delivered(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


def waiting(endpoint: str, policy: DeliveryPolicy) -> bool:
    """Whether an endpoint has something due; a read, so that idle deliverers never hold SQLite's write lock."""
    return db.session.scalar(_due(endpoint, policy.clock(), policy)) is not None


def take(endpoint: str, policy: DeliveryPolicy) -> Lease | None:
    """Lease the delivery of an endpoint that has been due for longest; None where nothing is due.

    The caller's transaction is an immediate one on SQLite; on PostgreSQL rows that others are leasing are skipped.
    """
    at = policy.clock()
    columns = (Delivery.id, Delivery.webhook_id, Delivery.event, Delivery.payload, Delivery.attempts)
    query = _due(endpoint, at, policy).with_only_columns(*columns).with_for_update(skip_locked=True)
    row = db.session.execute(query).one_or_none()
    if row is None:
        return None
    lease = Lease(row.id, row.webhook_id, row.event, row.payload, row.attempts, secrets.token_hex(16), at)
    held = {"lease_token": lease.token, "leased_until": at + policy.lease}
    modify(update(Delivery).where(Delivery.id == lease.delivery_id).values(held))
    return lease


def complete(lease: Lease, outcome: Outcome, policy: DeliveryPolicy) -> str | None:
    """Write down how a try went, and when the next one is. The delivery's state, or None: the lease is lost."""
    at, tries = policy.clock(), lease.tries + 1
    wait = None if outcome.is_final or outcome.status == GONE else policy.wait(tries, outcome.retry_after)
    fate: dict[str, Any] = {"state": DeliveryState.PENDING}
    if outcome.delivered:
        fate = {"state": DeliveryState.DELIVERED, "settled_at": at}
    elif wait is None:
        fate = {"state": DeliveryState.DEAD, "settled_at": at}
    else:
        fate["next_attempt_at"] = at + wait
    fate |= {"attempts": tries, "lease_token": None, "leased_until": None}
    held = (Delivery.id == lease.delivery_id, Delivery.lease_token == lease.token)
    if modify(update(Delivery).where(*held).values(fate)) == 0:
        return None
    if outcome.delivered:
        outbox.empty_where_gone(lease.delivery_id)
    db.session.add(_attempt(lease, outcome))
    return str(fate["state"])


def purge(policy: DeliveryPolicy, most: int = 500, *, guarded: bool = True) -> int:
    """Delete at most `most` deliveries that were settled 90 days ago, with their attempts. Returns how many.

    Raises MostWouldGo.
    """
    ended = Delivery.settled_at < policy.clock() - RETENTION
    if guarded:
        require_minority(Delivery, ended)
    return delete_some(Delivery, ended, most)


def free(at: datetime, policy: DeliveryPolicy) -> ColumnElement[bool]:
    """The condition of deliveries that no deliverer holds.

    A lease that ends later than a new one could is from before the clock was set back: nobody holds it.
    """
    stale = Delivery.leased_until > at + 2 * policy.lease
    return or_(Delivery.leased_until.is_(None), Delivery.leased_until <= at, stale)


def _due(endpoint: str, at: datetime, policy: DeliveryPolicy) -> Any:
    is_due = (Delivery.endpoint == endpoint, PENDING, Delivery.next_attempt_at <= at, free(at, policy))
    due = select(Delivery.id).where(*is_due)
    return due.order_by(Delivery.next_attempt_at, Delivery.id).limit(1)


def _attempt(lease: Lease, outcome: Outcome) -> DeliveryAttempt:
    return DeliveryAttempt(
        delivery_id=lease.delivery_id,
        at=lease.at,
        status=outcome.status,
        error=outcome.error and outcome.error[:ERROR_MAX],
        milliseconds=outcome.milliseconds,
        response=outcome.response,
    )
