"""The rules of picks. A pick raises no version, and stays with a project that leaves the live ones."""

from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import bindparam, literal_column, select

from directory import events
from directory.db.statements import Prepared
from directory.errors import InvalidTransition
from directory.extensions import db
from directory.models import Project, Status, now
from directory.models.base import UtcDateTime
from directory.services import audit, permissions
from directory.services.catalog import catalog, front, periods
from directory.services.catalog.columns import shown
from directory.services.catalog.shapes import is_picked
from directory.services.delivery import outbox
from directory.services.delivery.channels import MAIL, Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import submissions

DAYS = timedelta(days=90)  # today is one of them
P = Project.__table__.c


def latest(*, viewer: Caller | None) -> list[dict[str, Any]]:
    """The latest picks of the last DAYS, as many as a shelf has, by one statement that walks their index."""
    since, _last = periods.ending(now().date(), DAYS)
    values = {"since": since} | ({} if viewer is None else {"viewer_id": viewer.id})
    rows = _latest(viewer is not None, db.engine.dialect.name).all(values)
    return catalog.views(rows, viewer)


@cache
def _latest(signed_in: bool, dialect: str) -> Prepared:
    order = P.picked_at.desc(), P.id.desc()
    since = P.picked_at >= bindparam("since", type_=UtcDateTime())
    ids = select(P.id).where(is_picked(dialect), since).order_by(*order)
    picked = ids.limit(literal_column(str(front.MOST))).subquery("found")
    return Prepared(shown(signed_in).join(picked, picked.c.id == P.id).order_by(*order))


def pick(project_id: int, words: str, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> None:
    """Pick a live project, or say in other words why it is picked. Its owner gets a mail about the pick alone.

    Raises Unauthenticated, NotFound, OwnSubmission, InvalidTransition.
    """
    project = _locked(project_id, by, self_review)
    before = project.picked_words
    if before == words:
        return
    facts: dict[str, Any] = {} if before is None else {"changes": {"words": {"from": before, "to": words}}}
    project.picked_at, project.picked_words = project.picked_at or now(), words
    db.session.flush()
    audit.record_project(events.PROJECT_PICKED, project, by=by, **audit.unmoved(project), **facts)
    told = notify if before is None else [endpoint for endpoint in notify if endpoint.format != MAIL]
    outbox.enqueue(events.PROJECT_PICKED, project_id, by=by, endpoints=told)


def unpick(project_id: int, *, by: Caller, notify: list[Endpoint], self_review: str = "allow") -> None:
    """Take back the pick of a live project, if there is one.

    Raises Unauthenticated, NotFound, OwnSubmission, InvalidTransition.
    """
    project = _locked(project_id, by, self_review)
    if project.picked_at is None:
        return
    project.picked_at = project.picked_words = None
    db.session.flush()
    audit.record_project(events.PROJECT_UNPICKED, project, by=by, **audit.unmoved(project))
    outbox.enqueue(events.PROJECT_UNPICKED, project_id, by=by, endpoints=notify)


def _locked(project_id: int, by: Caller, self_review: str) -> Project:
    """The project, locked, if `by` may pick it."""
    require_active(by)
    project = permissions.require_reviewer(by, submissions.locked(project_id), self_review)
    if project.status != Status.LIVE:
        raise InvalidTransition(project.status, "picked")
    return project
