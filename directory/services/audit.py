"""The append-only log of every change, written in the change's own transaction."""

from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, or_, select, union
from sqlalchemy.orm import aliased

from directory.errors import NotFound
from directory.extensions import UNSYNCHRONISED, db
from directory.models import AuditEntry, AuditRetention, Project, User
from directory.services.accounts.identity import Caller
from directory.services.catalog.paging import AnySelect, Slice, Sort, Window, as_dict, fetch
from directory.services.data import bulk

ACTIONS = (
    "project.submitted",
    "project.imported",
    "project.edited",
    "project.edit_held",
    "project.edit_approved",
    "project.edit_rejected",
    "project.edit_withdrawn",
    "project.approved",
    "project.rejected",
    "project.unpublished",
    "project.deleted",
    "project.votes_discounted",
    "project.votes_counted",
    "user.role_changed",
    "user.status_changed",
    "user.signed_out",
    "user.deleted",
    "user.renamed",
    "user.identity_added",
    "user.identity_removed",
)
NEWEST = Sort("newest", (AuditEntry.id,), descending=True)
OLDEST = Sort("oldest", (AuditEntry.id,), descending=False)
# What the log is narrowed by, the most selective first: each has an index that goes on with the id.
NARROWING = ("project_id", "user_id", "actor_id", "action")
# What a project's timeline shows, by action, and the events of it whose reason is for the owner to see.
EVENTS = {
    f"project.{event}": event
    for event in (
        "submitted",
        "edited",
        "edit_held",
        "edit_approved",
        "edit_rejected",
        "edit_withdrawn",
        "approved",
        "rejected",
        "unpublished",
    )
}
EVENTS["project.imported"] = "submitted"
WITH_REASON = {"rejected", "edit_rejected", "unpublished"}


def record(action: str, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry to the current transaction. `by` is None where the operator's command line acts."""
    db.session.add(AuditEntry(action=action, actor_id=by.id if by else None, **facts))


def record_project(action: str, project: Any, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry about a project (anything with its id, url_key and title, as they are after the change)."""
    record(action, by=by, **about(project), **facts)


def record_each(entries: list[dict[str, Any]], *, by: Caller | None) -> None:
    """Add entries to the current transaction in their order, at once. They have the same columns, `at` among them."""
    actor = {"actor_id": by.id if by else None}
    bulk.load_dicts(AuditEntry, [{**entry, **actor} for entry in entries])


def purge(before: datetime, most: int) -> int:
    """Delete entries older than `before`, at most so many, and return how many. The oldest have the lowest ids."""
    oldest = select(AuditEntry.id, AuditEntry.at).order_by(AuditEntry.id).limit(most)
    ids = [entry.id for entry in db.session.execute(oldest) if entry.at < before]
    if ids:
        db.session.execute(insert(AuditRetention).values(before=before))
        db.session.execute(delete(AuditEntry).where(AuditEntry.id.in_(ids)), execution_options=UNSYNCHRONISED)
        db.session.execute(delete(AuditRetention), execution_options=UNSYNCHRONISED)
    return len(ids)


def about(project: Any) -> dict[str, Any]:
    """The columns of an entry that say which project it is about."""
    return {"project_id": project.id, "url_key": project.url_key, "project_title": project.title}


def entries(window: Window, **filters: Any) -> Slice:
    """A slice of the whole log, newest first, by any of action, project_id, user_id and actor_id."""
    by = next((name for name in NARROWING if name in filters), None)
    query = _query()
    for name, value in filters.items():
        if name != by:
            query = query.where(getattr(AuditEntry, name) == value)
    return _viewed(fetch(query, NEWEST, window) if by is None else _fetch(query, by, filters[by], NEWEST, window))


def latest_of_user(user_id: int, most: int = 20) -> list[dict[str, Any]]:
    """The latest entries by or about a user, newest first.

    Each of the two kinds is read from the end of its own index: together they would all be read and sorted.
    """
    kinds = (AuditEntry.actor_id, AuditEntry.user_id)
    ids = [select(AuditEntry.id).where(kind == user_id).order_by(AuditEntry.id.desc()).limit(most) for kind in kinds]
    either = union(*(select(each.subquery()) for each in ids)).subquery()
    query = _query().where(AuditEntry.id.in_(select(either))).order_by(AuditEntry.id.desc()).limit(most)
    return [_view(row) for row in db.session.execute(query)]


def history(project_id: int, window: Window) -> Slice:
    """A project's entries and those of its URL, whoever submitted it and however often, newest first.

    Raises NotFound where neither the project nor an entry of it exists.
    """
    keys = select(Project.url_key).where(Project.id == project_id)
    logged = select(AuditEntry.url_key).where(AuditEntry.project_id == project_id)
    known = keys.union(logged)
    query = _query().where(or_(AuditEntry.project_id == project_id, AuditEntry.url_key.in_(known)))
    found = _viewed(fetch(query, NEWEST, window))
    if not found.items and not db.session.scalar(select(known.exists())):
        raise NotFound
    return found


def timeline(project_id: int, window: Window) -> Slice:
    """What happened to a project, oldest first, as its owner may see it: without those who reviewed it.

    Each item has `at`, `event` and, for a rejection or unpublishing that gave one, `reason`.
    """
    query = select(AuditEntry.at, AuditEntry.action, AuditEntry.reason)
    query = query.where(AuditEntry.action.in_(EVENTS))
    found = _fetch(query, "project_id", project_id, OLDEST, window)
    found.items = [_event(row) for row in found.items]
    return found


def timelines(project_ids: list[int]) -> dict[int, list[dict[str, Any]]]:
    """The whole timeline of each of the projects, by its id."""
    columns = (AuditEntry.project_id, AuditEntry.at, AuditEntry.action, AuditEntry.reason)
    query = select(*columns).where(AuditEntry.project_id.in_(project_ids), AuditEntry.action.in_(EVENTS))
    found: dict[int, list[dict[str, Any]]] = {project_id: [] for project_id in project_ids}
    for row in db.session.execute(query.order_by(AuditEntry.project_id, AuditEntry.id)):
        found[row.project_id].append(_event(row))
    return found


def _fetch(query: AnySelect, name: str, value: Any, sort: Sort, window: Window) -> Slice:
    """A slice of the entries whose column `name` holds `value`, in the order of the index that begins with the column.

    The column is part of the order, and bounded from both sides. By an equality both databases may read the log by its
    key, in the hope that an entry in so many has the value, and read all of it where those that have it are old.
    """
    column = getattr(AuditEntry, name)
    # A position bounds one side by itself.
    is_bounded, goes_down = window.position is not None, sort.descending == (window.start != "before")
    if not (is_bounded and goes_down):
        query = query.where(column <= value)
    if not (is_bounded and not goes_down):
        query = query.where(column >= value)
    return fetch(query, Sort(sort.name, (column, *sort.keys), sort.descending), window)


def _event(row: Any) -> dict[str, Any]:
    event = EVENTS[row.action]
    reason = row.reason if event in WITH_REASON else None
    return {"at": row.at, "event": event} | ({} if reason is None else {"reason": reason})


def _query() -> AnySelect:
    actor, user = aliased(User), aliased(User)
    columns = [c for c in AuditEntry.__table__.c if c.name not in {"url_key", "waited_seconds"}]
    names = (actor.username.label("actor_username"), user.username.label("username"))
    query = select(*columns, *names).outerjoin(actor, actor.id == AuditEntry.actor_id)
    return query.outerjoin(user, user.id == AuditEntry.user_id)


def _viewed(found: Slice) -> Slice:
    found.items = [_view(row) for row in found.items]
    return found


def _view(row: Any) -> dict[str, Any]:
    entry = as_dict(row)
    entry["actor"] = _named(entry.pop("actor_id"), username=entry.pop("actor_username"))
    entry["project"] = _named(entry["project_id"], title=entry.pop("project_title"))
    entry["user"] = _named(entry["user_id"], username=entry.pop("username"))
    return entry


def _named(number: int | None, **name: str | None) -> dict[str, Any] | None:
    return None if number is None else {"id": number, **name}
