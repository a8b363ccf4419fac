"""Taking down all projects of a user at once.

The number of statements does not depend on the number of projects, so this does not use `moderation`, whose decisions
take several statements for each project. Like every decision about several projects it locks the projects first, in the
order of their ids, and the counters that triggers change last. This avoids deadlocks, and submissions and decisions
wait only for the last statements.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import case as sql_case
from sqlalchemy import literal, select, update

from directory import events
from directory.errors import TooManyProjects
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import MessageKind, Project, Status, now
from directory.models.base import UtcDateTime
from directory.services import audit
from directory.services.catalog import catalog, counters
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.review.case import Case, Terms, advance, current_of, end_appeals, flush
from directory.services.review.steps import Act, Overtaking

AT_ONCE = 1_000  # the most projects that one request takes down
TOO_MANY = _(
    "The user has more than {number} live and pending projects, which are more than one request takes down, and "
    "nothing was changed. Suspend the user without unpublish, take projects down by bulk decisions (unpublish and "
    "reject), and send this request again.",
    number=f"{AT_ONCE:,}",
)
OPEN = (Status.LIVE, Status.PENDING)
EVENTS = (events.PROJECT_UNPUBLISHED, events.PROJECT_REJECTED)


def take_down(user_id: int, *, by: Caller | None, notify: list[Endpoint], reason: str | None) -> dict[str, int]:
    """Unpublish and reject the live projects of a user, and reject the pending ones; return the number of each.

    Each project gets the audit entries and notifications of a single decision, a live project those of both.
    Raises TooManyProjects.
    """
    cases, at = _locked(user_id), now()
    projects = [case.project for case in cases]
    entries = [(case.project, entry) for case in cases for entry in _entries(case, at)]
    audit.record_each(entries, by=by, at=at, reason=reason)
    if any(outbox.wanting(event, notify) for event in EVENTS):
        _notify(projects, by=by, endpoints=notify, at=at, reason=reason)
    gone = [project for project in projects if project.status == Status.LIVE]
    end_appeals(cases, Overtaking.DECISION, by=by, at=at)
    _reject(cases, by=by, at=at, reason=reason)
    thread.record_each(MessageKind.UNPUBLISHED, gone, reason, by=by, at=at)
    thread.record_each(MessageKind.REJECTED, projects, reason, by=by, at=at)
    return {"unpublished": len(gone), "rejected": len(projects)}


def _locked(user_id: int) -> list[Case]:
    """The user's live and pending projects with their cases, locked. Raises TooManyProjects."""
    columns = (Project.id, Project.owner_id, Project.status, Project.title, Project.url_key, Project.category_id)
    query = select(*columns).where(Project.owner_id == user_id, Project.status.in_(OPEN)).order_by(Project.id)
    projects = list(db.session.execute(query.limit(AT_ONCE + 1).with_for_update(key_share=True)))
    if len(projects) > AT_ONCE:
        raise TooManyProjects(TOO_MANY)
    reviews = current_of([project.id for project in projects])
    return [Case(project, reviews.get(project.id)) for project in projects]


def _entries(case: Case, at: datetime) -> list[dict[str, Any]]:
    """What each audit entry of a project has of its own. The rejection of one in the queue alone has a waiting time."""
    live, pending, rejected = Status.LIVE.value, Status.PENDING.value, Status.REJECTED.value
    step = {"action": events.PROJECT_UNPUBLISHED, "from_state": live, "to_state": pending, "waited_seconds": None}
    last = {"action": events.PROJECT_REJECTED, "from_state": pending, "to_state": rejected}
    if case.project.status == Status.LIVE:
        return [step, {**last, "waited_seconds": None}]
    return [{**last, "waited_seconds": case.waited(at)}]


def _notify(
    projects: list[Any], *, by: Caller | None, endpoints: list[Endpoint], at: datetime, reason: str | None
) -> None:
    """Queue the events of both steps, each with the project as it is after the step."""
    live = {project.id for project in projects if project.status == Status.LIVE}
    stored = catalog.all_stored([project.id for project in projects])
    shown = [
        {**one, "updated_at": at, "submitted_at": at if one["id"] in live else one["submitted_at"]} for one in stored
    ]
    unpublished = [{**one, "status": Status.PENDING} for one in shown if one["id"] in live]
    rejected = [{**one, "status": Status.REJECTED} for one in shown]
    for event, after in zip(EVENTS, (unpublished, rejected), strict=True):
        outbox.enqueue_each(event, after, by=by, endpoints=endpoints, reason=reason)


def _reject(cases: list[Case], *, by: Caller | None, at: datetime, reason: str | None) -> None:
    """Lock the counters of the projects, then reject all together."""
    for case in cases:
        if case.project.status == Status.LIVE:
            advance(case, Act.UNPUBLISH, by=by, at=at)
        advance(case, Act.REJECT, by=by, at=at, terms=Terms(reason))
    flush(cases)
    ids = [case.id for case in cases]
    counters.lock(ids)
    was_live = Project.status == Status.LIVE
    values = {
        "status": Status.REJECTED,
        "updated_at": at,
        "submitted_at": sql_case((was_live, literal(at, UtcDateTime())), else_=Project.submitted_at),
        "version": Project.version + sql_case((was_live, 2), else_=1),
    }
    rejecting = update(Project).where(Project.id.in_(ids)).values(values)
    modify(rejecting)
