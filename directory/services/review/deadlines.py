"""The time that owners have for an answer: the mail a week before its end, and the end of what was promised.

`moderation.close` rejects what was not answered. `reminded_at` of a project or a revision counts if it is later than
`owner_since`, so that a further request is reminded of again.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select, update

from directory import events
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import Project, Revision, now
from directory.services import turns
from directory.services.catalog import catalog
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.review import thread
from directory.services.review.cases import Case, locked
from directory.services.turns import Asked

BEFORE = timedelta(days=7)
Table = Any
TABLES: tuple[tuple[Table, Any, ColumnElement[bool]], ...] = (
    (Project, Project.id, turns.on_owner(Project)),
    (Revision, Revision.project_id, turns.revision_on_owner(Revision)),
)


def remind(most: int, *, notify: list[Endpoint]) -> int:
    """Mail the owners of what closes within a week, once; return the number of projects, at most `most`.

    Who had no more than that week for an answer read the date just before, and gets no second mail.
    """
    if not outbox.wanting(events.PROJECT_CLOSING, notify):
        return 0
    at, due, marked = now(), set[int](), set[int]()
    for table, key, waits in TABLES:
        query = select(key).where(waits, _is_due(table, at)).order_by(table.closes_at).limit(most)
        due |= set(db.session.scalars(query))
    cases = locked(sorted(due)[:most])
    ids = [case.id for case in cases]
    for table, key, waits in TABLES:  # what another process has reminded of meanwhile is not due any more
        marking = update(table).where(key.in_(ids), waits, _is_due(table, at)).values(reminded_at=at).returning(key)
        marked |= set(db.session.scalars(marking, execution_options=UNSYNCHRONISED))
    _mail([case for case in cases if case.id in marked], notify)
    return len(cases)


def _is_due(table: Table, at: datetime) -> ColumnElement[bool]:
    is_unsaid = or_(table.reminded_at.is_(None), table.reminded_at < table.owner_since)
    return and_(table.closes_at > at, table.closes_at <= at + BEFORE, is_unsaid)


def _mail(cases: list[Case], notify: list[Endpoint]) -> None:
    """Queue the mails, each with what was asked, or why the project was taken down."""
    states = {case.id: case.standing for case in cases}
    long = [number for number, one in states.items() if one.since and one.until and one.until - one.since > BEFORE]
    written = thread.newest(long)
    entries = {number: written.get((number, states[number].asked is Asked.CHANGES)) for number in long}
    messages = {number: entry["id"] if entry and entry["text"] else None for number, entry in entries.items()}
    outbox.enqueue_each(events.PROJECT_CLOSING, catalog.all_stored(long), by=None, endpoints=notify, messages=messages)


def promise_nothing(most: int) -> int:
    """Take the end of the time from what waits, because CHANGES_DAYS is 0 now; return the number, at most `most`."""
    ended = 0
    for table, key, _waits in TABLES:
        found = list(db.session.scalars(select(key).where(table.closes_at.is_not(None)).order_by(key).limit(most)))
        locking = select(Project.id).where(Project.id.in_(found)).order_by(Project.id).with_for_update(key_share=True)
        ids = list(db.session.scalars(locking))
        ended += modify(update(table).where(key.in_(ids)).values(closes_at=None)) if ids else 0
    return min(ended, most)
