"""The mail to the owner of a project that has been in the directory for a week."""

from collections.abc import Collection
from datetime import timedelta

from sqlalchemy import select

from directory import events
from directory.extensions import db
from directory.models import AccountStatus, Delivery, Project, Status, User, now
from directory.services.catalog import catalog
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint

WEEK = timedelta(days=7)
LATE = timedelta(days=14)  # what has been live for longer is not told any more, as after the upgrade to this version


def tell(most: int, *, notify: list[Endpoint]) -> int:
    """Queue the mail about at most `most` projects; return the number of those that were queued.

    The delivery itself says that it was queued: it is kept for longer than LATE. An address that is not confirmed gets
    few mails, and the next hour has its turn.
    """
    if not outbox.wanting(events.PROJECT_FIRST_WEEK, notify):
        return 0
    candidates = _due(most)
    locking = select(Project.id).where(Project.id.in_(candidates)).order_by(Project.id).with_for_update(key_share=True)
    locked = db.session.scalars(locking).all() if candidates else []
    due = _due(most, locked)  # another process may have told of some meanwhile
    outbox.enqueue_each(events.PROJECT_FIRST_WEEK, catalog.all_stored(due), by=None, endpoints=notify)
    return len(due) - len(_due(most, due))


def _due(most: int, among: Collection[int] | None = None) -> list[int]:
    """The projects of which is to be told, the first published first."""
    told = select(Delivery.id).where(Delivery.project_id == Project.id, Delivery.event == events.PROJECT_FIRST_WEEK)
    at = now()
    wanted = [
        Project.status == Status.LIVE, Project.listed_at.between(at - LATE, at - WEEK), ~told.exists(),
        User.notify, User.status == AccountStatus.ACTIVE,
    ]  # fmt: skip
    if among is not None:
        wanted.append(Project.id.in_(among))
    query = select(Project.id).join(User, User.id == Project.owner_id).where(*wanted)
    return list(db.session.scalars(query.order_by(Project.listed_at, Project.id).limit(most)))
