"""The append-only log of every change, written in the change's own transaction."""

from typing import Any

from sqlalchemy import or_, select, union
from sqlalchemy.orm import aliased

from directory.errors import NotFound
from directory.extensions import db
from directory.models import AuditEntry, Project, User
from directory.services.accounts.identity import Caller
from directory.services.catalog.paging import AnySelect, Slice, Sort, Window, as_dict, fetch
from directory.services.data import bulk

ACTIONS = (
    "project.submitted",
    "project.imported",
    "project.edited",
    "project.approved",
    "project.rejected",
    "project.unpublished",
    "project.deleted",
    "user.role_changed",
    "user.status_changed",
    "user.signed_out",
)
NEWEST = Sort("newest", (AuditEntry.id,), descending=True)


def record(action: str, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry to the current transaction. `by` is None where the operator's command line acts."""
    db.session.add(AuditEntry(action=action, actor_id=by.id if by else None, **facts))


def record_project(action: str, project: Any, *, by: Caller | None, **facts: Any) -> None:
    """Add an entry about a project (anything with its id and url_key)."""
    record(action, by=by, **about(project), **facts)


def record_each(entries: list[dict[str, Any]], *, by: Caller | None) -> None:
    """Add entries to the current transaction in their order, at once. They have the same columns, `at` among them."""
    actor = {"actor_id": by.id if by else None}
    bulk.load_dicts(AuditEntry, [{**entry, **actor} for entry in entries])


def about(project: Any) -> dict[str, Any]:
    """The columns of an entry that say which project it is about."""
    return {"project_id": project.id, "url_key": project.url_key}


def entries(window: Window, **filters: Any) -> Slice:
    """A slice of the whole log, newest first, by any of action, project_id, user_id and actor_id."""
    query = _query()
    for name, value in filters.items():
        query = query.where(getattr(AuditEntry, name) == value)
    return _viewed(fetch(query, NEWEST, window))


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
    found = _viewed(
        fetch(
            _query().where(or_(AuditEntry.project_id == project_id, AuditEntry.url_key.in_(known))),
            NEWEST,
            window,
        )
    )
    if not found.items and not db.session.scalar(select(known.exists())):
        raise NotFound
    return found


def _query() -> AnySelect:
    actor = aliased(User)
    columns = [c for c in AuditEntry.__table__.c if c.name not in {"url_key", "waited_seconds"}]
    return select(*columns, actor.username.label("actor_username")).outerjoin(actor, actor.id == AuditEntry.actor_id)


def _viewed(found: Slice) -> Slice:
    found.items = [_view(row) for row in found.items]
    return found


def _view(row: Any) -> dict[str, Any]:
    entry = as_dict(row)
    username = entry.pop("actor_username")
    actor_id = entry.pop("actor_id")
    entry["actor"] = {"id": actor_id, "username": username} if actor_id else None
    return entry
