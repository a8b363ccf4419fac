"""The time that owners have for an answer: the mail a week before its end, its end, and what was promised of it."""

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, and_, or_, select, update

from directory import events
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import Asked, Project, Review, Turn, now
from directory.services import service_words
from directory.services.catalog import catalog
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.review import moderation, thread
from directory.services.review.case import Case, Terms, locked
from directory.services.review.steps import Act
from directory.services.turns import is_turn

BEFORE = timedelta(days=7)
WITH_OWNER = is_turn(Turn.OWNER)


def close(most: int, *, notify: list[Endpoint]) -> int:
    """Reject at most `most` projects and changes that their owners did not answer in time; return their number.

    All of one transaction had the same time to answer, which the reason names, so there may be more until it is 0.
    Nobody has decided it.
    """
    columns = select(Review.project_id, Review.since, Review.until).where(WITH_OWNER, Review.until <= now())
    due = list(db.session.execute(columns.order_by(Review.until).limit(most)))
    days = {row.project_id: (row.until - row.since).days for row in due}
    together = [project_id for project_id, number in days.items() if number == days[due[0].project_id]]
    if together:
        reason = str.__str__(service_words.time_passed(days[together[0]]))
        terms = Terms(reason, is_late=True)
        moderation.decide_by_nobody(Act.REJECT, together, notify=notify, terms=terms)
    return len(together)


def remind(most: int, *, notify: list[Endpoint]) -> int:
    """Mail the owners of what closes within a week, once; return the number of projects, at most `most`.

    Who had no more than that week for an answer read the date just before, and gets no second mail.
    """
    if not outbox.wanting(events.PROJECT_CLOSING, notify):
        return 0
    at = now()
    due = select(Review.project_id).where(WITH_OWNER, _is_due(at)).order_by(Review.until).limit(most)
    cases = locked(db.session.scalars(due))
    # What another process has reminded of meanwhile is not due any more.
    marking = update(Review).where(Review.project_id.in_([case.id for case in cases]), WITH_OWNER, _is_due(at))
    marking = marking.values(reminded_at=at).returning(Review.project_id)
    marked = set(db.session.scalars(marking, execution_options=UNSYNCHRONISED)) if cases else set()
    _mail([case for case in cases if case.id in marked], notify)
    return len(cases)


def _is_due(at: datetime) -> ColumnElement[bool]:
    """Whether it closes soon, and its owner was not reminded of this request."""
    is_unsaid = or_(Review.reminded_at.is_(None), Review.reminded_at < Review.since)
    return and_(Review.until > at, Review.until <= at + BEFORE, is_unsaid)


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
    closing = select(Review.project_id).where(WITH_OWNER, Review.until.is_not(None)).order_by(Review.project_id)
    ids = list(db.session.scalars(closing.limit(most)))
    locking = select(Project.id).where(Project.id.in_(ids)).order_by(Project.id).with_for_update(key_share=True)
    present = list(db.session.scalars(locking)) if ids else []
    return modify(update(Review).where(Review.project_id.in_(present), WITH_OWNER).values(until=None)) if present else 0
