"""The bound on the texts and pictures that a member stores in a day."""

from datetime import timedelta

from flask import current_app, g
from sqlalchemy import event
from sqlalchemy.orm import Session

from directory.errors import DayIsFull
from directory.extensions import db
from directory.http.exchange import current
from directory.models import now
from directory.services import daily_bytes, permissions

UNBOUND = 2**62


@event.listens_for(db.session, "before_commit")
def _count(session: Session) -> None:
    """Count what a request of a member stores; nothing of what administrators and reviewers do. Raises DayIsFull."""
    by = current().caller if "exchange" in g else None
    if by is None or session.in_nested_transaction() or not (size := daily_bytes.noted()):
        return
    if permissions.may(by, "administer") or current().privilege is not None:
        return
    session.flush()
    if not daily_bytes.add(by.id, size, current_app.config["MEMBER_BYTES_PER_DAY"] or UNBOUND):
        midnight = now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        raise DayIsFull(int((midnight - now()).total_seconds()) + 1)


def of_account(account_id: int) -> dict[str, int | None]:
    """How many bytes an account has stored today, and how many it may; null without a bound."""
    return {"bytes": daily_bytes.of(account_id), "most": current_app.config["MEMBER_BYTES_PER_DAY"] or None}
